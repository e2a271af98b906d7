#!/usr/bin/env bash
# Builds the Debian packages of the command, the library and the headers for this system: build/debian/*.deb. Installs what that
# needs. Arguments go to CMake, for example -D TAPEFORMER_CUDA=ON.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./scripts/setup.sh --deb
rm -f build/debian/*.deb
cmake --preset debian "$@"
cmake --build --preset debian
