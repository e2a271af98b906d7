#!/usr/bin/env bash
# Checks Tapeformer on this machine's GPU: builds with CUDA kernels in build/gpu (BUILD=FOLDER: there), then runs the stages of
# scripts/gpu_stages.sh, which take at most seven minutes: `scripts/gpu_check.sh [OUT]`. OUT (default: build/gpu/check) receives
# their results.
#
# `scripts/gpu_check.sh --bundle FILE.tar` builds and packs instead: the programs with all libraries except the C library's, and
# check.sh, which runs the stages on a machine that has an NVIDIA driver and nothing else. It fails if FILE.tar is 60 MiB or larger.
#
# Needs nvcc (scripts/nvcc.sh finds it or says how to get it); exit code 77 without it, or if there is no GPU to check.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build/gpu}")
most_bytes=$((60 << 20))

bundle=
if [ "${1:-}" = --bundle ]; then
  bundle=$(realpath "${2:?gpu_check: --bundle needs the name of a file}")
  shift 2
fi

. "$root/scripts/nvcc.sh"
nvcc=$(find_nvcc) || exit 77
# RPATH, unlike RUNPATH, is also where the libraries of a library are looked for.
cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D TAPEFORMER_CUDA=ON -D TAPEFORMER_NVCC_PROGRAM="$nvcc" \
  -D TAPEFORMER_KERNELS=all -D TAPEFORMER_EXAMPLES=OFF -D CMAKE_BUILD_RPATH='$ORIGIN/lib' \
  -D CMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -D CMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags > "$build.log" 2>&1 ||
  { cat "$build.log" >&2; exit 1; }
cmake --build "$build" --target tapeformer_command test_cuda

if [ -z "$bundle" ]; then
  TAPEFORMER=$build/tools/tapeformer TEST_CUDA=$build/tests/test_cuda exec "$root/scripts/gpu_stages.sh" "${1:-$build/check}"
fi

# The libraries that ldd finds, except those of the C library, which belong to the loader of the other machine.
libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util))[.]so[^/]*$'
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
content=$work/tapeformer_gpu
mkdir -p "$content/lib"
cp "$build/tools/tapeformer" "$build/tests/test_cuda" "$content/"
cp "$root/scripts/gpu_stages.sh" "$content/check.sh"
# OpenBLAS is opened at run time.
openblas=$(sed -n 's/^TAPEFORMER_OPENBLAS:FILEPATH=//p' "$build/CMakeCache.txt")
cp -L "$openblas" "$content/lib/libopenblas.so.0"
libraries "$build/tools/tapeformer" "$build/tests/test_cuda" "$openblas" | xargs cp -L -t "$content/lib"
# Symbols of functions stay, for errors that name a line or a function.
strip --strip-debug "$content"/lib/*
if libraries "$content/tapeformer" "$content/test_cuda" | grep -v "^$content/"; then
  printf 'gpu_check: the bundle would use these libraries of this machine\n' >&2
  exit 1
fi
tar -C "$work" -czf "$bundle" tapeformer_gpu  # tar recognizes the compression, whatever the name
bytes=$(stat -c %s "$bundle")
printf '%s: %d bytes. There: tar xf %s && tapeformer_gpu/check.sh\n' "$bundle" "$bytes" "$(basename "$bundle")"
if [ "$bytes" -ge "$most_bytes" ]; then
  printf 'gpu_check: the bundle must be smaller than %d bytes\n' "$most_bytes" >&2
  ls -lS "$content" "$content/lib" >&2
  exit 1
fi
