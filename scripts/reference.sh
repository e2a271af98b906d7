#!/usr/bin/env bash
# Writes the API reference to build/reference/html (and xml) from the doc comments of the public headers: those that
# tapeformer.h includes. Needs doxygen. Fails if a public symbol has no comment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v doxygen > /dev/null || { echo "reference.sh: doxygen is missing (apt-get install doxygen)" >&2; exit 1; }
headers=$(sed -n 's/^#include "\(.*\)"$/\1/p' tapeformer.h; sed -n 's/^#include "\(ops\/.*\)"$/autograd\/\1/p' autograd/ops.h)
headers+=" nn/module/child.h optim/optimizer.h"  # included through others
mkdir -p build/reference
{ cat docs/reference/Doxyfile; echo INPUT = $headers; } | doxygen -
