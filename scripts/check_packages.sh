#!/usr/bin/env bash
# Builds a program outside of the project that fetches Tapeformer as CMake's FetchContent does, the whole library with it, and
# runs it. (The tests try find_package with the build tree and an installed one.)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/consumer_fetched

"$root/scripts/setup.sh"
cmake -S "$root/tests/consumer" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D WAY=FetchContent -D TAPEFORMER_SOURCE="$root"
cmake --build "$build"
exec "$build/consumer"
