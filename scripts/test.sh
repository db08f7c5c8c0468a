#!/usr/bin/env bash
# Installs what the tests need, builds, passes every test, checks the style.
#
#   scripts/test.sh [--quick] [--preset NAME]... [--no-cuda] [--no-install] [--tidy-base REV]
#
#   --quick          one preset, and of the style checks only the formatting: dev, or asan with
#                    --no-cuda
#   --preset NAME    this preset (dev, asan or tsan) instead of all three; may be repeated
#   --no-cuda        without a CUDA toolkit: the schedule and the analyzer; also INLINE_PROF_CUDA=OFF
#                    in the environment
#   --and-no-cuda    after the other presets also asan as --no-cuda has it
#   --no-install     leave the system's packages alone
#   --tidy-base REV  clang-tidy looks only at files changed since REV
#
# Needs no GPU and no driver: tests that do carry the label gpu, run by scripts/gpu_check.sh.  The
# benchmarks are built with preset dev and not timed.
#
# What each preset runs:
#   dev   everything; the programs for the GPU are built, for one architecture, and not run
#   asan  with CUDA what lives in an application: the injected library, the macros, and the programs under them on the
#         simulated GPU (inject_folders below); with --no-cuda what reads other people's bytes: schedule
#         and analyzer.  No examples, no benchmarks, nothing that runs no program of ours
#   tsan  what has threads: the injected library and the programs under it (threaded_folders below).  Reports read
#         their files on two, which hand over whole results under a lock (base/two_threads.hpp).
# The sanitizers leave out programs that are large, or differ in little (not_under_asan, not_under_tsan below).
# All of them compile the sources of a target together, a dozen at a time, and precompile the system's
# headers.  A source that relies on what others include is found by clang-tidy, which looks at each alone,
# and by `cmake --preset dev`.
#
# While the tests of one preset run, the next preset is built.  clang-tidy runs beside the last tests, the real
# programs run beside the wheels.  The summary gives each step's time, by the clock and of the processor.
#
# Exit status: 0 all passed, 1 something failed, 2 the command line is wrong.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/dependencies.sh
. scripts/dependencies.sh

inject_folders=(tests/unit/libinject simgpu/tests tests/inject)
threaded_folders=(tests/unit/libinject tests/inject)
# Simulated months, noise and fits, which take the memory and the thread that shorter tests take, too.
statistical='Month|FindsThreePercent|FindsNoneInNoise|OverheadInterval|Families.Predict'
# The first differ only in the launches that the search for iterations reads; its unit tests run under asan, too.  The
# last run reports and tables that analyzer.cli, analyzer.commands and analyzer.prof_model run as well.  A watched run
# whose clock runs 300 times as fast has too few samples where the code is slow.
not_under_asan="$statistical|AreFoundWhereTheyBegin/(accumulation|alternating|evaluation|data)|SixteenMicroSteps|\
FindsAKernelThatGetsSlower|analyzer.(published.reports|nvmmh|seer.prof_model|schemas)"
# The other tests show the same about threads; these differ in size, in what they launch, or in the driver's function
# that fails.  Failing events and streams stay.
not_under_tsan="$not_under_asan|AMillionLabels|OfASetUpAreLeft|AreFoundWhereTheyBegin/plain|OfAStepOf2500Launches|\
AnEagerWarmUpComesBeforeAGraph|DoesNotReachTheApplication/cu[^ES]|IsTheApplicationsToHear"
test_timeout_seconds=120  # a test takes seconds at most, beside a build some more; only a dead-lock gets there

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

