#!/usr/bin/env bash
# Builds the tapeformer command and runs its demo; arguments go to `tapeformer demo` (try --help).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release

# A first build is for the CPU that it runs on alone; test.sh and an install add the kernels of other CPUs.
kernels=()
[ -e "$build/CMakeCache.txt" ] || kernels=(-DTAPEFORMER_KERNELS=native)

# On stdout stands what the demo says, nothing else.
{
  "$root/scripts/setup.sh"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${kernels[@]}"
  cmake --build "$build" --target tapeformer_command
} >&2

exec "$build/tools/tapeformer" demo "$@"
