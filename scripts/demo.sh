#!/usr/bin/env bash
# From a fresh checkout to "measured and predicted, layer by layer", in one command.
#
#   scripts/demo.sh [--iterations N]
#
# Installs missing Debian packages (as root; otherwise it names them), builds what it needs, and trains the
# DLRM of examples/dlrm under the profiler, first with its layers named by macros, then without macros.
# Each run is followed by its report.  Then examples/allreduce runs on two ranks (one, if there is one
# GPU), whose files make one report.  Without a GPU a simulated one takes its place: the times are then
# those of a model.  The last report is of a real run: HugeCTR's DLRM on 8 A100, recorded by the original
# inline profiler in 2021 (tests/data/hugectr).  Progress goes to stderr, reports go to stdout; all files
# are in build/demo/run.  The first report takes about three minutes on two cores, a second run seconds.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source_dir=$PWD
build_dir=$source_dir/build/demo
run_dir=$build_dir/run
# shellcheck source=scripts/dependencies.sh
. scripts/dependencies.sh

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

say() {
  printf 'demo.sh: %s (%d s)\n' "$1" "$SECONDS" >&2
}

fail() {
  say "$1"
  exit "${2:-1}"
}

iterations=5000
while (($# > 0)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --iterations)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || { usage >&2; fail '--iterations needs a number above 0' 2; }
      iterations=$2
      shift 2
      ;;
    *) usage >&2; fail "unknown option $1" 2 ;;
  esac
done

# A driver that answers and has a GPU.
has_gpu() {
  command -v nvidia-smi >/dev/null && [[ "$(nvidia-smi -L 2>/dev/null)" == *"GPU "* ]]
}

# Only what the demo runs is built, quickly: preset quick, and device code for this machine's GPU alone (a
# simulated one needs none; PTX is the least that nvcc makes).  `cmake --preset dev` makes a build to
# work with.
configure() {
  local -a options=(--preset quick -B "$build_dir")
  if $simulated; then
    options+=(-DINLINE_PROF_SIMGPU=ON -DCMAKE_CUDA_ARCHITECTURES=80-virtual)
  else
    options+=(-DINLINE_PROF_SIMGPU=OFF -DCMAKE_CUDA_ARCHITECTURES=native)
  fi
  # Ninja configures again by itself where a CMakeLists.txt has changed.
  if [[ -f "$build_dir/build.ninja" && "$(cat "$build_dir/options" 2>/dev/null)" == "${options[*]}" ]]; then
    return
  fi
  mkdir -p "$build_dir"
  if ! cmake "${options[@]}" >"$build_dir/configure.log" 2>&1; then
    cat "$build_dir/configure.log" >&2
    fail 'cmake could not configure the build'
  fi
  printf '%s' "${options[*]}" >"$build_dir/options"
}

# build TARGET...: says how many steps are done.
build() {
  NINJA_STATUS='demo.sh: building, step %f of %t: ' cmake --build "$build_dir" --target "$@" >&2 ||
    fail 'the build failed'
}

# is_target NAME: false for what was left out of the build.
is_target() {
  [[ "$(cmake --build "$build_dir" --target help)" == *$'\n'"$1: "* ]]
}

# train PROGRAM: writes PROGRAM.prof.json into the run folder.
train() {
  say "training: $1, $iterations iterations"
  (
    cd "$run_dir"
    LD_PRELOAD="$build_dir/libinject/libinline_prof.so" INLINE_PROF_OUT="$1.prof.json" \
      "$build_dir/examples/dlrm/$1" --iterations "$iterations" >&2
  )
  [[ -s "$run_dir/$1.prof.json" ]] || fail "the profiler left no $run_dir/$1.prof.json"
}

# Two processes, two files in a folder.  The last rank has more to do, so that the other waits.
train_ranks() {
  local ranks=2
  if has_gpu && (($(nvidia-smi -L | grep -c '^GPU ') < 2)); then ranks=1; fi
  say "training: allreduce, $ranks ranks"
  SIMGPU_MODEL=$source_dir/examples/allreduce/simgpu_model.json \
    LD_PRELOAD="$build_dir/libinject/libinline_prof.so" INLINE_PROF_DIR="$run_dir/allreduce" \
    "$build_dir/examples/allreduce/allreduce" --ranks "$ranks" --imbalance 10 \
    --iterations "$(((iterations + 1) / 2))" >&2
}

# report PROGRAM TITLE [OPTION]...: the largest rows; the file has them all.
report() {
  printf '%s\n\n' "$2"
  # Times of the simulated GPU follow its own model, so what was fitted to real ones says nothing.
  (cd "$run_dir" && "$build_dir/analyzer/cli/prof-analyze" --models roofline --top 25 "$1.prof.json" "${@:3}")
  printf '\n'
}

# The real run, with the shapes of its layers, which files of that time did not carry.
report_a100() {
  printf '%s\n\n' 'dlrm_a100_8gpu: HugeCTR on 8 A100, recorded in 2021'
  "$build_dir/analyzer/cli/prof-analyze" tests/data/hugectr/dlrm_a100_8gpu.prof.json \
    --layers tests/data/hugectr/dlrm_a100.layers.json --machine a100-sxm4-40gb --top 12
  printf '\n'
}

say 'packages'
require_packages build demo || exit 1
has_cuda_toolkit || fail "no CUDA toolkit: install one, 12.4 or newer, from \
https://developer.nvidia.com/cuda-downloads (the schedule and the analyzer build without one: \
cmake -B build -DINLINE_PROF_CUDA=OFF)"

first_targets=(prof_analyze inline_prof_inject dlrm)
more_targets=(dlrm_plain)
simulated=false
if ! has_gpu; then
  say 'no GPU here: a simulated one takes its place'
  simulated=true
  first_targets+=(simgpu_cuda_1 simgpu_cudart_13 simgpu_cublas_13)
  export LD_LIBRARY_PATH=$build_dir/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export SIMGPU_MODEL=$source_dir/examples/dlrm/simgpu_model.json
fi
say "configuring $build_dir"
configure
# Left out of the build where there is no NCCL.
has_ranks=false
if is_target allreduce; then
  has_ranks=true
  more_targets+=(allreduce)
  if $simulated; then more_targets+=(simgpu_nccl_2); fi
fi

say 'building what the first report needs'
build "${first_targets[@]}"
rm -rf "$run_dir"
mkdir -p "$run_dir"
train dlrm
report dlrm 'dlrm: layers named by macros'

say 'building the other programs'
build "${more_targets[@]}"
train dlrm_plain
report dlrm_plain 'dlrm_plain: the same program without macros, its layers named by a file' \
  --layers "$source_dir/examples/dlrm/plain.layers.json"
if $has_ranks; then
  train_ranks
  printf '%s\n\n' 'allreduce: ranks as processes, their files merged'
  (cd "$run_dir" && "$build_dir/analyzer/cli/prof-analyze" --models roofline --top 12 allreduce)
  printf '\n'
fi
report_a100
say "all rows: $build_dir/analyzer/cli/prof-analyze $run_dir/dlrm.prof.json"
