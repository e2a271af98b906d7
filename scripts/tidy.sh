#!/usr/bin/env bash
# Looks through the library and the command with clang-tidy (.clang-tidy says for what); arguments are parts of paths:
# scripts/tidy.sh autograd/ops. Takes the newest clang of 16 to 19 that is installed with
# clang-tidy and OpenMP: apt-get install clang-19 clang-tidy-19 libomp-19-dev.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/clang.sh"
build=$root/build/tidy

if ! clang=$(newest_clang bin/clang-tidy lib/libomp.so); then
  printf 'tidy: no clang with clang-tidy and OpenMP is installed\n' >&2
  exit 2
fi
# Everything is looked through as it is built, several files at a time; parts of it file by file.
unity=ON
patterns=("^$root/autograd/" "^$build/.*/Unity/")
if [[ $# -gt 0 ]]; then
  unity=OFF
  patterns=()
  for part in "$@"; do patterns+=("^$root/$part"); done
fi
# Its own folder and compiler: clang reads no header that another compiler precompiled, nor finds g++'s own.
cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_CXX_COMPILER="clang++-$clang" \
  -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON -D TAPEFORMER_UNITY=$unity -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF > "$build.log"
exec "run-clang-tidy-$clang" -quiet -p "$build" -clang-tidy-binary "clang-tidy-$clang" "${patterns[@]}"
