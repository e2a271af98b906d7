#!/usr/bin/env bash
# Builds the HTML pages from inspect/web/ into inspect/web/dist/, which is kept in the repository so that nobody else
# needs Node. With --check: fails unless dist/ is what the sources give. Exit code 77: packages could not be installed.
set -euo pipefail

web=$(cd "$(dirname "${BASH_SOURCE[0]}")/../inspect/web" && pwd)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  printf 'web: building the pages needs Node 18 or later with npm (apt-get install nodejs npm)\n' >&2
  exit 1
fi

cd "$web"
if ! npm ci --silent --no-fund --no-audit --ignore-scripts; then
  printf 'web: npm could not install what package-lock.json names\n' >&2
  exit 77
fi
npx tsc --noEmit
case "${1:-}" in
  '') node build.mjs ;;
  --check)
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    node build.mjs "$fresh"
    if ! diff -rq "$fresh" dist; then
      printf 'web: inspect/web/dist is not what the sources give: run scripts/web.sh and commit it\n' >&2
      exit 1
    fi
    ;;
  *)
    printf 'usage: %s [--check]\n' "$0" >&2
    exit 2
    ;;
esac
