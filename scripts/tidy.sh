#!/usr/bin/env bash
# Looks through the library and the command with clang-tidy 16 (.clang-tidy says for what); arguments are parts of paths:
# scripts/tidy.sh autograd/ops. Needs clang-16, clang-tidy-16 and libomp-16-dev.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/tidy

# Everything is looked through as it is built, several files at a time; parts of it file by file.
unity=ON
patterns=("^$root/autograd/" "^$build/.*/Unity/")
if [[ $# -gt 0 ]]; then
  unity=OFF
  patterns=()
  for part in "$@"; do patterns+=("^$root/$part"); done
fi
# Its own folder and compiler: clang reads no header that another compiler precompiled, nor finds g++'s own.
cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_CXX_COMPILER=clang++-16 \
  -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON -D TAPEFORMER_UNITY=$unity -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF > "$build.log"
exec run-clang-tidy-16 -quiet -p "$build" -clang-tidy-binary clang-tidy-16 "${patterns[@]}"
