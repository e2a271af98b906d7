#!/usr/bin/env bash
# What two short programs cost to compile, and to start: README's first program with everything, and a gradient check with
# component core only; with a folder of libtorch, the same programs there.
#   benchmarks/program_costs/run.sh PREFIX [LIBTORCH]      an installed Tapeformer; a folder with include/ and lib/
# For each program: seconds to compile (g++ -O1, no ccache), CPU seconds of that, lines after the preprocessor, and milliseconds
# to start (a program with the same libraries that makes one tensor), CPU milliseconds of that. Each is the least of REPEATS
# (default 5) or, to start, of 20. Next to other work, only CPU time means something.
set -euo pipefail

prefix=$(cd "$1" && pwd)
libtorch=${2:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1 PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tapeformer-core.pc)")
libraries=$(dirname "$PKG_CONFIG_PATH")
TIMEFORMAT='%R %U %S'

least() { sort -n | head -n 1; }

# measure NAME PROGRAM TENSOR INCLUDE COMPILE_FLAGS LINK_FLAGS...
measure() {
  local name=$1 program=$2 include=$4 flags=$5
  printf '#include <%s>\n#include <iostream>\nint main() { std::cout << %s << "\\n"; }\n' "$include" "$3" > "$work/start.cpp"
  # shellcheck disable=SC2086
  for _ in $(seq "${REPEATS:-5}"); do
    { time g++ -std=c++20 -O1 -c $flags "$program" -o "$work/program.o"; } 2>&1
  done | awk '{ print $1, $2 + $3 }' > "$work/times"
  local lines
  # shellcheck disable=SC2086
  lines=$(g++ -std=c++20 -E $flags "$program" | grep -vc '^#\|^$')
  g++ "$work/program.o" -o "$work/program" "${@:6}"
  "$work/program" > "$work/output"
  # shellcheck disable=SC2086
  g++ -std=c++20 -O1 $flags "$work/start.cpp" -o "$work/start" -Wl,--no-as-needed "${@:6}"
  for _ in $(seq 20); do
    { time "$work/start" > /dev/null; } 2>&1
  done | awk '{ print 1000 * $1, 1000 * ($2 + $3) }' > "$work/starts"
  printf '%-22s %6s s to compile %6s CPU s %8d lines %6.0f ms to start %6.0f CPU ms   %s\n' "$name" "$(cut -d' ' -f1 "$work/times" | least)" \
    "$(cut -d' ' -f2 "$work/times" | least)" "$lines" "$(cut -d' ' -f1 "$work/starts" | least)" \
    "$(cut -d' ' -f2 "$work/starts" | least)" \
    "$(tail -n 1 "$work/output")"
}

awk '/^```/ { inside = 0 } inside; /^```cpp/ && !done { inside = done = 1 }' "$root/README.md" > "$work/first.cpp"
grep -m 1 'model name' /proc/cpuinfo
uptime
# shellcheck disable=SC2046
measure 'first' "$work/first.cpp" 'tape::ones({1}).item()' tapeformer.h "$(pkg-config --cflags tapeformer)" \
  $(pkg-config --libs tapeformer) -Wl,-rpath,"$libraries"
# shellcheck disable=SC2046
measure 'gradient' "$root/tests/consumer/core/gradient.cpp" 'tape::ones({1}).item()' tapeformer/core.h \
  "$(pkg-config --cflags tapeformer-core)" $(pkg-config --libs tapeformer-core) -Wl,-rpath,"$libraries"
[ -n "$libtorch" ] || exit 0
here=$root/benchmarks/program_costs
includes="-isystem $libtorch/include -isystem $libtorch/include/torch/csrc/api/include"
link=(-L"$libtorch/lib" -ltorch -ltorch_cpu -lc10 -Wl,-rpath,"$libtorch/lib")
measure 'first, libtorch' "$here/first_libtorch.cpp" 'torch::ones({1}).item<float>()' torch/torch.h "$includes" "${link[@]}"
measure 'gradient, libtorch' "$here/gradient_libtorch.cpp" 'torch::ones({1}).item<float>()' torch/torch.h "$includes" "${link[@]}"
