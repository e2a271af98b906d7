#!/usr/bin/env bash
# Writes the API reference to build/reference/html (and xml) from the doc comments of the public headers: those that
# tapeformer.h includes. Fails if a public symbol has no comment. Needs doxygen (scripts/setup.sh --reference). --check exits
# with 77 without doxygen, or with another version than the one whose warnings the comments are free of.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checked_version=1.9.4
version=$(doxygen --version 2> /dev/null | cut -d' ' -f1) || version=none
if [ "${1:-}" = --check ] && [ "$version" != "$checked_version" ]; then
  printf 'reference: doxygen is %s, not %s\n' "$version" "$checked_version" >&2
  exit 77
fi
if [ "$version" = none ]; then
  printf 'reference: doxygen is missing: scripts/setup.sh --reference\n' >&2
  exit 1
fi

headers=$(sed -n 's/^#include "\(.*\)"$/\1/p' {core,linalg,text,models,train,inspect}.h; sed -n 's/^#include "\(ops\/.*\)"$/autograd\/\1/p' autograd/ops.h)
# What these include in turn and users name.
headers+=" nn/module/child.h optim/optimizer.h base/error.h autograd/dtype.h autograd/number.h autograd/shape.h
  autograd/gradcheck/report.h autograd/ops/convolution/spatial.h autograd/tape/attributes.h autograd/tape/backward.h
  autograd/tape/op.h autograd/tape/trace.h"
mkdir -p build/reference
{ cat docs/reference/Doxyfile; echo INPUT = $headers; } | doxygen -
[ "${1:-}" != --check ] || echo '1 passed, 0 failed'
