#!/usr/bin/env bash
# The one list of Debian packages, by purpose, and the function that installs what is missing.
#
#   scripts/dependencies.sh build test     installs (as root), or says which line to run
#   . scripts/dependencies.sh              gives require_packages, has_cuda_toolkit and get_cudnn_frontend to
#                                          another script
#
# Works on Debian 12 and on Ubuntu 24.04.  On other systems it names what is needed and goes on:
# CMake then says which library it misses.

# required_packages PURPOSE: one a line.
required_packages() {
  case "$1" in
    build) # without these nothing configures
      printf '%s\n' build-essential cmake ninja-build git \
        libfmt-dev nlohmann-json3-dev libcli11-dev libsimdjson-dev libeigen3-dev zlib1g-dev ;;
    test) # tests/bench is built, not timed; the Python tests check files against the schemas
      printf '%s\n' libgtest-dev libgmock-dev libbenchmark-dev python3 python3-jsonschema ;;
    demo) printf '%s\n' python3 ;;
    style) printf '%s\n' clang-format clang-tidy ;;
    *)
      printf 'dependencies.sh: unknown purpose "%s": build, test, demo or style\n' "$1" >&2
      return 2
      ;;
  esac
}

# optional_packages PURPOSE: root gets them, nobody is asked for them.
optional_packages() {
  case "$1" in
    build) printf '%s\n' ccache node-d3 ;; # saves time; draws the charts of html reports
    test) # aarch64's trampoline, the fuzz targets, the html report, PyTorch's environment, metrics, Spark: skipped without them
      printf '%s\n' g++-aarch64-linux-gnu qemu-user clang libclang-rt-dev chromium \
        python3-venv prometheus prometheus-node-exporter openjdk-17-jre-headless ;;
    style) printf 'shellcheck\n' ;;
  esac
}

# Looks where CMake will, in the same order.
has_cuda_toolkit() {
  local folder
  command -v nvcc >/dev/null && return 0
  [[ -x "${CUDACXX:-}" ]] && return 0
  for folder in "${CUDAToolkit_ROOT:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
    [[ -x "$folder/bin/nvcc" ]] && return 0
  done
  return 1
}

package_is_installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$1" 2>/dev/null)" == ii* ]]
}

# Prints those of its arguments that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    package_is_installed "$package" || printf '%s\n' "$package"
  done
}

# Installs its arguments.  The package lists are fetched only where apt does not know a name, or
# where they turn out to be too old to download from.  What apt says goes to stderr: stdout is for what
# the calling script was asked for.
install_packages() {
  local -a install=(env DEBIAN_FRONTEND=noninteractive
    apt-get install --yes --no-install-recommends "$@")
  local package
  for package in "$@"; do
    if ! apt-cache show "$package" >/dev/null 2>&1; then
      apt-get update >&2
      break
    fi
  done
  "${install[@]}" </dev/null >&2 && return 0
  apt-get update >&2 && "${install[@]}" </dev/null >&2
}

# require_packages PURPOSE...: returns 0 once every required package of these purposes is there.
require_packages() {
  local purpose list
  local -a wanted=() optional=() missing missing_optional
  for purpose in "$@"; do
    list=$(required_packages "$purpose") || return 2
    mapfile -t -O "${#wanted[@]}" wanted <<<"$list"
    mapfile -t -O "${#optional[@]}" optional < <(optional_packages "$purpose")
  done

  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    printf 'dependencies.sh: not a Debian system; needed here are (Debian names): %s\n' \
      "${wanted[*]}" >&2
    return 0
  fi

  mapfile -t missing < <(missing_packages "${wanted[@]}")
  mapfile -t missing_optional < <(missing_packages "${optional[@]}")
  if (($(id -u) != 0)); then
    ((${#missing[@]} == 0)) && return 0
    printf 'dependencies.sh: packages are missing; as root: sudo apt-get install %s\n' \
      "${missing[*]}" >&2
    return 1
  fi
  if ((${#missing[@]} > 0)); then
    install_packages "${missing[@]}" || return 1
  fi
  if ((${#missing_optional[@]} > 0)); then
    install_packages "${missing_optional[@]}" ||
      printf 'dependencies.sh: going on without: %s\n' "${missing_optional[*]}" >&2
  fi
}

# get_cudnn_frontend FOLDER: puts the headers of scripts/cudnn_frontend_requirements.txt into FOLDER/include, and
# their licence into FOLDER/share/doc.  One wheel serves every machine, since they hold no compiled code.
get_cudnn_frontend() {
  local requirements work status=0
  requirements=$(dirname "${BASH_SOURCE[0]}")/cudnn_frontend_requirements.txt
  [[ ! -e "$1/include/cudnn_frontend.h" ]] || return 0
  work=$(mktemp -d)
  { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
      --python-version 3.11 --platform manylinux_2_28_x86_64 --dest "$work" --requirement "$requirements" &&
    python3 -m zipfile -e "$work"/nvidia_cudnn_frontend-*.whl "$work/wheel" &&
    mkdir -p "$1/share/doc/nvidia-cudnn-frontend" && cp -r "$work/wheel/include" "$1/" &&
    cp -r "$work"/wheel/nvidia_cudnn_frontend-*.dist-info/licenses/. "$1/share/doc/nvidia-cudnn-frontend/"; } >&2 || status=1
  rm -rf "$work"
  return "$status"
}

# Run, not sourced.
if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then
  set -euo pipefail
  if (($# == 0)) || [[ "$1" == --help ]]; then
    printf 'usage: scripts/dependencies.sh PURPOSE...   with PURPOSE build, test, demo or style\n'
    exit $(($# == 0 ? 2 : 0))
  fi
  require_packages "$@"
fi
