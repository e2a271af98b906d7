#!/usr/bin/env bash
# Writes the API reference to build/reference/html (and xml) from the doc comments of the public headers: those that
# tapeformer.h includes. Fails if a public symbol has no comment. Needs doxygen. --check installs it (apt) and exits with 77
# if that is not possible or gives another version than the one whose warnings the comments are free of.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checked_version=1.9.4
if [ "${1:-}" = --check ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  command -v doxygen > /dev/null ||
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends doxygen >&2 || exit 77
  [ "$(doxygen --version | cut -d' ' -f1)" = "$checked_version" ] || { echo "doxygen is not $checked_version" >&2; exit 77; }
fi
command -v doxygen > /dev/null || { echo "reference.sh: doxygen is missing (apt-get install doxygen)" >&2; exit 1; }

headers=$(sed -n 's/^#include "\(.*\)"$/\1/p' tapeformer.h; sed -n 's/^#include "\(ops\/.*\)"$/autograd\/\1/p' autograd/ops.h)
# What these include in turn and users name.
headers+=" nn/module/child.h optim/optimizer.h base/error.h autograd/dtype.h autograd/number.h autograd/shape.h
  autograd/gradcheck/report.h autograd/ops/convolution/spatial.h autograd/tape/attributes.h autograd/tape/backward.h
  autograd/tape/op.h autograd/tape/trace.h"
mkdir -p build/reference
{ cat docs/reference/Doxyfile; echo INPUT = $headers; } | doxygen -
