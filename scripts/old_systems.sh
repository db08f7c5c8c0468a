#!/usr/bin/env bash
# Runs tests/wheel in an old Debian: the wheels that scripts/make_wheel.sh has made, on a glibc that is older
# than the one here, and those for aarch64 under qemu.  By hand, as root; nothing calls it.
#
#   scripts/old_systems.sh [--architecture x86_64|aarch64]... [--suite NAME] [--wheels FOLDER]
#
#   --architecture A   instead of both
#   --suite NAME       of Debian: bullseye (glibc 2.31) by default, the oldest that is still on its mirrors
#   --wheels FOLDER    build/wheel by default
#
# What is older than that, down to glibc 2.17, rests on the symbol versions that auditwheel looks at.
# Needs debootstrap and, for aarch64, qemu-user-static.  The systems stay in build/old_systems.
#
# Exit status: 0 all passed, 1 something failed, 2 the command line is wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

architectures=()
suite=bullseye
wheels=build/wheel
while (($# > 0)); do
  case "$1" in
    --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --architecture | --suite | --wheels)
      (($# > 1)) || { printf 'old_systems.sh: %s: expected a value\n' "$1" >&2; exit 2; }
      case "$1" in
        --architecture) architectures+=("$2") ;;
        --suite) suite=$2 ;;
        --wheels) wheels=$2 ;;
      esac
      shift
      ;;
    *) printf 'old_systems.sh: %s: unknown option\n' "$1" >&2; exit 2 ;;
  esac
  shift
done
((${#architectures[@]} > 0)) || architectures=(x86_64 aarch64)

# Unpacks a Debian, and sets nothing up: programs run without that.
unpack() {
  local root=$1 debian=$2 package
  [[ ! -e $root/complete ]] || return 0
  rm -rf "$root"
  debootstrap --foreign --variant=minbase --arch="$debian" --include=python3,python3-venv "$suite" "$root" >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; return 1; }
  for package in "$root"/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory "$root"
  done
  # In a container debootstrap leaves a link there, to itself.
  [[ ! -L $root/proc ]] || rm "$root/proc"
  mkdir -p "$root/proc"
  touch "$root/complete"
}

# The kernel then starts programs of that machine under qemu, in every root.
emulate() {
  local programs=/proc/sys/fs/binfmt_misc
  [[ -e $programs/register ]] || mount -t binfmt_misc none "$programs"
  [[ -e $programs/qemu-$1 ]] || cat "/usr/lib/binfmt.d/qemu-$1.conf" >"$programs/register"
}

run() {
  local architecture=$1 debian=amd64 root
  [[ $architecture == x86_64 ]] || debian=arm64
  root=$PWD/build/old_systems/$suite-$debian
  mkdir -p "$root"
  unpack "$root" "$debian"
  [[ $architecture == "$(uname -m)" ]] || emulate "$architecture"
  rm -rf "$root/srv"
  mkdir -p "$root/srv/tests/python"
  cp "$wheels"/inline_prof-*_"$architecture".whl "$wheels"/inline_prof_simgpu-*_"$architecture".whl "$root/srv"
  cp -r tests/wheel "$root/srv/tests"
  cp -r tests/python/hosts "$root/srv/tests/python"
  cp -r python "$root/srv"
  printf '== %s, %s\n' "$suite" "$architecture"
  # Name spaces of its own: what is mounted there ends with them.
  # shellcheck disable=SC2016  # the inner shell is to see them
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    cd "$1/srv"
    wheels=(inline_prof-*.whl inline_prof_simgpu-*.whl)
    exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 \
      /usr/bin/python3 /srv/tests/wheel/installed_wheel_test.py "${wheels[@]/#//srv/}"' bash "$root"
}

failed=0
for architecture in "${architectures[@]}"; do
  run "$architecture" || failed=1
done
exit "$failed"
