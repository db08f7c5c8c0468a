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
#   --no-install     leave the system's packages alone
#   --tidy-base REV  clang-tidy looks only at files changed since REV
#
# Needs no GPU and no driver: tests that do carry the label gpu, run by scripts/gpu_check.sh.  The
# benchmarks are built with preset dev and not timed.
#
# What each preset runs:
#   dev   everything; the programs for the GPU are built, for one architecture, and not run
#   asan  with CUDA what lives in a host: the injected library, the macros, and the programs under them on the
#         simulated GPU (inject_folders below); with --no-cuda what reads other people's bytes: schedule
#         and analyzer.  No examples, no benchmarks, nothing that runs no program of ours
#   tsan  what has threads: the injected library and the programs under it (threaded_folders below), but for the
#         programs of a million calls (large_tests below).  Reports read their files on two, which hand
#         over whole results under a lock (join/two_threads.hpp).
# All of them compile the sources of a target together, a dozen at a time, and precompile the system's
# headers for what is not optimised.  A source that leans on what others include is found by clang-tidy,
# which looks at each alone, and by `cmake --preset dev`.
#
# Exit status: 0 all passed, 1 something failed, 2 the command line is wrong.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/dependencies.sh
. scripts/dependencies.sh

inject_folders=(tests/unit/macros tests/unit/libinject tests/unit/simgpu tests/inject)
threaded_folders=(tests/unit/libinject tests/inject)
# What these show of threads the other tests show, too; what is their own is their size.
large_tests='AMillionLabels|AreFoundWhereTheyBegin/(plain|accumulation|alternating|evaluation|data)|OfAStepOf2500Launches'
test_timeout_seconds=60  # a test takes seconds at most; only a dead-lock gets there

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
style_options=()
[[ "${INLINE_PROF_CUDA:-ON}" =~ ^(OFF|off|0|NO|no|FALSE|false)$ ]] && with_cuda=false
while (($# > 0)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --quick) quick=true; shift ;;
    --no-cuda) with_cuda=false; shift ;;
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

# What the user has set for a profile of his own must not reach the tests.
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

# The html report is looked at with axe-core, which npm has; without it that test says so and is
# skipped.
axe_folder=$PWD/build/axe
if $install_missing && command -v npm >/dev/null && [[ ! -d "$axe_folder/node_modules/axe-core" ]]; then
  npm install --prefix "$axe_folder" --silent --no-audit --no-fund axe-core@4 ||
    printf 'test.sh: npm could not install axe-core\n' >&2
fi
export AXE_CORE="$axe_folder/node_modules/axe-core/axe.min.js"

passed=0
failed=0
skipped=0
broken=()  # what failed before there was a test to count
failed_tests=()
suffix=
configure_options=()
if command -v ccache >/dev/null; then
  # A second clone finds what the first one compiled: paths count from the clone's own folder.
  # The sloppiness is what ccache asks for where headers are precompiled.
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  configure_options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
excluded_labels=gpu
if ! $with_cuda; then
  suffix=-no-cuda
  configure_options+=(-DINLINE_PROF_CUDA=OFF)
fi

# The thread sanitizer of GCC 12 gives up where the kernel places a program too randomly
# (vm.mmap_rnd_bits above 28); a container may refuse to change that.
fixed_addresses=()
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" --addr-no-randomize)
fi

# What a run of ctest, written down in JUnit form, says of each test: a line "passed", "skipped" or
# "failed NAME".  A test whose program is not there has failed, though ctest calls it skipped.
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

# What ctest says of tests that pass is not worth thousands of lines.
without_passes() {
  grep --text --line-buffered --invert-match --extended-regexp \
    '^ +Start +[0-9]+: |^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec' || true
}

# run_tests BUILD_DIR LABEL FOLDER: the tests of one folder of the build tree.
run_tests() {
  local junit="$PWD/$1/$2.junit.xml" status=0
  # Many tests wait now and then, for a second program or for a clock: one more than there are cores.
  local -a command=(ctest --test-dir "$1/$3" --parallel $(($(nproc) + 1)) --timeout "$test_timeout_seconds"
    --output-on-failure --no-tests=error --label-exclude "^($excluded_labels)\$" --output-junit "$junit")
  [[ "$1" == build/tsan* ]] &&
    command=("${fixed_addresses[@]}" "${command[@]}" --exclude-regex "$large_tests")
  # Undefined behaviour traps there: with this its place is printed.
  [[ "$1" == build/asan* ]] &&
    command=(env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_sigill=1" "${command[@]}")
  local failed_before=$failed
  rm -f "$junit"
  "${command[@]}" </dev/null | without_passes || status=${PIPESTATUS[0]}
  [[ -f "$junit" ]] && count_results "$junit" "$1"
  # No tests at all, or ctest itself: nothing in the counts says so.
  ((status == 0 || failed > failed_before)) || broken+=("ctest in $1/$3")
}

run_preset() {
  local preset=$1 build_dir=build/$1$suffix folder
  local -a options=("${configure_options[@]}") targets=() folders=()
  if [[ "$preset" == dev ]]; then
    # The GPU programs must compile, wherever they will run.
    options+=(-DINLINE_PROF_GPU_TESTS=ON -DCMAKE_CUDA_ARCHITECTURES=90-real -DINLINE_PROF_PCH=TESTS
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12)
  else
    options+=(-DINLINE_PROF_EXAMPLES=OFF -DINLINE_PROF_BENCH=OFF -DINLINE_PROF_UB_TRAPS=ON)
  fi

  say "preset $preset: configure"
  if ! cmake --preset "$preset" -B "$build_dir" "${options[@]}"; then
    broken+=("configuring $build_dir")
    return
  fi
  case "$preset-$with_cuda" in
    tsan-true) folders=("${threaded_folders[@]}") ;;
    asan-true) folders=("${guest_folders[@]}") ;;
    tsan-false)
      printf 'preset tsan: nothing here has threads\n'
      return
      ;;
    *) folders=(.) ;;
  esac
  if [[ "${folders[0]}" == . ]]; then
    targets=(all)
  else
    targets=("${folders[@]/%//all}" libinject/all tests/simgpu/all)
  fi
  say "preset $preset: build"
  if ! cmake --build "$build_dir" --parallel "$(nproc)" --target "${targets[@]}"; then
    broken+=("building $build_dir")
    return
  fi
  say "preset $preset: test"
  for folder in "${folders[@]}"; do
    run_tests "$build_dir" "results_${folder//[.\/]/_}" "$folder"
  done
}

for preset in "${presets[@]}"; do
  run_preset "$preset"
done

say "style"
if ! $quick; then
  # Each source alone, which no build above knows; nothing is built there.
  options=("${configure_options[@]}" -DINLINE_PROF_GPU_TESTS=ON)
  style_options+=(--build-dir build/tidy)
  cmake --preset dev -B build/tidy "${options[@]}" >/dev/null || broken+=("configuring build/tidy")
fi
scripts/check_style.sh "${style_options[@]}" || broken+=("the style check")

say "done"
((skipped == 0)) || printf '%d skipped\n' "$skipped"
((${#failed_tests[@]} == 0)) || printf 'failed: %s\n' "${failed_tests[@]}"
((${#broken[@]} == 0)) || printf 'failed: %s\n' "${broken[@]}"
failed=$((failed + ${#broken[@]}))
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
