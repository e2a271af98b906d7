#!/usr/bin/env bash
# Writes the API reference to build/reference/html (and xml) from the doc comments of the public headers: those that
# tapeformer.h includes. Needs doxygen. Fails if a public symbol has no comment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v doxygen > /dev/null || { echo "reference.sh: doxygen is missing (apt-get install doxygen)" >&2; exit 1; }
headers=$(sed -n 's/^#include "\(.*\)"$/\1/p' tapeformer.h; sed -n 's/^#include "\(ops\/.*\)"$/autograd\/\1/p' autograd/ops.h)
# What these include in turn and users name.
headers+=" nn/module/child.h optim/optimizer.h base/error.h autograd/dtype.h autograd/number.h autograd/shape.h
  autograd/gradcheck/report.h autograd/ops/convolution/spatial.h autograd/tape/attributes.h
  autograd/tape/backward.h autograd/tape/op.h autograd/tape/trace.h"
mkdir -p build/reference
{ cat docs/reference/Doxyfile; echo INPUT = $headers; } | doxygen -
