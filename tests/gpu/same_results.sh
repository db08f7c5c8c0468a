#!/usr/bin/env bash
# Compares what same_results prints alone with what it prints under the injected library, in each way of watching.
#
#   same_results.sh SAME_RESULTS LIBRARY FOLDER
#
# No run may take longer than 9 s.  Prints lines PASS|FAIL|SKIP TEXT; exit status 1 if one failed, 77 if nothing could run.
set -uo pipefail

program=$1 library=$2 folder=$3
mkdir -p "$folder"
rm -f "$folder"/prof.*.json
failed=0

within_limit() {
  timeout --kill-after=2 9 "$@"
}

say() {
  printf '%s %s\n' "$1" "$2"
  [[ "$1" != FAIL ]] || failed=1
}

within_limit "$program" --reset >"$folder/alone.txt" 2>"$folder/alone.log"
status=$?
if ((status == 77 || status == 127)); then
  say SKIP "results: $(tail -1 "$folder/alone.log")"
  exit 77
elif ((status != 0)) && grep -q 'out of memory' "$folder/alone.log"; then
  say SKIP "results: $(tail -1 "$folder/alone.log")"
  exit 77
elif ((status == 124 || status == 137)); then
  say FAIL "the program alone did not end within 9 s"
  exit 1
elif ((status != 0)); then
  say FAIL "the program alone: status $status: $(tail -1 "$folder/alone.log")"
  exit 1
fi
if ! within_limit "$program" --reset 2>/dev/null | cmp -s - "$folder/alone.txt"; then
  say FAIL "the program alone does not repeat its own results"
  exit 1
fi

# compare NAME VARIABLE=VALUE...
compare() {
  local name=$1 profile=$folder/prof.${1// /_}.json result
  shift
  within_limit env "$@" INLINE_PROF_OUT="$profile" INLINE_PROF_REPEAT=2 INLINE_PROF_WARMUP=3 \
    "$program" "${arguments[@]}" >"$folder/watched.txt" 2>"$folder/watched.log"
  result=$?
  if grep -q 'profiling is off: CUPTI' "$folder/watched.log"; then
    say SKIP "$name: $(grep -m 1 'profiling is off: CUPTI' "$folder/watched.log")"
  elif ((result == 124 || result == 137)); then
    say FAIL "$name: the program did not end within 9 s under the injected library"
  elif ((result != 0)); then
    say FAIL "$name: status $result: $(tail -1 "$folder/watched.log")"
  elif ! diff <(head -"${lines}" "$folder/alone.txt") "$folder/watched.txt" >"$folder/diff.txt"; then
    say FAIL "$name: other bits: $(head -3 "$folder/diff.txt" | tr '\n' ' ')"
  elif [[ ! -s "$profile" ]] || ! grep -q '"complete": *true' "$profile"; then
    say FAIL "$name: no complete prof.json: $(tail -1 "$folder/watched.log")"
  else
    say PASS "$name: all bits are those of the program alone"
  fi
}

arguments=()
lines=3
compare "results with the injected library" LD_PRELOAD="$library"
compare "results with backend cupti" CUDA_INJECTION64_PATH="$library"
arguments=(--reset)
lines=6
compare "results after a device reset" LD_PRELOAD="$library"
exit "$failed"
