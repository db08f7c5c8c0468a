#!/usr/bin/env bash
# First contact with a GPU: builds here, and writes down what only a GPU can show.
#
#   scripts/gpu_check.sh [--call 1|2|3] [--resume] [--only PART]... [--build-dir DIR]
#                        [--results DIR] [--list]
#
# Calls of ten minutes at most share it out; each part has a time limit of its own.  The first
# call, in the order of importance (9 minutes 45 s together):
#
#   machine   driver, clocks, compiler, libraries; is a GPU cut up (MIG) or shared (MPS)?
#   build     the injected library, the analyzer, the examples and the GPU programs
#   census    every launch that CUPTI counts is seen: runtimes, driver API, graphs, cuBLAS, cuDNN,
#             NCCL, Thrust
#   torch     the same for PyTorch, with a captured graph and NCCL, and for torch.compile
#   libraries what calls of cuBLAS, cuDNN, NCCL and PyTorch say they compute, their kernels beside
#             the simulated ones, where NCCL launches, ranks on two GPUs
#   bias      event pairs around kernels of known length, against CUPTI's timestamps
#   backends  iteration times against CUPTI's; pairs in CUPTI's callbacks; first launches and leaving
#             beside other threads; programmatic launches
#   results   the application's results are the same by every bit, also after a device reset; the injected library is
#             clean under compute-sanitizer
#   rate      what a launch costs the application thread: bare, under the injected library, under CUPTI
#   graphs    what event nodes read and cost; what clones of a graph cost, and what they hold on to
#   demo      the DLRM example under the injected library, and its report
#
# The second call (machine and build again where that is a fresh machine; 9 minutes 45 s together):
#
#   overhead  what measuring costs a loop, as ratios with intervals
#   training  loops whose course is known, one of them PyTorch's: is their iteration found, is a
#             budget kept, are NVTX ranges layers?
#   examples  whole programs under the injected library, the DLRM, graphs and PyTorch: is their iteration
#             explained?  Their html reports stay
#   measure   prof-model measure, fits of what it measured, and a run beside its shapes alone
#
# The third call, for the whole set of measure (5 minutes 40 s together, and what is left):
#
#   machine, build, measure
#
# measure comes last and takes what its call has left, up to 9 minutes 20 s, of which its budget is
# all but 80 s: 8 minutes, the default of prof-model measure, where there is no call.
#
# Apart: tests, the CPU tests on this machine (only with --only tests).
#
# Every part says PASS, FAIL, SKIP or FIGURE, with figures or the reason: a line for each claim of
# docs/gpu_results.md, with its number where it settles one.  What a part wrote stays in
# DIR/gpu_check, so that --only repeats one part and the rest is kept; --resume leaves out the parts
# that came to their end before.  The archive $OUT/gpu_results.tar.gz (OUT: default gpu_results)
# holds everything, without host names, serial numbers and paths; $OUT/summary.txt the lines alone.
#
# Where third_party_offline/ is (scripts/offline_deps.sh), its libraries are used; else Debian's must be there.
#
# A part over its limit is a FAIL where an application that does not end under the injected library may be why; machine, build and
# measure are open then.
#
# Exit status: 0 no part failed, 1 one did, 2 the command line is wrong, 3 what was found cannot be
# written: DIR or OUT is not writable, or a disk is full.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source_dir=$PWD

call_s=590 # a call of ten minutes, less what packing takes
# Of measure it is the least: part_limit_s gives it what its call has left.
declare -A limit_s=([machine]=15 [build]=170 [census]=75 [torch]=80 [libraries]=45 [bias]=40 [backends]=35 [results]=40 [rate]=20
  [graphs]=20 [demo]=45 [overhead]=110 [training]=60 [examples]=75 [measure]=155 [tests]=400)
first_call=(machine build census torch libraries bias backends results rate graphs demo)
second_call=(machine build overhead training examples measure)
third_call=(machine build measure)
default_parts=("${first_call[@]}" overhead training examples measure)
longest_measure_s=560
measure_rest_s=80 # beside its budget: fits, the shapes of a run
archive_limit_mib=16

build_dir=build/gpu
results=
only=()
call=
resume=false
run_part=
run_limit_s=  # of run_part
at_most_s=    # of every part

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

wrong_command_line() {
  printf 'gpu_check.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

while (($# > 0)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --list) printf '%s\n' "${default_parts[@]}" tests; exit 0 ;;
    --resume) resume=true; shift ;;
    --only | --build-dir | --results | --call | --at-most | --run-part | --run-limit)
      (($# > 1)) || wrong_command_line "$1 needs a value"
      case "$1" in
        --build-dir) build_dir=$2 ;;
        --results) results=$2 ;;
        --only) only+=("$2") ;;
        --call) call=$2 ;;
        --at-most) at_most_s=$2 ;; # seconds, for the tests of this script
        --run-part) run_part=$2 ;; # how this script calls itself, under timeout
        --run-limit) run_limit_s=$2 ;;
      esac
      shift 2
      ;;
    *) wrong_command_line "unknown option $1" ;;
  esac
done
case "$call" in
  '') ;;
  1) only+=("${first_call[@]}") ;;
  2) only+=("${second_call[@]}") ;;
  3) only+=("${third_call[@]}") ;;
  *) wrong_command_line "--call $call: expected 1, 2 or 3" ;;
esac
for part in "${only[@]}" ${run_part:+"$run_part"}; do
  [[ -n "${limit_s[$part]:-}" ]] || wrong_command_line "no part $part; --list names them"
done

# part_limit_s PART: seconds that it may take from now on.
part_limit_s() {
  local limit=${limit_s[$1]} left=$((call_s - SECONDS))
  if [[ "$1" == measure ]]; then
    if [[ -z "$call" ]] || ((left > longest_measure_s)); then left=$longest_measure_s; fi
    if ((left > limit)); then limit=$left; fi
  fi
  if [[ -n "$at_most_s" ]] && ((limit > at_most_s)); then limit=$at_most_s; fi
  printf '%d' "$limit"
}

