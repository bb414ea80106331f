#!/bin/sh
# describe.sh PYTHON: prints the words with which an interpreter of 3.13 or later describes itself, and below them
# what offsets.c says by its headers, as the files of described/ have both.
set -eu
cd "$(dirname "$0")"
"$1" -c '
import ctypes
words = (ctypes.c_uint64 * 93).in_dll(ctypes.pythonapi, "_PyRuntime")
for w in words: print("word %#x" % w)
'
include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
program=$(mktemp)
trap 'rm -f "$program"' EXIT
gcc -w -I "$include" -I "$include/internal" -idirafter "$include/.." -o "$program" offsets.c
"$program"
