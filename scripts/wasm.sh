#!/usr/bin/env bash
# Builds the engine for WebAssembly that pages contain, build/wasm/live_engine.wasm.gz, and the program of its checks,
# build/wasm/checks.wasm. --check also runs these checks with Node and compares the explorer's data with those of the native
# command, which needs a build (scripts/test.sh); the last line is then "N passed, N failed". Downloads the
# compiler (PyPI's ziglang, 101 MB) and the sources of three libraries, each once. Exit code 77: something could not be
# downloaded, or a program of scripts/setup.sh --wasm is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deps=$PWD/build/wasm/deps
mkdir -p "$deps"
skip() { printf 'wasm: %s\n' "$*" >&2; exit 77; }

for program in curl wasm-opt zopfli; do
  command -v "$program" >/dev/null || skip "$program is missing (scripts/setup.sh --wasm)"
done

. scripts/bundled_sources.sh
if [ ! -d "$deps/ziglang" ]; then
  python3 -m pip download --quiet --no-deps --no-binary sentencepiece --require-hashes -r cmake/wasm/requirements.txt \
    --dest "$deps/packages" || skip 'the compiler (ziglang) or sentencepiece could not be downloaded with pip'
  mkdir -p "$deps/sentencepiece"
  tar -xzf "$deps"/packages/sentencepiece-*.tar.gz -C "$deps/sentencepiece" --strip-components=1
  rm -rf "$deps/unpacked"
  python3 -m zipfile -e "$deps"/packages/ziglang-*.whl "$deps/unpacked"
  chmod +x "$deps/unpacked/ziglang/zig"
  mv "$deps/unpacked/ziglang" "$deps/ziglang"
  rm -r "$deps/packages" "$deps/unpacked"
fi

export ZIG_GLOBAL_CACHE_DIR=$deps/cache ZIG_LOCAL_CACHE_DIR=$deps/cache
cmake -S cmake/wasm -B build/wasm -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAPEFORMER_WASM_DEPS="$deps" \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/wasm/toolchain.cmake"
ninja -C build/wasm
zopfli --i15 build/wasm/live_engine.wasm
[ "${1:-}" = --check ] || exit 0

command -v node >/dev/null || skip 'Node is missing (apt-get install nodejs)'
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
{
  node --no-warnings tests/wasm/run_checks.mjs build/wasm/checks.wasm build/release/tests || true
  node --no-warnings tests/wasm/compare_explorer.mjs build/wasm/live_engine.wasm build/release/tools/tapeformer || true
} | tee "$counts"
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; ++programs }
  END { failed += 2 - programs; printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }' "$counts"
