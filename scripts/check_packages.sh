#!/usr/bin/env bash
# Builds and runs an external program that gets Tapeformer through CMake's FetchContent, which builds the whole library. (The
# tests cover find_package with the build tree and an installed tree.)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/consumer_fetched

"$root/scripts/setup.sh"
cmake -S "$root/tests/consumer" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D WAY=FetchContent -D TAPEFORMER_SOURCE="$root"
cmake --build "$build"
exec "$build/consumer"