build_dir=$(realpath --canonicalize-missing "$build_dir")
results=$(realpath --canonicalize-missing "${results:-$build_dir/gpu_check}")
library=$build_dir/libinject/libinline_prof.so
census=$build_dir/tests/gpu/libcensus_cupti.so
programs=$build_dir/tests/gpu

# verdict PASS|FAIL|SKIP|FIGURE TEXT: a line of the summary, from inside a part.
verdict() {
  local line
  printf -v line '%-6s %s: %s' "$1" "$run_part" "$2"
  printf '%s\n' "$line" || true
  # A full disk must not keep the next claim from being checked.
  if ! printf '%s\n' "$line" >>"$results/$run_part/summary"; then
    printf '%s\n' "$line" >&9
    is_written=false
  fi
}

skip_part() {
  verdict SKIP "$1"
  exit 0
}

need_python() {
  command -v python3 >/dev/null || skip_part "$1: no python3 on the path"
}

need_file() {
  [[ -e "$1" ]] || skip_part "$1 was not built"
}

# cannot_run STATUS FILE...: whether a program's end, whose last words the files hold, says that this GPU
# or driver cannot be used as it is.  77: the program said so itself; 127: no driver to load.
cannot_run() {
  local status=$1
  shift
  ((status != 77 && status != 127)) || return 0
  ((status != 0)) && tail -qn 2 "$@" 2>/dev/null | grep -qE 'out of memory|busy or unavailable|no CUDA-capable device|insufficient for CUDA runtime|unsupported toolchain|no kernel image'
}

# within SECONDS COMMAND...: the command's status, or 124 or 137 where it had to be ended.
within() {
  timeout --kill-after=2 "$@"
}

was_ended() {
  (($1 == 124 || $1 == 137))
}

# ending STATUS SECONDS [WHERE]: how a command ended that ran within that time, in words.
ending() {
  if was_ended "$1"; then
    printf 'did not end within %d s%s' "$2" "${3:+ $3}"
  else
    printf 'status %d%s' "$1" "${3:+ $3}"
  fi
}

# For hosts that take a missing GPU for an error.
need_gpu() {
  local status=0
  need_file "$programs/launch_rate"
  "$programs/launch_rate" --iterations 2 --launches 1 >/dev/null 2>no_gpu.log || status=$?
  ((status != 77)) || skip_part "$1: $(tail -1 no_gpu.log)"
}

# The path of a library inside the Python packages of NVIDIA, for toolkits that came without it.
wheel_file() {
  python3 - "$1" <<'PYTHON' 2>/dev/null || true
import pathlib, sys
import nvidia
for folder in nvidia.__path__:
    for file in sorted(pathlib.Path(folder).rglob(sys.argv[1])):
        print(file)
        sys.exit()
PYTHON
}

# What would put another tool, or other settings of the injected library, into every program below.
foreign_settings() {
  compgen -e | grep -E '^(CUDA_INJECTION(32|64)_PATH|NVTX_INJECTION(32|64)_PATH|(INLINE_PROF|PROFILING)_.*)$' || true
}

part_machine() {
  local tool
  uname -srm >uname.txt
  for tool in nvidia-smi nvcc cmake python3 g++; do
    command -v "$tool" >/dev/null || verdict SKIP "no $tool on the path"
  done
  ldd --version 2>/dev/null | head -1 >glibc.txt || true
  nvcc --version >nvcc.txt 2>&1 || true
  timeout 8 python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())' \
    >torch.txt 2>&1 || true
  env | grep -E '^(CUDA|NVIDIA|NCCL|LD_)' | sort >environment.txt || true
  [[ -z "$taken_out" ]] || verdict FIGURE "taken out of the environment, for every part: $taken_out"
  [[ -z "${LD_PRELOAD:-}" ]] || verdict FIGURE "LD_PRELOAD is $LD_PRELOAD, in every part"
  command -v nvidia-smi >/dev/null || return 0
  if ! nvidia-smi -q >nvidia_smi.txt 2>&1; then
    verdict SKIP "30: nvidia-smi: $(tail -1 nvidia_smi.txt)"
    return
  fi
  nvidia-smi --format=csv --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,pstate,mig.mode.current,persistence_mode \
    >gpu.csv 2>&1 || true
  verdict FIGURE "30: $(tail -1 gpu.csv)"
  if pgrep -x nvidia-cuda-mps >/dev/null; then
    verdict FIGURE '30: an MPS daemon runs'
  else
    verdict SKIP '30: no MPS daemon runs, so that MPS cannot be recognised'
  fi
  if ! grep -q 'Enabled' <(nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader); then
    verdict SKIP '30: the GPU is not cut up, so that MIG cannot be recognised'
  fi
}

# Whether the toolkit itself has a header.
toolkit_has() {
  local root=${CUDAToolkit_ROOT:-/usr/local/cuda} folder
  for folder in "$root/include" "$root/extras/CUPTI/include" /usr/include; do
    [[ ! -e "$folder/$1" ]] || return 0
  done
  return 1
}

# Appends to `options`, and to the compilers' system folders, what the toolkit came without and PyTorch's packages have.
options_for_wheels() {
  local header name file
  for header in cublas_v2.h cupti.h nvtx3/nvToolsExt.h; do
    toolkit_has "$header" && continue
    file=$(wheel_file "$header")
    [[ -n "$file" ]] || continue
    file=${file%/"$header"}
    export C_INCLUDE_PATH=$file${C_INCLUDE_PATH:+:$C_INCLUDE_PATH}
    export CPLUS_INCLUDE_PATH=$file${CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}
    case "$header" in
      cublas_v2.h)
        for name in cublas cublasLt; do
          options+=(-D "CUDA_${name}_LIBRARY=$(wheel_file "lib$name.so.*")")
        done
        ;;
      cupti.h)
        options+=(-D "CUDA_cupti_LIBRARY=$(wheel_file 'libcupti.so.*')"
          -D "CUDAToolkit_CUPTI_INCLUDE_DIR=$file" -D "INLINE_PROF_CUPTI_INCLUDE_DIR=$file")
        ;;
    esac
  done
  for name in cudnn nccl; do
    toolkit_has "$name.h" && continue
    header=$(wheel_file "$name.h")
    file=$(wheel_file "lib$name.so.*")
    if [[ -n "$header" && -n "$file" ]]; then
      options+=(-D "INLINE_PROF_${name^^}_INCLUDE_DIR=${header%/*}"
        -D "INLINE_PROF_${name^^}_LIBRARY=$file")
    fi
  done
}

