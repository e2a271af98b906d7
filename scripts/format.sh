#!/usr/bin/env bash
# Formats all sources: C++ with clang-format 16, the pages' TypeScript and CSS with Prettier, the
# Python package with ruff, Markdown with mdformat.
# --check changes nothing and fails if a file is not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --check ]; then
  clang=(--dry-run --Werror)
  prettier=lint
  mdformat=(--check)
  ruff=(--check)
else
  clang=(-i)
  prettier=format
  mdformat=()
  ruff=()
fi

need() { command -v "$1" > /dev/null || { echo "format.sh: $1 is missing: $2" >&2; exit 1; }; }
need clang-format-16 "apt-get install clang-format-16, or pip install clang-format==16.0.6"
need mdformat "pip install mdformat mdformat-gfm"
need ruff "pip install ruff"
need npm "scripts/web.sh installs it with the pages' packages"

git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format-16 "${clang[@]}"
npm --prefix inspect/web run --silent "$prettier"
ruff format "${ruff[@]}" python
# Not the derivations, whose formulas mdformat would escape, not the generated list of operations, and not the site's pages,
# which begin with their settings.
git ls-files '*.md' ':!docs/derivations' ':!docs/guide/operations.md' ':!docs/site' ':!tests/fixtures' | xargs mdformat "${mdformat[@]}"
