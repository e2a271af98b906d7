#!/usr/bin/env bash
# Runs clang-tidy on the library and the command, with the checks in .clang-tidy. Arguments are parts of paths:
# scripts/tidy.sh autograd/ops. Uses the newest installed clang of 16 to 19 with clang-tidy and OpenMP:
# apt-get install clang-19 clang-tidy-19 libomp-19-dev.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/clang.sh"
build=$root/build/tidy

if ! clang=$(newest_clang bin/clang-tidy lib/libomp.so); then
  printf 'tidy: no clang with clang-tidy and OpenMP is installed\n' >&2
  exit 2
fi
# Checks everything in the groups of the build, but selected parts file by file.
unity=ON
patterns=("^$root/autograd/" "^$build/.*/Unity/")
if [[ $# -gt 0 ]]; then
  unity=OFF
  patterns=()
  for part in "$@"; do patterns+=("^$root/$part"); done
fi
# Its own build folder and compiler: clang cannot read precompiled headers of g++ or find g++'s own headers.
cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_CXX_COMPILER="clang++-$clang" \
  -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON -D TAPEFORMER_UNITY=$unity -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF > "$build.log"
exec "run-clang-tidy-$clang" -quiet -p "$build" -clang-tidy-binary "clang-tidy-$clang" "${patterns[@]}"
