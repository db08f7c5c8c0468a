#!/usr/bin/env bash
# Builds on a machine with a GPU, and writes down what only a GPU can show: tests/gpu/gpu_check.py, whose help says it all.
#
#   scripts/gpu_check.sh [--call 1|2|3] [--resume] [--only PART]... [--build-dir DIR] [--results DIR] [--list] [--help]
#
# Needs Python 3.8.  Exit status: 0 no part failed, 1 one did, 2 the command line is wrong, 3 results cannot be written.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
exec python3 tests/gpu/gpu_check.py "$@"