part_build() {
  local tool
  for tool in cmake c++; do
    command -v "$tool" >/dev/null || skip_part "no $tool on the path"
  done
  command -v "${CUDACXX:-nvcc}" >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] ||
    skip_part 'no nvcc, on the path or in /usr/local/cuda/bin'
  local -a options=(-D INLINE_PROF_GPU_TESTS=ON -D INLINE_PROF_BENCH=OFF
    -D CMAKE_CUDA_ARCHITECTURES=native)
  [[ -d "$source_dir/third_party_offline/usr" ]] &&
    options+=(-D "CMAKE_PREFIX_PATH=$source_dir/third_party_offline/usr")
  options_for_wheels
  # What the presets need is CMake 3.25; without ninja the makefiles do.
  command -v ninja >/dev/null && options+=(-G Ninja)
  if ! (cd "$source_dir" && cmake -B "$build_dir" -D CMAKE_BUILD_TYPE=RelWithDebInfo "${options[@]}") \
      >configure.log 2>&1; then
    local missing
    missing=$(grep -oE '"(Find)?(Eigen3|fmt|nlohmann_json|CLI11|simdjson|GTest)|Could NOT find GTest' configure.log |
      head -1 | grep -oE '[A-Za-z0-9_]+$') || true
    verdict FAIL "configure: ${missing:+${missing#Find} is missing, scripts/offline_deps.sh collects what is needed: }\
$(grep -m 1 -A 2 'CMake Error' configure.log | tr -s ' \n' ' ')"
    return
  fi
  # In the order of what the other parts can do without: only Ninja knows folders as targets.
  local folder
  local -a target folders=(libinject tests/gpu simgpu examples analyzer)
  [[ "$call" != 3 ]] || folders=(libinject examples analyzer) # what measure needs
  for folder in "${folders[@]}"; do
    [[ -d "$build_dir/$folder" ]] || continue
    target=(--target "$folder/all")
    [[ "$folder" != simgpu ]] || target=(--target simgpu) # without its tests
    [[ -e "$build_dir/build.ninja" ]] || target=()
    if (cd "$source_dir" && cmake --build "$build_dir" --parallel "$(nproc)" "${target[@]}") \
        >"build_${folder//\//_}.log" 2>&1; then
      verdict PASS "$folder built after $SECONDS s"
    else
      verdict FAIL "$folder: $(grep -m 1 -E 'error|Error' "build_${folder//\//_}.log")"
    fi
  done
  ldd "$library" >ldd_library.txt 2>&1 || true
}

# Claims that the census of each host settles; all of them settle 11, for the counts side by side.
declare -A census_claim=([static]=1 [shared]=2 [cublas]=3 [cublaslt]=4 [static_graph]=5
  [shared_graph]=5 [driver]=6 [torch]=7 [nccl]=8 [cudnn]=9 [thrust]=56 [torch_compile]=57)

declare -A library_claims=([cudnn_descriptors]='38, 44' [nccl_launches]=43)

# census_of NAME PROGRAM [ARGUMENT...]
census_of() {
  local name=$1 line status=0
  shift
  line=$(python3 "$source_dir/tests/gpu/launch_census.py" --library "$library" --census "$census" \
    --work "$name" --timeout "${census_timeout_s:-20}" -- "$@") || status=$?
  printf '%s\n' "$line" >>census.log
  if ((status != 0 && status != 1 && status != 77)) || [[ -z "$line" ]]; then
    verdict FAIL "${census_claim[$name]}, 11: $name: launch_census.py ended with status $status"
  else
    verdict "${line%% *}" "${census_claim[$name]}, 11: $name: ${line#* }"
  fi
}

part_census() {
  need_python '1 to 6, 8, 9, 11, 56'
  need_file "$library"
  need_file "$census"
  local program
  for program in static shared; do
    census_of "$program" "$programs/launch_census_$program" streams
    census_of "${program}_graph" "$programs/launch_census_$program" graph
  done
  census_of driver "$programs/launch_census_driver"
  for program in cudnn nccl thrust; do
    if [[ -x "$programs/launch_census_$program" ]]; then
      census_of "$program" "$programs/launch_census_$program"
    else
      verdict SKIP "${census_claim[$program]}: $program: not in this toolkit"
    fi
  done
  if [[ -x "$programs/launch_census_cublas" ]]; then
    census_of cublas "$programs/launch_census_cublas" gemm
    census_of cublaslt "$programs/launch_census_cublas" lt
  else
    verdict SKIP "3, 4: cuBLAS: not in this toolkit"
  fi
}

part_torch() {
  need_python '7, 8, 11, 57'
  need_file "$library"
  need_file "$census"
  census_timeout_s=30
  census_of torch python3 "$source_dir/tests/gpu/torch_host.py" --nccl
  # Both counts must come from kernels that are compiled already.
  timeout 30 python3 "$source_dir/tests/gpu/torch_host.py" --compile >compile.log 2>&1 || true
  census_of torch_compile python3 "$source_dir/tests/gpu/torch_host.py" --compile
}

# Why the hosts of library calls cannot run on the simulated libraries: one that is not there would be the real one.
no_simulation() {
  local host folder=$build_dir/simgpu/lib
  [[ -e "$folder/libcuda.so.1" ]] || printf 'the simulated libcuda.so.1 was not built; '
  for host in cublas cudnn; do
    [[ ! -x "$programs/library_calls_$host" ]] || LD_LIBRARY_PATH=$folder ldd "$programs/library_calls_$host" 2>&1 |
      awk -v folder="$folder/" -v host="$host" '
        $1 ~ /^lib(cudart|cublas|cublasLt|cudnn)[.]so/ && index($3, folder) != 1 {
          printf "library_calls_%s has another %s than the simulated one; ", host, $1 }' || true
  done
}

