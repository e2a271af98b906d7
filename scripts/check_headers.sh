#!/usr/bin/env bash
# Compiles every header of the library separately and all of them together, with warnings as errors, with g++ and the newest
# installed clang of 16 to 19. Arguments are parts of paths: scripts/check_headers.sh nn/. Needs no build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Wconversion -Werror -I . -x c++)
compilers=(g++)
. scripts/clang.sh
if clang=$(newest_clang); then compilers+=("clang++-$clang"); fi

# All installed headers except those that only compile within a kernel level (they need its name as a macro).
mapfile -t headers < <(find base autograd nn optim models text train inspect ./*.h -name '*.h' | sort |
  xargs grep -LE 'TAPE_LEVEL|#include "(level|vec|vec_math)\.h"' | grep -F -e "${1:-}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in "${headers[@]}"; do
  printf '#include "%s"\n' "$header" > "$work/${header//\//__}.cpp"
done
# The xtensor bridge comes first because it works around a bug of xtensor's headers in C++20.
{
  printf '#include "autograd/xtensor.h"\n'
  printf '#include "%s"\n' "${headers[@]}"
} > "$work/all_together.cpp"

for compiler in "${compilers[@]}"; do
  find "$work" -name '*.cpp' -print0 | xargs -0 -n 1 -P "$(nproc)" "$compiler" "${flags[@]}"
  printf '%s: %d headers, separately and together\n' "$compiler" "${#headers[@]}"
done
