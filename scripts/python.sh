#!/usr/bin/env bash
# Builds the Python package with the library of build/release, and tests it; arguments go to pytest. Afterwards
#   PYTHONPATH=build/release/python build/python-env/bin/python
# uses it. Exit code 77: what it needs (python/requirements.txt, Python's headers) could not be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment=$PWD/build/python-env
build=build/release

skip() {
  printf 'python: %s\n' "$1" >&2
  exit 77
}

./scripts/setup.sh --python
if ! cmp -s python/requirements.txt "$environment/requirements.txt"; then
  rm -rf "$environment"
  "${PYTHON:-python3}" -m venv "$environment" || skip "${PYTHON:-python3} -m venv failed"
  "$environment/bin/pip" install --quiet -r python/requirements.txt || skip 'the packages of python/requirements.txt could not be installed'
  # From a local folder of wheels only (PIP_FIND_LINKS): PyPI's PyTorch takes gigabytes.
  if "$environment/bin/pip" install --quiet --no-index --no-deps torch 2> /dev/null; then
    "$environment/bin/pip" install --quiet filelock fsspec jinja2 networkx sympy typing-extensions || true
  fi
  cp python/requirements.txt "$environment/"
fi

cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D TAPEFORMER_PYTHON=ON -D Python_EXECUTABLE="$environment/bin/python"
cmake --build "$build" --target tapeformer_stub
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
PYTHONPATH=$PWD/$build/python "$environment/bin/python" -m pytest python/tests "$@" 2>&1 | tee "$log" || status=$?
# pytest's summary, "2 failed, 466 passed, 54 skipped in 2.87s"
count() { grep -E '(passed|failed|error).* in [0-9.]+s' "$log" | tail -n 1 | grep -oE "[0-9]+ $1" | grep -oE '[0-9]+' || echo 0; }
failed=$(($(count failed) + $(count error)))
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
printf '%d passed, %d failed\n' "$(count passed)" "$failed"
[ "$failed" -eq 0 ]