part_libraries() {
  need_python '37, 38, 39, 42, 43, 44, 46, 47'
  local scripts=$source_dir/tests/gpu name simulated
  need_file "$library"
  need_gpu '37, 38, 39, 42, 43, 44, 46, 47'
  for name in cudnn_descriptors nccl_launches; do
    if [[ -x "$programs/$name" ]]; then
      answers_of "$name" "${library_claims[$name]}" 20 # the first start of cuDNN, or of NCCL, loads all of it
    else
      verdict SKIP "${library_claims[$name]}: $name was not built: its library is not in this toolkit"
    fi
  done
  local why
  why=$(no_simulation)
  # Beside the real libraries: it needs no GPU.
  [[ -n "$why" ]] || LD_LIBRARY_PATH=$build_dir/simgpu/lib timeout 20 python3 "$scripts/library_calls.py" --library "$library" \
    --work simulated --rows simulated.json --timeout 15 --host cublas="$programs/library_calls_cublas" \
    --host cudnn="$programs/library_calls_cudnn" >simulated.txt 2>&1 &
  simulated=$!
  lines_of '' python3 "$scripts/library_calls.py" --library "$library" --work real --rows real.json \
    --launches nccl_launches.txt --timeout 20 --host cublas="$programs/library_calls_cublas" \
    --host cudnn="$programs/library_calls_cudnn" --host nccl="$programs/library_calls_nccl" \
    --host conv="$build_dir/examples/conv/conv" --host torch="$scripts/library_calls_torch.py"
  wait "$simulated" || true
  if [[ -x "$programs/kernel_words" && -e real.json ]]; then
    [[ -z "$why" ]] || verdict SKIP "39: nothing is set beside the real kernels: $why"
    lines_of '' python3 "$scripts/library_kernels.py" real.json simulated.json \
      --kernel-words "$programs/kernel_words" --table kernels.csv
  else
    verdict SKIP '39: no operations, or no kernel_words to read names with'
  fi
  lines_of '' python3 "$scripts/allreduce_ranks.py" --library "$library" --work "$PWD/ranks" --timeout 15 \
    --program "$build_dir/examples/allreduce/allreduce"
}

part_bias() {
  need_python '12, 13, 14, 16, 58'
  local bias=$programs/pair_bias
  need_file "$bias"
  local status=0
  within 20 "$bias" pairs.json 2>pair_bias.log || status=$?
  if cannot_run "$status" pair_bias.log; then
    verdict SKIP "$(tail -1 pair_bias.log)"
    return
  elif ((status != 0)); then
    verdict FAIL "12, 13, 14, 16, 58: pair_bias: $(ending "$status" 20): $(tail -1 pair_bias.log)"
    return
  fi
  local -a reference=()
  [[ ! -e "$census" ]] || within 17 env CUDA_INJECTION64_PATH="$census" CENSUS_OUT="$PWD/census.json" \
    "$bias" under_cupti.json 2>>pair_bias.log || status=$?
  if [[ "$status" == 0 && -e census.json ]]; then
    reference=(under_cupti.json census.json)
  elif was_ended "$status"; then
    verdict SKIP "no CUPTI reference: pair_bias $(ending "$status" 17 'under CUPTI')"
  else
    verdict SKIP "no CUPTI reference: $(tail -1 pair_bias.log)"
  fi
  if ! python3 "$source_dir/tests/gpu/pair_bias_report.py" pairs.json "${reference[@]}" -o bias.json \
      >table.txt 2>>pair_bias.log; then
    verdict FAIL "$(tail -1 pair_bias.log)"
    return
  fi
  cat table.txt
  local line
  # 14: a pair behind work is tight, one on an idle stream is not.
  if line=$(awk '$2 == "(none)" { next } $1 == "idle" { idle += $5; n_idle += $4 } $1 == "busy" { busy += $5; n_busy += $4 }
              END { printf "%d of %d busy pairs tight, %d of %d idle ones", busy, n_busy, idle, n_idle;
                    exit !(n_busy > 0 && busy >= 0.99 * n_busy && idle <= 0.05 * n_idle) }' table.txt); then
    verdict PASS "14: $line"
  else
    verdict FAIL "14: $line"
  fi
  while read -r line; do
    verdict FIGURE "$line"
  done < <(awk '$2 == "(none)" { print "12, 13, 16: " $1 " empty pair " $6 " us (p05 " $7 ", p95 " $8 ")" }
                $2 == "empty_kernel" { print "13: " $1 " pair around an empty kernel " $6 " us, minus CUPTI " $12 " us" }
                $2 == "spin" && ($3 == 1 || $3 == 10 || $3 == 1000) {
                  claims = ($1 == "large" || $1 == "beside") ? "12, 58: " : "12: "
                  print claims $1 " pair around " $3 " us: minus CUPTI " $12 " us, minus inner time " $11 \
                    " us, tight " $5 "/" $4 }' table.txt)
}

part_rate() {
  local rate=$programs/launch_rate
  need_file "$rate"
  need_file "$library"
  local -a command=("$rate" --iterations 1200 --launches 100)
  local -A words=() # by state
  # What rate_under_library is given; in the last one 100 events: done by half-time.
  local -A settings=([counting]='1000000000 50' [measuring]='5 100000' [detached]='5 1')
  local round state status
  # Interleaved, so that a drift of the clocks falls on all states alike.
  for round in 1 2 3; do
    status=0
    words[bare]=$(within 8 "${command[@]}" 2>>rate.log) || status=$?
    was_ended "$status" && skip_part "19, 20, 22, 28: bare: $(ending "$status" 8)"
    ((status == 0)) || skip_part "19, 20, 22, 28: $(tail -1 rate.log)"
    for state in counting measuring detached; do
      status=0
      words[$state]=$(rate_under_library "${settings[$state]}") || status=$?
      ((status == 0)) && continue
      verdict FAIL "19, 20, 22, 28: $state, round $round: $(ending "$status" 8 'under the injected library'): $(tail -1 rate.log)"
      ! was_ended "$status" || return 0 # the others would take the time of what comes after
      words[$state]=failed
    done
    words[cupti]=$(within 8 env CUDA_INJECTION64_PATH="$census" CENSUS_ACTIVITIES=0 CENSUS_OUT="$PWD/cupti.json" \
      "${command[@]}" 2>>rate.log) || words[cupti]=failed
    for state in bare counting measuring detached cupti; do
      printf '%d %s %s\n' "$round" "$state" "${words[$state]}" >>rates.txt
    done
    verdict FIGURE "19, 20, 22, 28: ns a launch (median p05 p95), round $round: bare ${words[bare]}; \
counting ${words[counting]}; measuring ${words[measuring]}; detached ${words[detached]}; \
CUPTI callback ${words[cupti]}"
  done
}

# rate_under_library 'WARMUP REPEAT': what launch_rate prints while the injected library is in that state.
rate_under_library() {
  within 8 env LD_PRELOAD="$library" INLINE_PROF_OUT="$PWD/rate.%p.json" INLINE_PROF_WARMUP="${1% *}" \
    INLINE_PROF_REPEAT="${1#* }" "${command[@]}" 2>>rate.log
}

# answers_of PROGRAM CLAIMS [SECONDS]: takes over the lines of a program that says PASS, FAIL and FIGURE itself;
# a line may begin with the claim that it is of.
answers_of() {
  local program=$1 claims=$2 status=0 word text
  need_file "$programs/$program"
  timeout --kill-after=1 "${3:-9}" "$programs/$program" >"$program.txt" 2>"$program.log" || status=$?
  while read -r word text; do
    [[ "$text" =~ ^[0-9,\ ]+: ]] || text="$claims: $text"
    verdict "$word" "$text"
  done <"$program.txt"
  case "$status" in
    0) ;;
    *)
      # Its own FAIL says more.
      if cannot_run "$status" "$program.log"; then
        verdict SKIP "$claims: $program: $(tail -1 "$program.log")"
      elif ((status != 1)) || ! grep -q '^FAIL' "$program.txt"; then
        verdict FAIL "$claims: $program: $(ending "$status" "${3:-9}") after '$(tail -1 "$program.txt")': \
$(tail -1 "$program.log")"
      fi
      ;;
  esac
}

