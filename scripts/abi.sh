#!/usr/bin/env bash
# Compares the ABI of this library with that of another commit, such as a release tag, with libabigail:
#   scripts/abi.sh v0.2.0
# Exit code 0: programs linked with the other commit run with this one. 4: symbols were added. 8, 12: symbols that programs may
# use were changed or removed, so the next release needs a new SOVERSION (cmake/TapeformerPackage.cmake).
# Needs abigail-tools. Builds both with debug information, the other commit in build/abi/COMMIT.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
other=${1:?which commit to compare with}
commit=$(git -C "$root" rev-parse --short "$other^{commit}")
folder=$root/build/abi

if ! command -v abidiff > /dev/null; then
  printf 'abi: abidiff is not installed: apt-get install abigail-tools\n' >&2
  exit 2
fi

# Needs the types of the headers in addition to the symbols; -g1 would omit the types.
interface() {
  local source=$1 build=$2
  cmake -S "$source" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS=-g -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF -D TAPEFORMER_TOOLS=OFF > "$build.log"
  cmake --build "$build" >> "$build.log"
}

mkdir -p "$folder"
if [ ! -d "$folder/$commit" ]; then
  mkdir "$folder/$commit"
  git -C "$root" archive "$commit" | tar -x -C "$folder/$commit"
fi
interface "$folder/$commit" "$folder/$commit-build"
interface "$root" "$folder/this-build"
# Does not compare instantiations of standard library templates, of which every program has its own, or the kernels of CPU
# levels, which are visible symbols but only called by the library through its tables. Does compare the rest of tape::kernels
# and namespaces `detail`, because templates that users instantiate call them.
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
# Commits before components have a single library, which none of these replaces.
worst=0
for library in "$folder"/this-build/libtapeformer_{core,linalg,text,models,train,inspect}.so; do
  name=$(basename "$library")
  if [ ! -e "$folder/$commit-build/$name" ]; then
    printf 'abi: %s has no %s\n' "$other" "$name"
    worst=$((worst | 8))
    continue
  fi
  status=0
  abidiff --suppressions "$folder/suppressions.ini" --drop-private-types --headers-dir1 "$folder/$commit" --headers-dir2 "$root" \
    "$folder/$commit-build/$name" "$library" || status=$?
  worst=$((worst | status))
done
exit "$worst"
