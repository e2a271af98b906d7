#!/usr/bin/env bash
# Builds everything and runs all tests; arguments go to ctest (for example: -R text).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release

"$root/scripts/setup.sh"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAPEFORMER_KERNELS=all \
  -DTAPEFORMER_WERROR="${TAPEFORMER_WERROR:-OFF}"
cmake --build "$build"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
