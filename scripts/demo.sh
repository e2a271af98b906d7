#!/usr/bin/env bash
# Builds the tapeformer command and runs its demo; arguments go to `tapeformer demo` (try --help).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release

# A first build contains kernels only for this CPU; test.sh and an installation add those of other CPUs.
kernels=()
[ -e "$build/CMakeCache.txt" ] || kernels=(-DTAPEFORMER_KERNELS=native)

# Build output goes to stderr, so that stdout has only the demo's output.
{
  "$root/scripts/setup.sh"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${kernels[@]}"
  cmake --build "$build" --target tapeformer_command
} >&2

exec "$build/tools/tapeformer" demo "$@"
