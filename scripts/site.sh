#!/usr/bin/env bash
# Builds the documentation site, build/site, from the Markdown pages, the doc comments and the Python stubs; open
# build/site/index.html. Installs its tools in build/site-tools once (PyPI, npm), and needs no network after that.
# --tapeformer PATH: the command that trains the small GPT of one page (default: build/release/tools/tapeformer, if there).
# --check: also checks links, code blocks and, with Chromium, every page at two widths; the last line is then "N passed, N
# failed". Exit code 77: the tools could not be installed, or Doxygen, Node or the stubs (scripts/python.sh) are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=$PWD/build/site-tools
skip() { printf 'site: %s\n' "$*" >&2; exit 77; }

command=build/release/tools/tapeformer check=
while [ $# -gt 0 ]; do
  case "$1" in
    --tapeformer) command=$(realpath "$2"); shift 2 ;;
    --check) check=yes; shift ;;
    *) printf 'usage: %s [--tapeformer PATH] [--check]\n' "$0" >&2; exit 2 ;;
  esac
done

command -v node > /dev/null && command -v npm > /dev/null || skip 'Node is missing (apt-get install nodejs npm)'
command -v doxygen > /dev/null || skip 'Doxygen is missing (scripts/setup.sh --reference)'
compgen -G 'build/*/python/tapeformer/_tapeformer/__init__.pyi' > /dev/null || skip 'the Python stubs are missing (scripts/python.sh)'

mkdir -p "$tools"
if ! cmp -s docs/site/requirements.txt "$tools/env/requirements.txt"; then
  rm -rf "$tools/env"
  "${PYTHON:-python3}" -m venv "$tools/env" || skip "${PYTHON:-python3} -m venv failed"
  "$tools/env/bin/pip" install --quiet -r docs/site/requirements.txt || skip 'docs/site/requirements.txt could not be installed'
  cp docs/site/requirements.txt "$tools/env/"
fi
if ! cmp -s docs/site/package-lock.json "$tools/package-lock.json" || [ ! -d "$tools/node_modules/katex" ]; then
  cp docs/site/package.json docs/site/package-lock.json "$tools/"
  npm --prefix "$tools" ci --silent --no-fund --no-audit --ignore-scripts || skip 'docs/site/package.json could not be installed'
fi

stamp=build/reference/xml/index.xml
if [ ! -f $stamp ] || [ -n "$(git ls-files -z '*.h' docs/reference scripts/reference.sh | xargs -0 sh -c 'find "$@" -newer '$stamp sh)" ]; then
  ./scripts/reference.sh
  touch $stamp
fi
if [ -x "$command" ] && [ ! "$tools/small_gpt/page.html" -nt docs/site/small_gpt.sh ]; then
  rm -rf "$tools/small_gpt"
  mkdir "$tools/small_gpt"
  docs/site/small_gpt.sh "$(realpath "$command")" "$tools/small_gpt" > "$tools/small_gpt.log"
fi

NO_MKDOCS_2_WARNING=1 "$tools/env/bin/python" -m mkdocs build --quiet --clean -f docs/site/mkdocs.yml
[ -n "$check" ] || exit 0

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
{
  "$tools/env/bin/python" docs/site/check/links.py build/site || true
  "$tools/env/bin/python" docs/site/check/blocks.py "$command" || true
  . scripts/chromium.sh
  if browser=$(command -v "$CHROMIUM") && [ -d inspect/web/node_modules/playwright-core ]; then
    CHROMIUM=$browser node docs/site/check/browse.mjs build/site || true
  else
    echo 'site: the pages were not opened in a browser: Chromium or the packages of scripts/web.sh are missing' >&2
    echo '0 passed, 0 failed'
  fi
} | tee "$counts"
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; ++programs }
  END { failed += 3 - programs; printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }' "$counts"
