#!/usr/bin/env bash
# Runs test programs under AddressSanitizer and UndefinedBehaviorSanitizer: `scripts/sanitize.sh base text`, or all of them
# without arguments. Each program runs as soon as it is built. With --seconds N, stops after about that time and prints which
# programs did not run. The last line is "N passed, N failed"; exit code 77 if there was no time for any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Allocations of any size fail as they do without the sanitizer.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1

limit=
if [ "${1:-}" = --seconds ]; then
  limit=$2
  shift 2
fi
programs=("$@")
[ "$#" -gt 0 ] || programs=(base text optim embedding allocation inspect models nn cuda registered at_exit examples fuzz train autograd)

# Returns the command's exit code, or 124 if the time is up.
within_time() {
  if [ -z "$limit" ]; then
    "$@"
  elif [ "$SECONDS" -lt "$limit" ]; then
    timeout "$((limit - SECONDS))" "$@"
  else
    return 124
  fi
}

cmake --preset sanitize > /dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0
for program in "${programs[@]}"; do
  status=0
  within_time cmake --build --preset sanitize --target "test_$program" || status=$?
  if [ "$status" -ne 124 ]; then
    [ "$status" -eq 0 ] || exit "$status"
    within_time "build/sanitize/tests/test_$program" --gtest_brief=1 > "$log" 2>&1 || status=$?
  fi
  if [ "$status" -eq 124 ]; then
    printf '%s: no time left\n' "$program"
    continue
  fi
  count=$(grep -oE '^\[  PASSED  \] [0-9]+' "$log" | grep -oE '[0-9]+$' || echo 0)
  passed=$((passed + count))
  if [ "$status" -ne 0 ]; then
    cat "$log"
    failed=$((failed + $(grep -oE '^ ?[0-9]+ FAILED TEST' "$log" | grep -oE '[0-9]+' || echo 1)))
  fi
  printf '%s: %d tests passed under sanitizers\n' "$program" "$count"
done
[ "$((passed + failed))" -gt 0 ] || exit 77
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
