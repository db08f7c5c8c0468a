#!/usr/bin/env bash
# Collects the third-party libraries for a build on a machine that can reach no package mirror.
#
#   scripts/offline_deps.sh [--help]
#
# Run here, on a Debian or Ubuntu machine of the same architecture with a network; take the folder
# third_party_offline/ along (git ignores it) and configure there with
#
#   cmake --preset gpu -D CMAKE_PREFIX_PATH=$PWD/third_party_offline/usr
#
# as scripts/gpu_check.sh does.  The folder holds the unpacked packages, licences included, and the headers of
# cuDNN's front end: headers, CMake files, static libraries, and the two shared ones that the packages' CMake files insist on;
# CMake gives programs of the build tree the run path to those.  Nothing of glibc or of the compiler
# is taken: a library built for an older glibc runs on a newer one, not the other way round.
#
# Exit status: 0 done, 1 a package could not be had or the folder came out too large.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=third_party_offline
size_limit_mib=40  # what can be carried along with a checkout

if (($# > 0)); then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
  [[ "$1" == --help ]] && exit 0
  exit 2
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
  printf 'offline_deps.sh: needs apt-get and dpkg-deb\n' >&2
  exit 1
}

# A -dev package of a shared library points at a package whose name holds its version.
runtime_of() {
  apt-cache depends --important "$1" | sed -n 's/^ *Depends: \(lib[a-z]*[0-9].*\)$/\1/p' |
    grep -vE '^(libc6|libstdc|libgcc)' || true
}

packages=(libfmt-dev nlohmann-json3-dev libcli11-dev libsimdjson-dev libeigen3-dev zlib1g-dev
  libgtest-dev libgmock-dev libbenchmark-dev)
for package in libfmt-dev libsimdjson-dev libbenchmark-dev; do
  mapfile -t -O "${#packages[@]}" packages < <(runtime_of "$package")
done

download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
# apt drops its rights while it downloads, and then needs to write here.
chmod 755 "$download"
! id _apt >/dev/null 2>&1 || ((EUID != 0)) || chown _apt "$download"
(cd "$download" && apt-get download "${packages[@]}")

rm -rf "$folder"
mkdir "$folder"
for file in "$download"/*.deb; do
  dpkg-deb --extract "$file" "$folder"
done
# Manuals and examples are of no use there; the licences in usr/share/doc/*/copyright stay.
find "$folder/usr/share/doc" -type f ! -name copyright -delete
rm -rf "$folder"/usr/share/{man,lintian,gdb} "$folder/usr/src"
find "$folder" -type d -empty -delete
. scripts/dependencies.sh
get_cudnn_frontend "$folder/usr"
(cd "$download" && printf '%s\n' ./*.deb | sed 's|^\./||') >"$folder/PACKAGES"

size_mib=$(du --summarize --block-size=1M "$folder" | cut -f 1)
printf '%s: %d packages, %d MiB\n' "$folder" "$(wc -l <"$folder/PACKAGES")" "$size_mib"
if ((size_mib >= size_limit_mib)); then
  printf 'offline_deps.sh: more than %d MiB\n' "$size_limit_mib" >&2
  exit 1
fi
