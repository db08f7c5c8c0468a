#!/usr/bin/env bash
# Runs PyTorch 2, Triton and their libraries, unmodified, on the simulated GPU: bare, under the injected library, with
# --torch, and with every launch counted (docs/compatibility.md).
#
#   scripts/real_programs.sh [--torch VERSION] [--short] [--build DIR] [--frameworks] [PROGRAM]...
#   scripts/real_programs.sh [--torch VERSION] --environment
#
#   --torch VERSION  this PyTorch, 2.11 by default: there is a tests/real_programs/requirements_torch_VERSION.txt for each
#   --short          few programs and few steps, as scripts/test.sh does
#   --build DIR      where the build is; build/dev by default, configured if it is not
#   --frameworks     the programs of Megatron-core, TorchTitan, TorchRec, JAX and others alone, which are in no other run
#   PROGRAM          names, as the run prints them; all without
#   --environment    only makes the Python environment and prints its interpreter; nothing where it cannot be made
#
# Makes once, in build/real_programs, a Python environment of about 2 GB for each version, with the packages of
# tests/real_programs/requirements.txt and of the version's list, without the vendor's libraries, and but for --short a folder of
# 0.5 GB with those of requirements_cuda12.txt (CuPy), or of 4 GB with those of requirements_frameworks.txt. Without a network, or
# without CPython 3.11 on x86-64, it says SKIP and succeeds.
#
# Exit status: 0 all passed or skipped, 1 something failed, 2 the command line is wrong.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

short=()
build=build/dev
torch=2.11
with_frameworks=false
only_environment=false
programs=()
while (($# > 0)); do
  case "$1" in
    --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --short) short=(--short) ;;
    --frameworks) with_frameworks=true ;;
    --environment) only_environment=true ;;
    --build) [[ $# -gt 1 ]] || { printf 'real_programs.sh: --build: expected a folder\n' >&2; exit 2; }; build=$2; shift ;;
    --torch) [[ $# -gt 1 ]] || { printf 'real_programs.sh: --torch: expected a version\n' >&2; exit 2; }; torch=$2; shift ;;
    -*) printf 'real_programs.sh: %s: unknown option\n' "$1" >&2; exit 2 ;;
    *) programs+=("$1") ;;
  esac
  shift
done

lists=(tests/real_programs/requirements.txt "tests/real_programs/requirements_torch_$torch.txt")
if [[ ! -e ${lists[1]} ]]; then
  printf 'real_programs.sh: --torch %s: there is no %s\n' "$torch" "${lists[1]}" >&2
  exit 2
fi
environment=build/real_programs/$(cat "${lists[@]}" | sha256sum | cut -c1-16)
requirements_cuda12=tests/real_programs/requirements_cuda12.txt
cuda12=build/real_programs/cuda12.$(sha256sum "$requirements_cuda12" | cut -c1-16)
python=/usr/bin/python3

skip() {
  if $only_environment; then exec >&2; fi
  printf 'SKIP  real programs: %s\n' "$1"
  exit 0
}

[[ $(uname -m) == x86_64 ]] || skip "$(uname -m): expected x86_64"
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2> /dev/null || skip "$python: expected CPython 3.11"
command -v nvcc > /dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || skip "no CUDA toolkit"

# install FOLDER OPTION...: the last option is the list of packages.
install() {
  local folder=$1
  # --no-deps: the vendor's libraries would be 2 GB, and would be loaded instead of the simulated ones.
  if ! "$environment/bin/pip" install --quiet --no-deps --require-hashes --retries 1 --timeout 20 "${@:2}" \
    2> "$folder/pip.log"; then
    if grep -qiE 'hash|mismatch' "$folder/pip.log"; then
      cat "$folder/pip.log" >&2
      exit 1
    fi
    skip "no network: $(tail -n 1 "$folder/pip.log")"
  fi
  touch "$folder/complete"
}

if [[ ! -e $environment/complete ]]; then
  rm -rf "$environment"
  "$python" -m venv "$environment" || skip "$python -m venv failed"
  install "$environment" "${lists[@]/#/--requirement=}"
fi

if $only_environment; then
  printf '%s\n' "$PWD/$environment/bin/python"
  exit 0
fi

packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
more_packages=()
if $with_frameworks; then
  list=tests/real_programs/requirements_frameworks.txt
  frameworks=build/real_programs/frameworks.$(sha256sum "$list" | cut -c1-16)
  if [[ ! -e $frameworks/complete ]]; then
    rm -rf "$frameworks"
    mkdir -p "$frameworks"
    install "$frameworks" --target "$frameworks" -r "$list"
  fi
  packages+=";$PWD/$frameworks"
  more_packages=(--frameworks "$PWD/$frameworks")
elif ((${#short[@]} == 0)); then
  if [[ ! -e $cuda12/complete ]]; then
    rm -rf "$cuda12"
    mkdir -p "$cuda12"
    install "$cuda12" --target "$cuda12" -r "$requirements_cuda12"
  fi
  packages+=";$PWD/$cuda12"
  more_packages=(--cuda12 "$PWD/$cuda12")
fi
[[ -e $build/CMakeCache.txt ]] || cmake --preset dev -B "$build" > /dev/null
# The simulated libraries then have an entry for each function that the packages ask for.
cmake "$build" -DSIMGPU_PROGRAMS="$packages" > /dev/null
cmake --build "$build" --target simgpu inline_prof_inject prof_run prof_analyze > "$build/real_programs.log" 2>&1 ||
  { tail -n 30 "$build/real_programs.log" >&2; exit 1; }

exec python3 tests/real_programs/run.py --python "$PWD/$environment/bin/python" \
  --simulated-gpu "$PWD/$build/simgpu/lib" --prof-run "$PWD/$build/libinject/run/prof-run" \
  --prof-analyze "$PWD/$build/analyzer/cli/prof-analyze" \
  --cache "$PWD/build/real_programs/cache" "${more_packages[@]}" "${short[@]}" "${programs[@]}"
