#!/usr/bin/env bash
# Compares the binary interface of this library with that of another commit (a release's tag, for example) by libabigail:
#   scripts/abi.sh v0.2.0
# Exit code 0: programs linked with that one run with this one. 4: things were added. 8, 12: something was changed or
# removed that programs may use, so the next release needs a new SOVERSION (cmake/TapeformerPackage.cmake).
# Needs abigail-tools. Both are built with debug information, the other one in build/abi/COMMIT.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
other=${1:?which commit to compare with}
commit=$(git -C "$root" rev-parse --short "$other^{commit}")
folder=$root/build/abi

if ! command -v abidiff > /dev/null; then
  printf 'abidiff is not there: apt-get install abigail-tools\n' >&2
  exit 2
fi

# What a program sees of it: the types of its headers, and its symbols. -g1 would leave the types out.
interface() {
  local source=$1 build=$2
  cmake -S "$source" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS=-g -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF -D TAPEFORMER_TOOLS=OFF > "$build.log"
  cmake --build "$build" --target tapeformer >> "$build.log"
}

mkdir -p "$folder"
if [ ! -d "$folder/$commit" ]; then
  mkdir "$folder/$commit"
  git -C "$root" archive "$commit" | tar -x -C "$folder/$commit"
fi
interface "$folder/$commit" "$folder/$commit-build"
interface "$root" "$folder/this-build"
# Not compared: instantiations of the standard library's templates, which are every program's own, and the kernels of one
# CPU's level, which are symbols because nothing is hidden, but are called by the library alone, through its tables. The rest
# of tape::kernels is compared, and namespaces `detail`, too: what users instantiate calls them.
cat > "$folder/suppressions.ini" <<'END'
[suppress_function]
  symbol_name_regexp = ^_ZN?K?St
[suppress_variable]
  symbol_name_regexp = ^_ZT[VIS]N?St
[suppress_function]
  symbol_name_regexp = ^_ZN?K?4tape7kernels(2v[0-9]|8portable|4bf16|3amx)
[suppress_variable]
  symbol_name_regexp = ^_Z(T[VIS])?N?4tape7kernels(2v[0-9]|8portable|4bf16|3amx)
END
exec abidiff --suppressions "$folder/suppressions.ini" --drop-private-types --headers-dir1 "$folder/$commit" --headers-dir2 "$root" \
  "$folder/$commit-build/libtapeformer.so" "$folder/this-build/libtapeformer.so"
