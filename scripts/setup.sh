#!/usr/bin/env bash
# Installs the packages that the build needs on Debian 12 and 13 (tested on 28 November 2026; other systems with apt-get are
# untested). --core installs only those of component core. --deb adds those that make Debian packages, --fuzz those of
# scripts/fuzz.sh, --mpi those of -D TAPEFORMER_MPI=ON, --python those of scripts/python.sh, --reference that of
# scripts/reference.sh, --wasm those of scripts/wasm.sh, --wheel those of scripts/wheel.sh.
# Changes nothing, and needs no network, if everything is installed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/clang.sh"

say() { printf 'setup: %s\n' "$*" >&2; }

needed=(g++ cmake ninja-build libxtensor-dev libxtensor-blas-dev libopenblas-openmp-dev libfmt-dev
  nlohmann-json3-dev libutf8proc-dev libonig-dev libsentencepiece-dev libxxhash-dev zlib1g-dev libcli11-dev libgtest-dev libgmock-dev)
helpers=(ccache mold) # optional, for faster rebuilds
clang=no
case "${1:-}" in
  "") ;;
  --core) needed=(g++ cmake ninja-build libopenblas-openmp-dev libfmt-dev libgtest-dev) ;;
  --deb) needed+=(dpkg-dev file) ;;
  --fuzz) fuzzing_clang > /dev/null || clang=yes ;;
  --mpi) needed+=(libopenmpi-dev openmpi-bin) ;;
  --python) needed+=(python3-dev python3-venv) ;;
  --reference) needed+=(doxygen) ;;
  --wasm) needed+=(binaryen ca-certificates curl nodejs python3-pip zopfli) ;;
  --wheel) needed+=(g++-12 ca-certificates curl python3-dev python3-venv) ;;
  *)
    printf 'setup: %s: no such option (options are --core, --deb, --fuzz, --mpi, --python, --reference, --wasm and --wheel)\n' "$1" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "this system has no apt-get, so nothing was installed. The build needs: a C++20 compiler (g++ 12 or later),"
  say "CMake 3.22 or later, Ninja, and these libraries with their headers: xtensor 0.24 or 0.25, xtensor-blas, OpenBLAS"
  say "(OpenMP variant), fmt 8 or later, nlohmann-json 3.10 or later, utf8proc 2, Oniguruma 6.9.8 or later, sentencepiece 0.1.96 or later,"
  say "xxHash 0.8 or later, zlib, CLI11 2, GoogleTest and GoogleMock."
  exit 0 # CMake checks whether they are installed
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >&2; }
install() { apt install -y --no-install-recommends "$@"; }
known() {
  local package
  for package in "$@"; do apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || return 1; done
}

# Prints which of the given packages are not installed. A tool from elsewhere counts as installed.
missing_of() {
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    case "$package" in
      g++ | cmake | ccache | mold) command -v "$package" >/dev/null && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;;
    esac
    grep -qxF "installed $package" <<<"$installed" || printf '%s\n' "$package"
  done
}

mapfile -t missing < <(missing_of "${needed[@]}")
[ "${#missing[@]}" -eq 0 ] && [ "$clang" = no ] && exit 0

mapfile -t wanted_helpers < <(missing_of "${helpers[@]}")
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
  [ "$clang" = no ] || missing+=(clang libclang-rt-dev libomp-dev)
  say "these packages are missing: ${missing[*]}"
  say "installing them needs root, but sudo is not available. As root, run:"
  say "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  exit 1
fi

updated=no
update() {
  [ "$updated" = no ] || return 0
  apt update || say "apt-get update failed; trying with the existing package lists"
  updated=yes
}

# The newest clang of the distribution.
if [ "$clang" = yes ]; then
  update
  for version in "${clang_versions[@]}"; do
    packages=("clang-$version" "libclang-rt-$version-dev" "libomp-$version-dev")
    if known "${packages[@]}"; then
      missing+=("${packages[@]}")
      break
    fi
  done
fi

say "installing with apt-get: ${missing[*]}"
known "${missing[@]}" || update
# Outdated package lists name files that no longer exist: update them and try again.
if ! install "${missing[@]}" && ! { [ "$updated" = no ] && update && install "${missing[@]}"; }; then
  say "apt-get could not install everything. See its message above, or run as root:"
  say "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  exit 1
fi

for helper in "${wanted_helpers[@]}"; do
  say "installing with apt-get: $helper (optional)"
  install "$helper" || say "continuing without $helper"
done
