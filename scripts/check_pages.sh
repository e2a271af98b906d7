#!/usr/bin/env bash
# Checks the HTML pages: lints their sources, runs their unit tests, opens the pages in Chromium and compares them with
# the data they were made from, and checks that inspect/web/dist is up to date. Needs a build (scripts/test.sh). Installs
# Node and Chromium's headless shell, which takes half the CPU time of the whole browser, if they are missing (apt).
# Arguments: [--pictures FOLDER] for screenshots and PDFs, [--only WORDS] for the checks whose names contain the words.
# Exit code 77: Node, Chromium or the npm packages could not be installed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
command=${TAPEFORMER:-$root/build/release/tools/tapeformer}

. "$root/scripts/chromium.sh"
missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
[ -n "$CHROMIUM" ] || missing+=(chromium-headless-shell)
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  if ! { "${as_root[@]}" apt-get -qq update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >&2; then
    printf 'check_pages: %s could not be installed\n' "${missing[*]}" >&2
    exit 77
  fi
  . "$root/scripts/chromium.sh"
fi

"$root/scripts/web.sh" --check
exec node "$root/tests/web/check_pages.mjs" "$command" "$@"
