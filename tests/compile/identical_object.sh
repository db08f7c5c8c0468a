#!/bin/sh
# Without ENABLE_PROFILING the macros leave no trace:
#
#   identical_object.sh WORK_FOLDER SOURCE NOTHING COMPILER FLAG...
#
# compiles SOURCE as it is, and with the lines of the macros deleted (PROFILE_RECORD_DATA(...), which
# has a value, becomes NOTHING), and compares the objects byte by byte.  With ENABLE_PROFILING they
# must differ, else the comparison would prove nothing.
set -eu

work_folder=$1
source=$2
nothing=$3
shift 3

name=$(basename "$source") # the same in all folders: it stands in the object
mkdir -p "$work_folder/macros_off" "$work_folder/macros_deleted" "$work_folder/macros_on"
cp "$source" "$work_folder/macros_off/$name"
cp "$source" "$work_folder/macros_on/$name"
sed -e '/inline_prof\/profile\.h/d' \
  -e '/^ *\(INITIALIZE_PROFILER\|PROFILE[A-Z_]*\)(.*);$/d' \
  -e "s/PROFILE_RECORD_DATA([^;]*)) /$nothing) /" \
  "$source" >"$work_folder/macros_deleted/$name"
if sed '/^#ifndef ONE_MACRO_A_LINE/,$d' "$work_folder/macros_deleted/$name" | grep -n 'PROFILE'; then
  echo "identical_object.sh: the lines above were not deleted" >&2
  exit 1
fi

(cd "$work_folder/macros_off" && "$@" -DONE_MACRO_A_LINE -c "$name" -o object.o)
(cd "$work_folder/macros_deleted" && "$@" -DONE_MACRO_A_LINE -c "$name" -o object.o)
(cd "$work_folder/macros_on" && "$@" -DONE_MACRO_A_LINE -DENABLE_PROFILING -c "$name" -o object.o)

cmp "$work_folder/macros_off/object.o" "$work_folder/macros_deleted/object.o"
if cmp -s "$work_folder/macros_on/object.o" "$work_folder/macros_deleted/object.o"; then
  echo "identical_object.sh: the objects are equal with the macros on as well" >&2
  exit 1
fi
