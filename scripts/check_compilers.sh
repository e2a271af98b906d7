#!/usr/bin/env bash
# Builds everything with each named compiler (g++-13, clang++-18, ...), with warnings as errors, and runs the quick tests.
# Without names, uses every packaged compiler of g++ 12 to 14 and clang 16 to 19. Installs compilers with apt-get, and OpenMP for
# each clang, which replaces that of another version. Meant for a throwaway system such as the one that
#   scripts/check_systems.sh --run scripts/check_compilers.sh debian13
# creates. The last line is "N passed, N failed", counting compilers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./scripts/setup.sh
[ "$#" -gt 0 ] || set -- g++-12 g++-13 g++-14 clang++-16 clang++-17 clang++-18 clang++-19

# googletest_for COMPILER: builds the distribution's googletest with the compiler and prints the folder. The packaged library
# needs the C++ library of the compiler that built it, which an older g++ does not link.
googletest_for() {
  local folder=$PWD/build/compilers/googletest-$1
  apt-get -qq install -y --no-install-recommends googletest > /dev/null
  cmake -S /usr/src/googletest -B "$folder/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER="$1" \
    -D CMAKE_INSTALL_PREFIX="$folder" > /dev/null
  cmake --build "$folder/build" --target install > /dev/null
  printf '%s\n' "$folder"
}

passed=0
failed=0
mkdir -p build/compilers
for compiler in "$@"; do
  packages=("$compiler")
  version=${compiler##*-}
  case "$compiler" in clang*) packages=("clang-$version" "libomp-$version-dev") ;; esac
  if ! apt-cache show "${packages[@]}" > /dev/null 2>&1; then
    printf '%s: this system has no package for it\n' "$compiler"
    continue
  fi
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${packages[@]}" > /dev/null
  build=build/compilers/$compiler
  if { cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D TAPEFORMER_WERROR=ON -D CMAKE_CXX_COMPILER="$compiler" \
    -D CMAKE_PREFIX_PATH="$(googletest_for "$compiler")" &&
    cmake --build "$build" -- -k 0 && ctest --test-dir "$build" -L quick --output-on-failure --no-tests=error; } > "$build.log" 2>&1; then
    printf '%s: passed\n' "$compiler"
    passed=$((passed + 1))
  else
    printf '%s: failed\n' "$compiler"
    failed=$((failed + 1))
    grep -E -A 4 'error: |FAILED|\*\*\*' "$build.log" | head -n 60
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
