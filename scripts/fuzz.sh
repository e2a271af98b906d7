#!/usr/bin/env bash
# Fuzzes the file readers: scripts/fuzz.sh [--total] [SECONDS] [TARGET...] runs each target (default: all) for SECONDS
# (default: 10), or with --total all of them together. Needs clang and its runtime (scripts/setup.sh --fuzz) and uses the
# newest of 16 to 19; exit code 77 if there is none.
#
# Starts with tests/fuzz/corpus/TARGET, collects inputs that reach new code in build/fuzz/corpus/TARGET, and continues from
# there the next time. Failing inputs are saved in build/fuzz/found/. The last line is "N passed, N failed", counting targets.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/fuzz
program=$build/tests/fuzz/tapeformer_fuzz

total=no
if [ "${1:-}" = --total ]; then
  total=yes
  shift
fi
seconds=${1:-10}
shift || true
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  printf 'fuzz: SECONDS must be a positive integer, got %s\n' "$seconds" >&2
  exit 2
fi
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || mapfile -t targets < <(ls "$root/tests/fuzz/corpus")
for target in "${targets[@]}"; do
  if [ ! -d "$root/tests/fuzz/corpus/$target" ]; then
    printf 'fuzz: no target %s; targets are: %s\n' "$target" "$(ls "$root/tests/fuzz/corpus" | tr '\n' ' ')" >&2
    exit 2
  fi
done
[ "$total" = no ] || seconds=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))

. "$root/scripts/clang.sh"
if ! clang=$(fuzzing_clang); then
  printf 'fuzz: no clang with libFuzzer is installed; scripts/setup.sh --fuzz installs one\n' >&2
  exit 77
fi
# Everything except the readers comes from the library of the release build, which is built if missing.
cd "$root"
mkdir -p "$build/found"
{
  [ -f build/release/build.ninja ] || cmake -S . -B build/release -G Ninja -D CMAKE_BUILD_TYPE=Release
  cmake --build build/release --target tapeformer_replaceable &&
    cmake --preset fuzz -D CMAKE_CXX_COMPILER="clang++-$clang" &&
    cmake --build --preset fuzz
} > "$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 1; }

# Most targets read files; a memory file system avoids waiting for a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm

# run TARGET ARGUMENT...: uses one thread, so that a hang is the target's. The disabled checks would halve the speed. Leaks are
# checked by the sanitize preset, which replays the corpora.
run() {
  TAPEFORMER_FUZZ_TARGET=$1 OMP_NUM_THREADS=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:malloc_context_size=5 \
    "$program" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -max_len=65536 -detect_leaks=0 -entropic=0 \
    -report_slow_units=60 -artifact_prefix="$build/found/$1-" "${@:2}"
}

passed=0
failed=0
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  status=0
  run "$target" -max_total_time="$seconds" -print_final_stats=1 "$build/corpus/$target" "$root/tests/fuzz/corpus/$target" \
    > "$build/$target.log" 2>&1 || status=$?
  # Time limits use wall-clock time, so an input may time out only because the machine was suspended.
  slow=$(grep -aoE "$build/found/$target-timeout-[0-9a-f]+" "$build/$target.log" | tail -n 1 || true)
  if [ -n "$slow" ] && run "$target" "$slow" > /dev/null 2>&1; then
    printf '%s: the machine was suspended, not the target\n' "$target"
    rm -f "$slow"
    status=0
  fi
  last() { grep -aoE "$1" "$build/$target.log" | tail -n 1 | grep -oE '[0-9]+$' || echo 0; }
  printf '%-20s %12s executions, %7s per second, %6s edges covered\n' "$target" \
    "$(last 'number_of_executed_units: [0-9]+')" "$(last 'average_exec_per_sec: *[0-9]+')" "$(last 'cov: [0-9]+')"
  if [ "$status" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    grep -av '^#' "$build/$target.log" | tail -n 40
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
