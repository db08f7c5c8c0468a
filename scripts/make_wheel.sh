#!/usr/bin/env bash
# Builds the wheels of the tools and of the simulated GPU, and checks them.
#
#   scripts/make_wheel.sh [--architecture x86_64|aarch64]... [--output FOLDER]
#
#   --architecture A   for this machine instead of x86_64; may be repeated
#   --output FOLDER    where the wheels go: build/wheel by default
#
# Runs on x86-64, with the packages of `scripts/dependencies.sh build`, a CUDA toolkit for its headers, and
# PyPI: zig, a compiler with every glibc since 2.17, and the source of simdjson come from there, pinned by
# their hashes (scripts/wheel_requirements.txt).  Nothing that Debian has compiled gets into a wheel.
#
# Exit status: 0 built and checked, 1 something failed, 2 the command line is wrong, 3 PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

most_mib=12  # of the tools' wheel

architectures=()
output=build/wheel
while (($# > 0)); do
  case "$1" in
    --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --architecture | --output)
      (($# > 1)) || { printf 'make_wheel.sh: %s: expected a value\n' "$1" >&2; exit 2; }
      if [[ $1 == --output ]]; then output=$2; else architectures+=("$2"); fi
      shift
      ;;
    *) printf 'make_wheel.sh: %s: unknown option\n' "$1" >&2; exit 2 ;;
  esac
  shift
done
((${#architectures[@]} > 0)) || architectures=(x86_64)
for architecture in "${architectures[@]}"; do
  [[ $architecture =~ ^(x86_64|aarch64)$ ]] ||
    { printf 'make_wheel.sh: %s: expected x86_64 or aarch64\n' "$architecture" >&2; exit 2; }
done

work=$PWD/build/wheel
mkdir -p "$work" "$output"

# --- tools and sources, once

# from_pypi install|download ARGUMENTS...
from_pypi() {
  local said
  said=$("$tools/bin/pip" "$1" --quiet --disable-pip-version-check --no-deps --require-hashes "${@:2}" 2>&1) && return
  printf 'make_wheel.sh: %s\n' "$said" >&2
  # pip says this if no index has the requested version.
  [[ $said == *'from versions: none'* ]] && exit 3
  exit 1
}

tools=$work/tools
if ! cmp --silent scripts/wheel_requirements.txt "$tools/complete"; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  from_pypi install --only-binary :all: --requirement scripts/wheel_requirements.txt
  cp scripts/wheel_requirements.txt "$tools/complete"
fi
zig_folder=$("$tools/bin/python" -c 'import ziglang, os; print(os.path.dirname(ziglang.__file__))')

sources=$work/sources
if ! cmp --silent scripts/wheel_sources.txt "$sources/complete"; then
  rm -rf "$sources"
  mkdir -p "$sources"
  from_pypi download --no-binary pysimdjson,zlib-ng --requirement scripts/wheel_sources.txt --dest "$sources"
  tar --extract --gzip --strip-components=1 --directory "$sources" --file "$sources"/pysimdjson-*.tar.gz \
    --wildcards '*/simdjson/simdjson.h' '*/simdjson/simdjson.cpp'
  tar --extract --gzip --strip-components=3 --directory "$sources" --file "$sources"/zlib_ng-*.tar.gz \
    --wildcards '*/src/zlib_ng/zlib-ng/*'
  # Headers alone, which are sources wherever they come from.  By themselves: beside them lies the machine's glibc.
  ln -s /usr/include/eigen3/Eigen /usr/include/fmt /usr/include/nlohmann /usr/include/CLI "$sources"
  cp scripts/wheel_sources.txt "$sources/complete"
fi

licenses=$work/licenses
rm -rf "$licenses"
mkdir "$licenses"
cp LICENSE "$licenses/LICENSE"
for package in libeigen3-dev:Eigen libfmt-dev:fmt nlohmann-json3-dev:nlohmann_json libcli11-dev:CLI11 node-d3:D3; do
  cp "/usr/share/doc/${package%:*}/copyright" "$licenses/${package#*:}" ||
    [[ $package == node-d3:* ]]  # without it reports have no charts, and nothing of it is in the wheel
done
cp LICENSE "$licenses/simdjson"  # the same, Apache-2.0
cp "$sources/zlib-ng/LICENSE.md" "$licenses/zlib-ng"
cp "$zig_folder/lib/libcxx/LICENSE.TXT" "$licenses/libcxx_libcxxabi_libunwind"
cp "$zig_folder/LICENSE" "$licenses/zig_compiler_rt"

# --- one architecture

export ZIG_LOCAL_CACHE_DIR=$work/zig_cache
launcher=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# tool_of ARCHITECTURE NAME: the program of binutils that knows its files.
tool_of() {
  if [[ $1 == "$(uname -m)" ]]; then command -v "$2"; else command -v "$1-linux-gnu-$2"; fi ||
    { printf 'make_wheel.sh: no %s for %s: expected binutils-%s-linux-gnu\n' "$2" "$1" "${1//_/-}" >&2; return 1; }
}

# zig would keep frame pointers, which a wrapper has no room for, and call bcmp, which ISO C leaves to
# the application.
flags='-O2 -DNDEBUG -w -fomit-frame-pointer -fno-builtin-bcmp'

build() {
  local architecture=$1 folder=$work/$1 name
  # The compilers are scripts that are new in every clone, and the same but for their target.
  CCACHE_COMPILERCHECK="string:$architecture $(tr '\n' ' ' <scripts/wheel_requirements.txt)"
  export CCACHE_COMPILERCHECK
  mkdir -p "$folder/compiler"
  for name in clang:cc clang++:c++ ar:ar ranlib:ranlib; do
    {
      printf '#!/bin/sh\nexec "%s/zig" %s' "$zig_folder" "${name#*:}"
      # Without -O zig would compile its libraries once more, for debugging.
      [[ $name != clang* ]] || printf ' -target %s-linux-gnu.2.17 -O2' "$architecture"
      printf ' "$@"\n'
    } >"$folder/compiler/${name%:*}.new"
    chmod +x "$folder/compiler/${name%:*}.new"
    mv "$folder/compiler/${name%:*}.new" "$folder/compiler/${name%:*}"
  done
  cmake -G Ninja -S . -B "$folder/build" "${launcher[@]}" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$architecture" \
    -DCMAKE_C_COMPILER="$folder/compiler/clang" -DCMAKE_CXX_COMPILER="$folder/compiler/clang++" \
    -DCMAKE_AR="$folder/compiler/ar" -DCMAKE_RANLIB="$folder/compiler/ranlib" \
    -DCMAKE_STRIP="$(tool_of "$architecture" strip)" -DCMAKE_NM="$(command -v nm)" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$flags" -DCMAKE_CXX_FLAGS_RELEASE="$flags" \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DCMAKE_INSTALL_LIBDIR=lib \
    -DINLINE_PROF_NVCC=OFF -DINLINE_PROF_TESTS=OFF -DINLINE_PROF_BENCH=OFF \
    -DINLINE_PROF_LIBRARY_SOURCES="$sources" >"$folder/configure.log" 2>&1 ||
    { cat "$folder/configure.log" >&2; return 1; }
  cmake --build "$folder/build" --parallel "$(nproc)"
  rm -rf "$folder/installed"
  cmake --install "$folder/build" --strip --prefix "$folder/installed" >/dev/null
}

# Checks the rules for every library that is loaded into programs (tests/inject/link_rules).
check_library() {
  local architecture=$1 folder=$work/$1/build
  ninja -C "$folder" -t query libinject/libinline_prof.so | sed -n 's|^ *\([^ ]*\.o\)$|'"$folder"'/\1|p' >"$folder/objects.txt"
  find "$folder/schedule" -name '*.o' >>"$folder/objects.txt"
  # Without the debug information of zig's libraries, but with names, by which the rules go.
  "$(tool_of "$architecture" strip)" --strip-debug -o "$folder/libinline_prof.so" "$folder/libinject/libinline_prof.so"
  python3 tests/inject/link_rules/link_rules.py --optimised --without-stack \
    --readelf "$(command -v readelf)" --objdump "$(tool_of "$architecture" objdump)" \
    --library "$folder/libinline_prof.so" --sources libinject --objects "$folder/objects.txt"
}

check_wheel() {
  local wheel=$1 architecture=$2 said
  said=$("$tools/bin/auditwheel" show "$wheel") || { printf '%s\n' "$said" >&2; return 1; }
  grep --quiet "consistent with.*\"manylinux_2_17_$architecture\"\|platform tag: \"manylinux_2_\([0-9]\|1[0-7]\)_$architecture\"" \
    <<<"$(tr '\n' ' ' <<<"$said")" || { printf '%s: %s\n' "$wheel" "$said" >&2; return 1; }
}

for architecture in "${architectures[@]}"; do
  build "$architecture"
  check_library "$architecture"
  mapfile -t wheels < <("$tools/bin/python" scripts/pack_wheel.py "$work/$architecture/installed" "$licenses" \
    "$architecture" "$output")
  for wheel in "${wheels[@]}"; do
    check_wheel "$wheel" "$architecture"
    printf '%s: %s KiB\n' "$wheel" "$(($(stat --format %s "$wheel") / 1024))"
  done
  if (($(stat --format %s "${wheels[0]}") > most_mib << 20)); then
    printf '%s: more than %s MiB\n' "${wheels[0]}" "$most_mib" >&2
    exit 1
  fi
  # Others run by hand: scripts/old_systems.sh.
  [[ $architecture != "$(uname -m)" ]] ||
    env -i HOME="$HOME" PATH=/usr/bin:/bin /usr/bin/python3 tests/wheel/installed_wheel_test.py "${wheels[@]}"
done
