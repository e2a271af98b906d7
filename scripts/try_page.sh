#!/usr/bin/env bash
# Makes docs/try/index.html again, at a release: the page of the demo's model with the engine, which computes any text and
# trains the model in the browser. Builds what is missing and trains the demo, which takes a minute. The page starts with a
# comment that names the commit it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -z "$(git status --porcelain)" ] || { echo 'try_page: commit the changes first, so that the page names its commit' >&2; exit 1; }
./scripts/wasm.sh
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release
cmake --build build/release --target tapeformer_command
build/release/tools/tapeformer demo --out build/try --seconds 0
page=$(wc -c < build/try/explorer.html)
[ "$page" -le 4000000 ] || { echo "try_page: the page has $page bytes, more than 4,000,000" >&2; exit 1; }
{
  printf '<!doctype html>\n<!-- Made by scripts/try_page.sh from commit %s. -->\n' "$(git rev-parse HEAD)"
  tail -n +2 build/try/explorer.html
} > docs/try/index.html