wrong_command_line() {
  printf 'test.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

presets=()
quick=false
install_missing=true
with_cuda=true
and_no_cuda=false
style_options=()
[[ "${INLINE_PROF_CUDA:-ON}" =~ ^(OFF|off|0|NO|no|FALSE|false)$ ]] && with_cuda=false
while (($# > 0)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --quick) quick=true; shift ;;
    --no-cuda) with_cuda=false; shift ;;
    --and-no-cuda) and_no_cuda=true; shift ;;
    --no-install) install_missing=false; shift ;;
    --preset)
      (($# > 1)) || wrong_command_line "--preset needs a name"
      [[ "$2" =~ ^(dev|asan|tsan)$ ]] || wrong_command_line "no preset $2: dev, asan or tsan"
      presets+=("$2")
      shift 2
      ;;
    --tidy-base)
      (($# > 1)) || wrong_command_line "--tidy-base needs a commit"
      style_options+=(--tidy-base "$2")
      shift 2
      ;;
    *) wrong_command_line "unknown option $1" ;;
  esac
done
if ((${#presets[@]} == 0)); then
  if $quick; then
    presets=(dev)
    $with_cuda || presets=(asan)
  elif $with_cuda; then
    presets=(dev asan tsan)
  else
    presets=(dev asan)  # without the injected library nothing is left that has threads
  fi
fi
$quick && style_options+=(--format-only)

# The user's own settings of the profiler must not reach the tests.
for variable in "${!INLINE_PROF_@}" "${!PROFILING_@}" LD_PRELOAD CUDA_INJECTION64_PATH \
                NVTX_INJECTION64_PATH; do
  unset "$variable"
done

say() {
  printf '\n== %s (%d s)\n' "$1" "$SECONDS"
}

if $install_missing; then
  say "packages"
  require_packages build test style
fi
if $with_cuda && ! has_cuda_toolkit; then
  printf '%s\n' "test.sh: no CUDA toolkit here: install one (no GPU is needed) from \
https://developer.nvidia.com/cuda-downloads, or run scripts/test.sh --no-cuda" >&2
  exit 1
fi

# axe-core, with which the html report's test looks for what a screen reader cannot use, comes in a Python
# package, pinned by its hash.  Without it that test is skipped and says so.
axe_folder=$PWD/build/axe
axe_script() {
  if [[ -d "$axe_folder" ]]; then find "$axe_folder" -name axe.min.js -print -quit; fi
}
if $install_missing && ! $quick && [[ -z "$(axe_script)" ]]; then
  { python3 -m venv "$axe_folder" &&
    "$axe_folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
      --requirement scripts/axe_requirements.txt; } ||
    printf 'test.sh: pip could not install axe-core\n' >&2
fi
AXE_CORE=$(axe_script)
export AXE_CORE

# Other packages that tests look for, in folders of their own.
install_packages() {  # FOLDER, of scripts/FOLDER_requirements.txt
  local folder=$PWD/build/$1_venv
  if ! $install_missing || $quick || [[ -f "$folder/installed" ]]; then return; fi
  { /usr/bin/python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
      --requirement "scripts/$1_requirements.txt" &&
    touch "$folder/installed"; } ||
    printf 'test.sh: pip could not install scripts/%s_requirements.txt\n' "$1" >&2
}
install_packages dataset
install_packages nvmmh
if command -v java >/dev/null; then install_packages spark; fi
if $with_cuda && $install_missing && ! $quick; then
  get_cudnn_frontend build/cudnn_frontend || printf 'test.sh: no headers of cuDNN front end: attention is not measured\n' >&2
fi

# PyTorch 2, which the tests of its hooks need, in an environment of packages pinned by their hashes.
torch_python=
if $with_cuda && $install_missing && ! $quick; then
  say "PyTorch"
  torch_python=$(scripts/real_programs.sh --environment) || printf 'test.sh: no environment with PyTorch\n' >&2
fi

passed=0
failed=0
skipped=0
broken=()  # what failed before there was a test to count
failed_tests=()
configure_options=()
if command -v ccache >/dev/null; then
  # A second clone finds what the first one compiled: paths count from the clone's own folder.
  # The sloppiness is what ccache asks for where headers are precompiled.
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  configure_options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
excluded_labels=gpu

# The thread sanitizer of GCC 12 gives up where the kernel places a program too randomly
# (vm.mmap_rnd_bits above 28); a container may refuse to change that.
fixed_addresses=()
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" --addr-no-randomize)
fi

# Prints a line "passed", "skipped" or "failed NAME" for each test of a ctest run, whose JUnit file it
# reads.  A test whose program is not there has failed, though ctest calls it skipped.
results_of() {
  awk '
    /^[[:space:]]*<testcase / {
      name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
      gsub(/&lt;/, "<", name); gsub(/&gt;/, ">", name); gsub(/&quot;/, "\"", name)
      gsub(/&apos;/, "\047", name); gsub(/&amp;/, "\\&", name)
      if (/ status="run"/) print "passed"
      if (/ status="fail"/) print "failed", name
    }
    /^[[:space:]]*<skipped message="/ { print(/message="SKIP_/ ? "skipped" : "failed " name) }' "$1"
}

# Adds such a run to the counts.
count_results() {
  local result name
  while read -r result name; do
    case "$result" in
      passed) passed=$((passed + 1)) ;;
      skipped) skipped=$((skipped + 1)) ;;
      failed) failed=$((failed + 1)) failed_tests+=("$name ($2)") ;;
    esac
  done < <(results_of "$1")
}

