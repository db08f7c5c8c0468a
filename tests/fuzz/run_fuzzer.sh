#!/usr/bin/env bash
# Runs one fuzz target for a fixed budget, from the same seeds and the same random numbers each time.
#
#   run_fuzzer.sh TARGET SEED_FOLDER...
#
# An input that fails is kept beside TARGET, as libFuzzer names it in its last lines.
set -euo pipefail

target=$1
shift
found=$(mktemp -d) # libFuzzer adds what it finds to its first folder, and nothing to the others
trap 'rm -rf "$found"' EXIT
# 16 KiB: twice the largest seed.  The time is a limit for a loaded machine; 4000 runs take less.
"$target" -runs=4000 -max_total_time=4 -seed=1 -max_len=16384 -timeout=5 -rss_limit_mb=1024 \
  -artifact_prefix="$target." -print_final_stats=1 "$found" "$@"
