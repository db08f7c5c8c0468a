#!/usr/bin/env bash
# Checks the formatting, and looks for the bugs that clang-tidy knows.
#
#   scripts/check_style.sh [--format-only] [--build-dir DIR] [--tidy-base REV] [--tidy-seconds N]
#
# clang-format looks at every tracked C, C++ and CUDA file, shellcheck (where installed) at every
# script.  clang-tidy looks at the .cpp files that DIR/compile_commands.json knows (default
# build/dev): those changed since REV, or, without --tidy-base, all of them, last changed first,
# until N seconds are over (default 60; 0 = no limit).  What was left out is counted and said.  A build
# that compiles sources together (CMAKE_UNITY_BUILD) knows none of them: scripts/test.sh configures
# build/tidy for this.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source_dir=$PWD

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

wrong_command_line() {
  printf 'check_style.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

format_only=false
build_dir=build/dev
tidy_base=
tidy_seconds=60
while (($# > 0)); do
  case "$1" in
    --help) usage; exit 0 ;;
    --format-only) format_only=true; shift ;;
    --build-dir | --tidy-base | --tidy-seconds)
      (($# > 1)) || wrong_command_line "$1 needs a value"
      case "$1" in
        --build-dir) build_dir=$2 ;;
        --tidy-base) tidy_base=$2 ;;
        --tidy-seconds) tidy_seconds=$2 ;;
      esac
      shift 2
      ;;
    *) wrong_command_line "unknown option $1" ;;
  esac
done
[[ "$tidy_seconds" =~ ^[0-9]+$ ]] || wrong_command_line "--tidy-seconds $tidy_seconds is not a number"

if ! git rev-parse --is-inside-work-tree >/dev/null; then
  printf 'check_style.sh: git does not know this folder, so nothing says which files are ours: skipped\n'
  exit 0
fi

# Tracked files that still exist: one deleted but not yet committed is not ours to check.
tracked() {
  git ls-files -z -- "$@" | while IFS= read -r -d '' file; do
    if [[ -f "$file" ]]; then printf '%s\0' "$file"; fi
  done
}

failed=0

check_format() {
  local tool=clang-format-14 files=()
  command -v "$tool" >/dev/null || tool=clang-format
  mapfile -d '' -t files < <(tracked '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' '*.cuh' '*.inc')
  if ((${#files[@]} == 0)); then
    printf 'clang-format: no files\n'
    return
  fi
  if "$tool" --dry-run --Werror "${files[@]}"; then
    printf 'clang-format: %d files checked\n' "${#files[@]}"
    return
  fi
  # Versions break lines differently; the files follow 14, so another one can only advise.
  if [[ "$("$tool" --version)" == *"version 14."* ]]; then
    printf 'clang-format: FAILED, %d files checked\n' "${#files[@]}"
    failed=1
  else
    printf 'clang-format: differences, but this is %s and the files follow 14: not counted\n' \
      "$("$tool" --version)"
  fi
}

check_scripts() {
  local files=()
  mapfile -d '' -t files < <(tracked '*.sh' .ci/run)
  if ((${#files[@]} == 0)); then
    printf 'shellcheck: no files\n'
  elif ! command -v shellcheck >/dev/null; then
    printf 'shellcheck: not installed, %d scripts skipped\n' "${#files[@]}"
  elif shellcheck --external-sources --severity=warning "${files[@]}"; then
    printf 'shellcheck: %d scripts checked\n' "${#files[@]}"
  else
    printf 'shellcheck: FAILED, %d scripts checked\n' "${#files[@]}"
    failed=1
  fi
}

# Tracked .cpp files, last changed first: what is not committed, then by the date of the commit.
newest_first() {
  { git diff --name-only HEAD -- '*.cpp'
    git log --name-only --diff-filter=AMR --format= -- '*.cpp'
    git ls-files -- '*.cpp'
  } | awk 'NF && !seen[$0]++'
}

# Checks one file and says "ok FILE" or "bad FILE" in $tidy_log; does nothing after the deadline.
# A file that was started is finished.  Called by xargs, through a bash of its own.
tidy_one() {
  if ((tidy_deadline != 0 && $(date +%s) >= tidy_deadline)); then return 0; fi
  local output
  # The database holds warning flags that only GCC knows.
  if output=$(clang-tidy --quiet -p "$tidy_database" --extra-arg=-Wno-unknown-warning-option "$1" 2>&1)
  then
    echo "ok $1" >>"$tidy_log"
  else
    grep -vE '^[0-9]+ warnings? generated' <<<"$output"
    echo "bad $1" >>"$tidy_log"
  fi
}

check_tidy() {
  if ! command -v clang-tidy >/dev/null; then
    printf 'clang-tidy: not installed, skipped\n'
    return
  fi
  local database=$build_dir/compile_commands.json
  if [[ ! -f "$database" ]]; then
    printf 'clang-tidy: no %s (cmake --preset dev writes it), skipped\n' "$database"
    return
  fi

  local file files=() candidates=()
  if [[ -n "$tidy_base" ]]; then
    git rev-parse --verify --quiet "$tidy_base^{commit}" >/dev/null ||
      wrong_command_line "--tidy-base $tidy_base is no commit"
    mapfile -t candidates < <(git diff --name-only --diff-filter=AMR "$tidy_base" -- '*.cpp')
  else
    mapfile -t candidates < <(newest_first)
  fi
  for file in "${candidates[@]}"; do
    if [[ -f "$file" ]] && grep -qF "\"file\": \"$source_dir/$file\"" "$database"; then
      files+=("$file")
    fi
  done

  # clang cannot read headers that GCC has precompiled: it gets the sources as they are.
  tidy_database=$(mktemp -d)
  sed -E 's/ -include [^ "]*cmake_pch\.h(xx)?//g' "$database" >"$tidy_database/compile_commands.json"
  tidy_log=$(mktemp)
  tidy_deadline=0
  ((tidy_seconds == 0)) || tidy_deadline=$(($(date +%s) + tidy_seconds))
  export tidy_database tidy_log tidy_deadline
  export -f tidy_one
  if ((${#files[@]} > 0)); then
    printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy_one "$1"' tidy_one
  fi
  local checked bad
  checked=$(wc -l <"$tidy_log")
  bad=$(grep -c '^bad ' "$tidy_log" || true)
  rm -rf "$tidy_log" "$tidy_database"
  printf 'clang-tidy: %d files checked, %d with complaints, %d skipped (limit %d s)\n' "$checked" \
    "$bad" "$((${#files[@]} - checked))" "$tidy_seconds"
  ((bad == 0)) || failed=1
}

check_format
check_scripts
$format_only || check_tidy
exit "$failed"