# Leaves out ctest's thousands of lines about tests that pass.
without_passes() {
  grep --text --line-buffered --invert-match --extended-regexp \
    '^ +Start +[0-9]+: |^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec' || true
}

# timed STEP COMMAND...: adds a line to the summary: seconds by the clock, seconds of processor time.
steps=$(mktemp -d)
trap 'rm -rf "$steps"' EXIT
timed() {
  local step=$1 status=0
  shift
  local TIMEFORMAT='%R %U %S'
  { time "$@" >&3 2>&4; } 3>&1 4>&2 2>"$steps/time.$BASHPID" || status=$?
  awk -v step="$step" '{ printf "%-32s %6.0f s %8.0f s\n", step, $1, $2 + $3 }' "$steps/time.$BASHPID" >>"$steps/summary"
  return "$status"
}

# junit_of BUILD_DIR FOLDER: where ctest writes what came of the tests of a folder.
junit_of() {
  printf '%s/%s/results_%s.junit.xml' "$PWD" "$1" "${2//[.\/]/_}"
}

# run_tests BUILD_DIR FOLDER...: the tests of some folders of the build tree; fails if one of them could not
# be run, or had no tests.
run_tests() {
  local build_dir=$1 folder junit status failed_folders=0
  shift
  for folder in "$@"; do
    junit=$(junit_of "$build_dir" "$folder")
    # Many tests wait now and then, for a second program or for a clock: one more than there are cores.
    local -a command=(ctest --test-dir "$build_dir/$folder" --parallel $(($(nproc) + 1))
      --timeout "$test_timeout_seconds" --output-on-failure --no-tests=error
      --label-exclude "^($excluded_labels)\$" --output-junit "$junit")
    [[ "$build_dir" == build/tsan* ]] &&
      command=(env "TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}suppressions=$PWD/tests/tsan_suppressions.txt"
        "${fixed_addresses[@]}" "${command[@]}" --exclude-regex "$not_under_tsan")
    # Undefined behaviour traps there: with this its place is printed.
    [[ "$build_dir" == build/asan* ]] &&
      command=(env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_sigill=1" "${command[@]}"
        --exclude-regex "$not_under_asan")
    rm -f "$junit"
    status=0
    "${command[@]}" </dev/null | without_passes || status=${PIPESTATUS[0]}
    # ctest itself, or no tests at all: nothing that is counted says so.
    if ((status != 0)) && ! { [[ -f "$junit" ]] && results_of "$junit" | grep '^failed ' >/dev/null; }; then
      failed_folders=$((failed_folders + 1))
    fi
  done
  ((failed_folders == 0))
}

# The tests that run while something else is built: one preset's at a time.
running_tests=
running_dir=
running_folders=()

start_tests() {
  running_dir=$1
  shift
  running_folders=("$@")
  timed "test $running_dir" run_tests "$running_dir" "${running_folders[@]}" >"$steps/tests" 2>&1 &
  running_tests=$!
}

finish_tests() {
  [[ -n "$running_tests" ]] || return 0
  local folder junit
  wait "$running_tests" || broken+=("ctest in $running_dir")
  running_tests=
  say "tests of $running_dir"
  cat "$steps/tests"
  for folder in "${running_folders[@]}"; do
    junit=$(junit_of "$running_dir" "$folder")
    if [[ -f "$junit" ]]; then count_results "$junit" "$running_dir"; fi
  done
}