# lines_of NUMBER COMMAND...: takes over the lines of a script that says PASS, FAIL, FIGURE and SKIP, each as
# it comes; NUMBER is empty where they have their own.
lines_of() {
  local number=$1 word text status=0 has_said_why=false
  shift
  while read -r word text || [[ -n "$word" ]]; do
    verdict "$word" "${number:+$number: }$text"
    [[ "$word" != FAIL ]] || has_said_why=true
  done < <("$@" 2>lines.log)
  wait "$!" || status=$?
  if ((status != 0 && status != 77)) && ! { ((status == 1)) && [[ "$has_said_why" == true ]]; }; then
    verdict FAIL "${number:+$number: }$(script_of "$@") ended with status $status: $(tail -1 lines.log)"
  fi
}

# script_of COMMAND...: a name for it.
script_of() {
  [[ "$1" != python3 ]] || shift
  printf '%s' "${1##*/}"
}

part_backends() {
  need_python '17, 27, 34, 35'
  need_file "$library"
  need_file "$census"
  need_file "$programs/paced_loop"
  lines_of '' python3 "$source_dir/tests/gpu/paced_loop.py" --library "$library" --census "$census" \
    --loop "$programs/paced_loop" --work "$PWD/paced" --timeout 10
  answers_of pdl_overlap 18
}

part_results() {
  local program=$programs/same_results
  need_file "$program"
  need_file "$library"
  lines_of 50 "$source_dir/tests/gpu/same_results.sh" "$program" "$library" compared
  local sanitizer status=0
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null ||
    true)
  if [[ -z "$sanitizer" ]]; then
    verdict SKIP '51: no compute-sanitizer here'
    return
  fi
  within 20 env LD_PRELOAD="$library" INLINE_PROF_OUT="$PWD/sanitized.json" INLINE_PROF_REPEAT=2 INLINE_PROF_WARMUP=3 \
    "$sanitizer" --tool memcheck --error-exitcode 99 "$program" >sanitizer.txt 2>&1 || status=$?
  if ((status == 0)); then
    verdict PASS "51: $(grep -m 1 'ERROR SUMMARY' sanitizer.txt || echo 'no error')"
  elif grep -q 'Internal Sanitizer Error' sanitizer.txt; then
    verdict SKIP "51: $(grep -m 1 'Internal Sanitizer Error' sanitizer.txt)"
  else
    verdict FAIL "51: $(ending "$status" 20 'under the injected library and compute-sanitizer'): $(grep -m 1 '=========' sanitizer.txt || tail -1 sanitizer.txt)"
  fi
}

part_overhead() {
  need_python '52'
  local loop=$programs/overhead_loop
  need_file "$loop"
  need_file "$library"
  lines_of 52 python3 "$source_dir/tests/gpu/overhead.py" --library "$library" --loop "$loop" \
    --torch "$source_dir/tests/gpu/overhead_torch.py" --seconds 20 --pairs 2
}

# Folders of the libraries that come with PyTorch, for programs that load them by name.
wheel_folders() {
  local name file
  for name in 'libcudnn.so.*' 'libnccl.so.*' 'libcublas.so.*'; do
    file=$(wheel_file "$name")
    [[ -z "$file" ]] || printf ':%s' "${file%/*}"
  done
}

