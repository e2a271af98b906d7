#!/usr/bin/env bash
# Builds and runs an external program that gets Tapeformer through CMake's FetchContent: one that uses everything, with the
# sources in this folder; with --git one that uses component core, from a clone of the last commit. (The tests cover
# find_package with the build tree and an installed tree.)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ "${1:-}" = --git ]; then
  build=$root/build/consumer_cloned
  "$root/scripts/setup.sh" --core
  cmake -S "$root/tests/consumer/core" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
    -D TAPEFORMER_REPOSITORY="file://$root" -D TAPEFORMER_COMMIT="$(git -C "$root" rev-parse HEAD)"
  cmake --build "$build"
  exec "$build/gradient"
fi

build=$root/build/consumer_fetched
"$root/scripts/setup.sh"
cmake -S "$root/tests/consumer" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D WAY=FetchContent -D TAPEFORMER_SOURCE="$root"
cmake --build "$build"
exec "$build/consumer"