# build_preset PRESET CUDA: and starts its tests, once those of the preset before have ended.
build_preset() {
  local preset=$1 cuda=$2 build_dir=build/$1
  local -a options=("${configure_options[@]}") targets=() folders=()
  if ! $cuda; then
    build_dir+=-no-cuda
    options+=(-DINLINE_PROF_CUDA=OFF)
  fi
  case "$preset-$cuda" in
    tsan-true) folders=("${threaded_folders[@]}") ;;
    asan-true)
      folders=("${inject_folders[@]}")
      # The build without CUDA has the same tests of the macros.
      $and_no_cuda || folders+=(tests/unit/macros)
      ;;
    tsan-false)
      printf 'preset tsan: nothing here has threads\n'
      return
      ;;
    *) folders=(.) ;;
  esac
  if [[ "${folders[0]}" == . ]]; then
    targets=(all)
  else
    targets=("${folders[@]/%//all}" libinject/all simgpu)
  fi
  if [[ "$preset" == dev ]]; then
    # The GPU programs must compile, wherever they will run.
    options+=(-DINLINE_PROF_GPU_TESTS=ON -DCMAKE_CUDA_ARCHITECTURES=90-real -DINLINE_PROF_PCH=ON
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12)
    if $cuda && [[ -n "$torch_python" ]]; then
      # PyTorch loads libraries that are simulated only for a program that asks for them.
      options+=(-DINLINE_PROF_TORCH_PYTHON="$torch_python"
        -DSIMGPU_PROGRAMS="$("$torch_python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')")
    fi
  else
    options+=(-DINLINE_PROF_EXAMPLES=OFF -DINLINE_PROF_BENCH=OFF -DINLINE_PROF_UB_TRAPS=ON)
  fi

  say "configure $build_dir"
  if ! timed "configure $build_dir" cmake --preset "$preset" -B "$build_dir" "${options[@]}"; then
    broken+=("configuring $build_dir")
    return
  fi
  say "build $build_dir"
  if ! timed "build $build_dir" cmake --build "$build_dir" --parallel "$(nproc)" --target "${targets[@]}"; then
    broken+=("building $build_dir")
    return
  fi
  finish_tests
  start_tests "$build_dir" "${folders[@]}"
}

for preset in "${presets[@]}"; do
  build_preset "$preset" "$with_cuda"
done
if $and_no_cuda && $with_cuda; then build_preset asan false; fi

say "style"
if ! $quick; then
  # Each source alone, which no build above knows; nothing is built there.
  options=("${configure_options[@]}" -DINLINE_PROF_GPU_TESTS=ON)
  $with_cuda || options+=(-DINLINE_PROF_CUDA=OFF)
  style_options+=(--build-dir build/tidy)
  cmake --preset dev -B build/tidy "${options[@]}" >/dev/null || broken+=("configuring build/tidy")
fi
timed style scripts/check_style.sh "${style_options[@]}" || broken+=("the style check")
finish_tests

real_programs=
if $with_cuda && ! $quick; then
  timed "real programs" scripts/real_programs.sh --short >"$steps/real_programs" 2>&1 &
  real_programs=$!
fi

if $with_cuda && $install_missing && ! $quick && [[ $(uname -m) == x86_64 ]]; then
  say "wheels"
  wheels=0
  timed wheels scripts/make_wheel.sh || wheels=$?
  case $wheels in
    0) ;;
    3) say "SKIP  wheels: no network" ;;
    *) broken+=("the wheels") ;;
  esac
fi

if [[ -n "$real_programs" ]]; then
  wait "$real_programs" || broken+=("the real programs")
  say "real programs"
  cat "$steps/real_programs"
fi

say "done"
printf '%-32s %8s %10s\n' step clock processor
cat "$steps/summary"
((skipped == 0)) || printf '%d skipped\n' "$skipped"
((${#failed_tests[@]} == 0)) || printf 'failed: %s\n' "${failed_tests[@]}"
((${#broken[@]} == 0)) || printf 'failed: %s\n' "${broken[@]}"
failed=$((failed + ${#broken[@]}))
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