part_measure() {
  local model=$build_dir/analyzer/cli/prof-model analyze=$build_dir/analyzer/cli/prof-analyze
  local status=0 machine budget_s=$((run_limit_s - measure_rest_s))
  ((budget_s > 10)) || budget_s=10
  need_file "$build_dir/analyzer/measure/prof-measure"
  # The toolkit's own come first.
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64$(wheel_folders)
  export LD_LIBRARY_PATH
  local again until=$((SECONDS + budget_s))
  "$model" measure -o measured/ --budget-s "$budget_s" >measure.txt 2>measure.log || status=$?
  # An algorithm that costs the process its GPU is left out, and the rest goes on.
  for again in 1 2 3; do
    if [[ "$status" != 1 || $((until - SECONDS)) -lt 10 ]] || ! grep -q '^stopped at' measure.log; then break; fi
    verdict FAIL "53: $(grep '^stopped at' measure.log | tail -1): $(tail -1 measure.log)"
    mv measure.log "measure_stopped$again.log"
    status=0
    "$model" measure -o measured/ --resume --budget-s $((until - SECONDS)) >>measure.txt 2>measure.log || status=$?
  done
  case "$status" in
    0 | 4) verdict FIGURE "53: in $budget_s s $(cat measured/*.csv | wc -l) rows in $(find measured -name '*.csv' | wc -l) tables, \
$(grep -E '^(fastest|empty|the time)' measure.log | tr '\n' ';')" ;;
    3) skip_part "53: $(tail -1 measure.log)" ;;
    *)  # What was measured before the GPU failed is kept.
      verdict FAIL "53: status $status: $(tail -1 measure.log)"
      [[ -e measured/gemm.csv ]] || return 0 ;;
  esac
  local line
  while read -r line; do
    verdict SKIP "53: ${line#skipped }"
  done < <(grep -E '^skipped .*(libc|no GPU|built without)' measure.log || true)
  # Of a GPU that the machine table does not know there are tables, and no fit.
  machine=$(grep -l "\"$(head -1 measure.log | cut -d , -f 1)\"" "$source_dir"/analyzer/model/machines/*.json |
    head -1 | xargs -r basename -s .json) || true # it names none
  if [[ -z "$machine" ]]; then
    verdict SKIP "54: no machine file names this GPU: $(head -1 measure.log)"
  else
    fit_of gemm "$machine" measured/gemm.csv --set a_type=bf16
    fit_of memory "$machine" measured/memory.csv
    fit_of conv "$machine" measured/conv.csv
  fi
  local profile=$results/demo/prof.json
  if [[ ! -e "$profile" ]]; then  # a fresh machine
    profile=$PWD/prof.json
    status=0
    within 20 env LD_PRELOAD="$library" INLINE_PROF_OUT="$profile" INLINE_PROF_REPEAT=20 \
      "$build_dir/examples/dlrm/dlrm" --iterations 3000 >profiled.txt 2>profiled.log || status=$?
    ! was_ended "$status" || verdict FAIL "32: the DLRM $(ending "$status" 20 'under the injected library'): $(tail -1 profiled.log)"
  fi
  if [[ ! -e "$profile" ]]; then
    verdict SKIP "55: no profile of the demo: $(tail -1 profiled.log)"
  elif "$model" measure --from "$profile" -o alone.csv --budget-s 20 >>measure.txt 2>alone.log &&
      "$analyze" "$profile" --isolated alone.csv -o isolated.txt 2>>alone.log; then
    verdict FIGURE "55: $(grep -c . alone.csv) lines of shapes alone; \
$(grep -cE '(none: as alone|contention|kernel choice|warmer|model)' isolated.txt || true) rows with a cause"
  else
    verdict FAIL "55: $(tail -1 alone.log)"
  fi
}

# fit_of MODEL MACHINE TABLE [OPTION...]
fit_of() {
  local model=$1 machine=$2 table=$3
  shift 3
  if [[ ! -e "$table" ]]; then
    verdict SKIP "54: $model: no $table"
  elif timeout 60 "$build_dir/analyzer/cli/prof-model" fit --model "$model" --machine "$machine" "$@" \
      "$table" -o "$model.json" --force 2>"fit_$model.log"; then
    verdict FIGURE "54: $model on $machine: $(grep -m 1 -i 'cross' "fit_$model.log" || tail -1 "fit_$model.log")"
  elif grep -q 'rows, but a fit of' "fit_$model.log"; then # the time was up before there were more
    verdict SKIP "54: $model: $(grep -m 1 'rows, but a fit of' "fit_$model.log")"
  else
    verdict FAIL "54: $model: $(tail -1 "fit_$model.log")"
  fi
}

part_graphs() {
  answers_of graph_node_times '26, 48, 49'
  answers_of graph_clone '23, 24, 25'
}

part_demo() {
  need_python '15, 21, 31, 32'
  local dlrm=$build_dir/examples/dlrm analyze=$build_dir/analyzer/cli/prof-analyze
  need_file "$dlrm/dlrm"
  need_file "$library"
  need_gpu '15, 21, 31, 32'
  local status=0
  within 12 "$dlrm/dlrm_plain" --iterations 2000 >plain.txt 2>plain.log || status=$?
  if cannot_run "$status" plain.log; then
    skip_part "15, 21, 31, 32: $(tail -1 plain.log)"
  elif ((status != 0)); then
    verdict FAIL "the example alone: $(ending "$status" 12): $(tail -1 plain.txt) $(tail -1 plain.log)"
    return
  fi
  verdict PASS "the example alone: $(tail -1 plain.txt)"
  within 14 env LD_PRELOAD="$library" INLINE_PROF_OUT="$PWD/prof.json" INLINE_PROF_REPEAT=20 \
    "$dlrm/dlrm" --iterations 4000 >profiled.txt 2>profiled.log || status=$?
  if ((status != 0)); then
    verdict FAIL "32: $(ending "$status" 14 'under the injected library'): $(tail -1 profiled.txt) $(tail -1 profiled.log)"
    return
  fi
  verdict PASS "32: under the injected library: $(tail -1 profiled.txt)"
  if [[ ! -e prof.json ]]; then
    verdict FAIL "no prof.json: $(tail -1 profiled.log)"
    return
  fi
  verdict FIGURE "15, 21: $(python3 - <<'PYTHON'
import json
profile = json.load(open("prof.json"))
samples = sum(len(event["measured_times_ms"]) for event in profile["events"])
overhead = profile["overhead"]
print(f"complete {profile['complete']}, {len(profile['events'])} events, {samples} samples, slowdown "
      f"{overhead.get('slowdown_percent')} % (95 %: {overhead.get('slowdown_percent_ci95')}), dropped "
      f"{profile['dropped']}, calibration {profile['calibration']}")
PYTHON
  )"
  need_file "$analyze"
  # A program that knows nothing of us: kernels are found by themselves.
  within 10 env LD_PRELOAD="$library" INLINE_PROF_OUT="$PWD/plain.prof.json" "$dlrm/dlrm_plain" --iterations 2000 \
    >plain_profiled.txt 2>plain_profiled.log || status=$?
  if ((status == 0)) &&
    "$analyze" plain.prof.json -o plain_report.txt 2>>plain_profiled.log; then
    verdict PASS "without macros: $(tail -1 plain_profiled.txt)"
  else
    verdict FAIL "without macros: $(ending "$status" 10 'under the injected library'): $(tail -1 plain_profiled.txt) $(tail -1 plain_profiled.log)"
  fi
  if "$analyze" prof.json -o report.txt 2>analyze.log &&
    "$analyze" prof.json --format json -o report.json 2>>analyze.log; then
    verdict PASS "31: report: $(head -1 report.txt)"
  else
    verdict FAIL "31: prof-analyze: $(tail -1 analyze.log)"
  fi
}

# example_report NAME COMMAND...: the command under the injected library, its report, and what that explains.
example_report() {
  local name=$1 status=0
  local analyze=$build_dir/analyzer/cli/prof-analyze
  shift
  INLINE_PROF_OUT=$PWD/$name.prof.json timeout --kill-after=2 45 "$build_dir/libinject/run/prof-run" "$@" \
    >"$name.txt" 2>"$name.log" || status=$?
  if cannot_run "$status" "$name.log"; then
    verdict SKIP "59, 60: $name: $(tail -1 "$name.log")"
  elif ((status != 0)); then
    verdict FAIL "$name: $(ending "$status" 45 'under the injected library'): $(tail -1 "$name.txt") $(tail -1 "$name.log")"
  elif [[ ! -e $name.prof.json ]]; then
    verdict FAIL "$name: no prof.json: $(tail -1 "$name.log")"
  elif "$analyze" "$name.prof.json" --format html -o "$name.html" 2>>"$name.log" &&
    "$analyze" "$name.prof.json" --format json -o "$name.report.json" 2>>"$name.log" &&
    "$analyze" "$name.prof.json" --event-bias chain --format json -o "$name.chain.json" 2>>"$name.log"; then
    lines_of '' python3 "$source_dir/tests/gpu/end_to_end.py" "$name" "$name.report.json" "$name.chain.json"
  else
    verdict FAIL "$name: prof-analyze: $(tail -1 "$name.log")"
  fi
}

part_training() {
  need_python '40, 41, 45'
  need_file "$library"
  need_file "$programs/training_loop"
  local -a dlrm=()
  [[ ! -x "$build_dir/examples/dlrm/dlrm_plain" ]] ||
    dlrm=(--dlrm "$build_dir/examples/dlrm/dlrm" --dlrm-plain "$build_dir/examples/dlrm/dlrm_plain")
  lines_of '' python3 "$source_dir/tests/gpu/training.py" --library "$library" --loop "$programs/training_loop" \
    --torch "$source_dir/tests/gpu/torch_training.py" "${dlrm[@]}" \
    --nvtx-tool "$programs/libgpu_nvtx_tool.so" --work "$PWD/training" --timeout 20
}

part_examples() {
  need_python '59, 60'
  need_file "$build_dir/libinject/run/prof-run"
  need_file "$build_dir/analyzer/cli/prof-analyze"
  need_gpu '59, 60'
  if [[ -x "$build_dir/examples/dlrm/dlrm" ]]; then
    example_report dlrm --repeat 20 -- "$build_dir/examples/dlrm/dlrm" --iterations 20000
  else
    verdict SKIP "59, 60: dlrm was not built"
  fi
  # Copies of graphs are made beside the program, however long that takes.
  if [[ -x "$build_dir/examples/graph/graph" ]]; then
    INLINE_PROF_EXIT_WHEN_DONE=1 example_report graph --repeat 20 -- \
      "$build_dir/examples/graph/graph" --iterations 150000
  else
    verdict SKIP "59, 60: graph was not built"
  fi
  # As long as its GPU needs for a step, the application has made the next one's data.
  if python3 "$source_dir/tests/gpu/torch_gpu.py" 2>torch.log; then
    example_report pytorch --torch --policy adaptive -- python3 "$source_dir/examples/pytorch/gpt.py" \
      --steps 1000 --batch 128 --width 1024 --heads 16
  else
    verdict SKIP "59, 60: pytorch: $(tail -1 torch.log)"
  fi
}

part_tests() {
  (cd "$source_dir" && cmake --build "$build_dir" --parallel && ctest --test-dir "$build_dir" \
    --parallel "$(nproc)" --timeout 60 --label-exclude '^gpu$') >tests.log 2>&1 || true
  local line
  line=$(grep -E 'tests passed' tests.log || true)
  if [[ "$line" == *" 0 tests failed"* ]]; then
    verdict PASS "$line"
  else
    verdict FAIL "${line:-the build: $(grep -m 1 -E 'error|Error' tests.log || tail -1 tests.log)}"
  fi
}

# Takes from a copy of the results what identifies a machine or a person.
scrub() {
  local host
  host=$(uname -n)
  local -a edits=(-e 's/GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/GPU-uuid/g'
    -e 's/((Serial Number|Board Part Number|GPU PDI|Chassis Serial Number|Module Id) *: ).*/\1-/'
    -e 's/("host_name": *)"[^"]*"/\1"host"/'
    -e "s|$results|results|g" -e "s|$build_dir|build|g" -e "s|$source_dir|.|g" -e "s|${HOME:-/nonexistent}/|~/|g")
  # A name of one or two letters would be cut out of ordinary words.
  ((${#host} < 3)) || edits+=(-e "s/$host/host/g")
  { find "$1" -type f -exec grep -lI . {} + || true; } | while IFS= read -r file; do # grep: all are empty
    sed -E -i "${edits[@]}" "$file" || exit 1
  done
}

# False, with the reason on stderr, where a disk is full.
pack() {
  local copy part
  copy=$(mktemp -d) && mkdir -p "$copy/gpu_results" || return
  for part in "${default_parts[@]}" tests; do
    if [[ -d "$results/$part" ]]; then cp -r "$results/$part" "$copy/gpu_results/" || break; fi
  done
  # Logs are what can grow; the figures cannot.
  find "$copy" -type f -size +4M -exec truncate --size=4M {} +
  if scrub "$copy/gpu_results" &&
    for part in "${default_parts[@]}" tests; do
      if [[ -f "$copy/gpu_results/$part/summary" ]]; then cat "$copy/gpu_results/$part/summary"; fi
    done >"$copy/gpu_results/summary.txt" &&
    cp "$copy/gpu_results/summary.txt" "$out/summary.txt" &&
    tar -C "$copy" -czf "$out/gpu_results.tar.gz" gpu_results; then
    rm -rf "$copy"
  else
    rm -rf "$copy"
    return 1
  fi
  local mib
  mib=$(du --block-size=1M "$out/gpu_results.tar.gz" | cut -f 1)
  printf '%s: %d MiB\n' "$out/gpu_results.tar.gz" "$mib"
  ((mib <= archive_limit_mib)) || printf 'gpu_check.sh: the archive is larger than %d MiB\n' \
    "$archive_limit_mib" >&2
}

can_write() {
  { mkdir -p "$1" && echo >"$1/.probe" && rm "$1/.probe"; } 2>/dev/null
}

# cannot_write WHAT FOLDER: the end, for want of a place for the results.
cannot_write() {
  printf 'gpu_check.sh: the %s cannot be written to %s: no permission, or the disk is full\n' "$1" "$2" >&2
  exit 3
}

# Ends what is left of the running part: an inner timeout has a process group of its own, which no signal to the
# outer one's group reaches, but all of a part is one session.
end_session() {
  local file words session pid round
  [[ -n "$part_session" ]] || return 0
  for round in 1 2 3; do # what is being started in the first is there in the second
    for file in /proc/[0-9]*/stat; do
      words=
      { IFS= read -rd '' words <"$file"; } 2>/dev/null || [[ -n "$words" ]] || continue # it has ended
      read -r _ _ _ session _ <<<"${words##*) }"
      pid=${file#/proc/}
      [[ "$session" != "$part_session" ]] || kill -KILL "${pid%/stat}" 2>/dev/null || true
    done
  done
  part_session=
}

not_written=4 # the status of a part whose lines did not all get into its summary
is_written=true
if [[ -n "$run_part" ]]; then
  { true >&9; } 2>/dev/null || exec 9>&2 # where lines go that cannot be written
  mkdir -p "$results/$run_part"
  cd "$results/$run_part"
  export PYTHONUNBUFFERED=1 # what a script said counts, also if the part's time is up before the script ends
  taken_out=$(foreign_settings | tr '\n' ' ')
  for name in $taken_out; do unset "$name"; done
  "part_$run_part"
  [[ "$is_written" == true ]] || exit "$not_written"
  exit 0
fi

out=${OUT:-gpu_results}
# Before ten minutes of work, not after them.
can_write "$results" || cannot_write results "$results"
can_write "$out" || cannot_write archive "$out"

parts=("${only[@]}")
((${#parts[@]} > 0)) || parts=("${default_parts[@]}")
has_failed=false
part_session=
trap end_session EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
for part in "${parts[@]}"; do
  if [[ "$resume" == true && -e "$results/$part/ended" ]]; then
    printf '\n== %s: done before\n' "$part"
    cat "$results/$part/summary" 2>/dev/null || true
    continue
  fi
  printf '\n== %s (%d s)\n' "$part" "$SECONDS"
  rm -rf "${results:?}/$part"
  mkdir -p "$results/$part" || cannot_write results "$results"
  status=0
  limit=$(part_limit_s "$part")
  setsid timeout --kill-after=5 "$limit" \
    "$source_dir/scripts/gpu_check.sh" --build-dir "$build_dir" --results "$results" --run-part "$part" \
    --run-limit "$limit" ${call:+--call "$call"} </dev/null 9>&2 >"$results/$part/output.txt" 2>&1 &
  part_session=$! # a job of a script leads no group, so that setsid does not fork
  wait "$part_session" || status=$?
  end_session
  last=
  if ((status == 124 || status == 137)); then
    # Where hosts run under the injected library, one that it keeps from ending looks like this.
    word=FAIL
    case "$part" in machine | build | measure | tests) word=SKIP ;; esac
    last=$(printf '%-6s %s: over its limit of %d s; what it had not said by then is open' "$word" "$part" "$limit")
    [[ "$word" == SKIP ]] || has_failed=true
  elif ((status == not_written)); then
    last=$(printf '%-6s %s: what it said could not be written' SKIP "$part")
    is_written=false
  elif ((status != 0)); then
    last=$(printf '%-6s %s: ended with status %d: %s' FAIL "$part" "$status" \
      "$(tail -1 "$results/$part/output.txt")")
    has_failed=true
  fi
  cat "$results/$part/summary" 2>/dev/null || [[ -n "$last" ]] || printf 'nothing said\n'
  if [[ -n "$last" ]]; then
    printf '%s\n' "$last"
    printf '%s\n' "$last" >>"$results/$part/summary" || is_written=false
  else
    touch "$results/$part/ended"
  fi
  echo >"$results/.probe" || is_written=false
done
rm -f "$results/.probe"
printf '\n'
pack || cannot_write archive "$out"
[[ "$is_written" == true ]] || cannot_write results "$results"
[[ "$has_failed" == false ]] && ! grep -hq '^FAIL' "$results"/*/summary
