#!/usr/bin/env bash
# Builds the HTML pages from inspect/web/ into inspect/web/dist/, which is committed so that only those who change the
# pages need Node. With --check: lints the sources and fails unless dist/ is up to date. Exit code 77: packages could not
# be installed.
set -euo pipefail

web=$(cd "$(dirname "${BASH_SOURCE[0]}")/../inspect/web" && pwd)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  printf 'web: building the pages needs Node 18 or later with npm (apt-get install nodejs npm)\n' >&2
  exit 1
fi

cd "$web"
if ! npm ci --silent --no-fund --no-audit --ignore-scripts; then
  printf 'web: npm could not install the packages in package-lock.json\n' >&2
  exit 77
fi
npm run --silent check
case "${1:-}" in
  '') node build.mjs ;;
  --check)
    npm run --silent lint
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    node build.mjs "$fresh"
    if ! diff -rq "$fresh" dist; then
      printf 'web: inspect/web/dist is out of date: run scripts/web.sh and commit the result\n' >&2
      exit 1
    fi
    ;;
  *)
    printf 'usage: %s [--check]\n' "$0" >&2
    exit 2
    ;;
esac
