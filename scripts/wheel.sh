#!/usr/bin/env bash
# Builds wheels of the Python package for Linux systems with x86-64 and glibc 2.27 or later, in build/wheel/dist: one per given
# Python (default: python3), whose headers must be installed. From Python 3.12 on, the wheel uses the stable ABI, so that one
# wheel serves 3.12 and later:
#   scripts/wheel.sh python3.10 python3.11 python3.12
# A wheel contains the library, the command and all libraries that they need. The compiler is Debian 12's g++ 12, with the C
# library of Ubuntu 18.04; see cmake/wheel. Needs the packages of scripts/setup.sh --wheel. Downloads the rest, each once.
# Exit code 77: something is missing or could not be downloaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$PWD/build/wheel
deps=$work/sources
prefix=$work/prefix
files=$work/files
sysroot=$work/sysroot
skip() { printf 'wheel: %s\n' "$*" >&2; exit 77; }
for program in curl dpkg-deb g++-12 gcc-12; do
  command -v "$program" > /dev/null || skip "$program is missing"
done
mkdir -p "$deps" "$work/debs" "$work/dist"

. scripts/bundled_sources.sh
get fmt "$debian/f/fmtlib/fmtlib_9.1.0+ds1.orig.tar.gz" 84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583
get zlib "$debian/z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2" 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1

# One environment per Python. They have the same versions of all tools.
environment() { printf '%s/python%s' "$work" "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"; }
[ "$#" -gt 0 ] || set -- python3
for python in "$@"; do
  folder=$(environment "$python")
  if ! cmp -s cmake/wheel/requirements.txt "$folder/requirements.txt"; then
    rm -rf "$folder"
    "$python" -m venv "$folder" || skip "$python -m venv failed"
    "$folder/bin/pip" install --quiet -r cmake/wheel/requirements.txt || skip 'packages could not be installed with pip'
    cp cmake/wheel/requirements.txt "$folder/"
  fi
done
tools=$(environment "$1")
export PATH=$tools/bin:$PATH
if [ ! -d "$deps/openblas" ]; then
  pip download --quiet --no-deps --no-binary sentencepiece --require-hashes -r cmake/wheel/sources.txt --dest "$deps/packages" ||
    skip 'sentencepiece or OpenBLAS could not be downloaded with pip'
  rm -rf "$deps/sentencepiece"
  mkdir "$deps/sentencepiece"
  tar -xf "$deps"/packages/sentencepiece-*.tar.gz -C "$deps/sentencepiece" --strip-components=1
  python3 -m zipfile -e "$deps"/packages/scipy_openblas32-*.whl "$deps/openblas"
  rm -r "$deps/packages"
fi

# The C library of Ubuntu 18.04, the kernel's headers and header-only libraries of this system.
if [ ! -f "$sysroot/old_glibc.o" ]; then
  rm -rf "$sysroot"
  ubuntu=http://archive.ubuntu.com/ubuntu/pool/main/g
  while read -r path hash; do
    fetch "$work/debs/${path##*/}" "$ubuntu/$path" "$hash"
    dpkg-deb -x "$work/debs/${path##*/}" "$sysroot"
  done << 'END'
glibc/libc6_2.27-3ubuntu1.6_amd64.deb 5b813d4512491cd8fb30b2eb9192349ee75ffe3c9f21ae136cc7b2429f70c3b2
glibc/libc6-dev_2.27-3ubuntu1.6_amd64.deb 96ae7d2cf38f0547ca3cccb3344c8802fdf5bcd71c4b6d9aed09558ac8cc87db
gcc-8/libgomp1_8.4.0-1ubuntu1~18.04_amd64.deb 2fb511a931d0510d22313fad065c951e04431d75d4e6160e1d80d29e88748c8a
gcc-8/libgcc1_8.4.0-1ubuntu1~18.04_amd64.deb 116dadf4ceaba7150eb46a6598dd3defa62b1b2a6578fb494f4c932878634994
END
  headers=$(dpkg-query -W -f '${Package}\n' linux-libc-dev libxtensor-dev libxtensor-blas-dev xtl-dev libxtl-dev nlohmann-json3-dev \
    libxxhash-dev libcli11-dev libopenblas-openmp-dev 2> /dev/null || true)
  # shellcheck disable=SC2086
  dpkg -L $headers | grep -E '^/usr/(include|lib|share/cmake)/' | grep -vE '[.](so|a|o)$' | sort -u |
    while read -r file; do [ -d "$file" ] || printf '%s\n' "${file#/}"; done | tar -C / -cf - -T - | tar -xf - -C "$sysroot"
  library=$sysroot/usr/lib/x86_64-linux-gnu
  ln -sf libgomp.so.1 "$library/libgomp.so"
  # Absolute links would lead to this system's libraries.
  find "$library" -maxdepth 1 -lname '/*' | while read -r link; do ln -sfr "$sysroot$(readlink "$link")" "$link"; done
  cp "$sysroot/lib/x86_64-linux-gnu/libgcc_s.so.1" "$library/"
  # Functions that libstdc++ may use only where the C library has them.
  mkdir -p "$sysroot/c++/bits"
  sed -E 's,^#define _GLIBCXX_USE_PTHREAD_(COND_CLOCKWAIT|MUTEX_CLOCKLOCK|RWLOCK_CLOCKLOCK) 1,// glibc 2.30: \1,' \
    /usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h > "$sysroot/c++/bits/c++config.h"
  gcc-12 --sysroot="$sysroot" -O2 -fPIC -Wall -Wextra -Werror -c cmake/wheel/old_glibc.c -o "$sysroot/old_glibc.o"
fi

common=(-G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/wheel/toolchain.cmake"
  -D TAPEFORMER_SYSROOT="$sysroot" -D TAPEFORMER_WHEEL_PREFIX="$prefix")
if [ ! -f "$prefix/lib/libsentencepiece_train.a" ]; then
  cmake -S cmake/wheel -B "$work/libraries" "${common[@]}" -D CMAKE_INSTALL_PREFIX="$prefix" -D TAPEFORMER_WHEEL_SOURCES="$deps"
  ninja -C "$work/libraries" install
fi

# What a wheel contains beside the extension.
rm -rf "$files"
mkdir -p "$files/licenses/libraries" "$files/lib"
cp "$deps/openblas/scipy_openblas32/lib/libscipy_openblas.so" "$files/"
cp -L "$sysroot/usr/lib/x86_64-linux-gnu/libgomp.so.1" "$files/lib/"
license() { cp "$2" "$files/licenses/libraries/$1.txt"; }
license OpenBLAS "$deps"/openblas/*.dist-info/licenses/LICENSE.txt
license fmt "$deps/fmt/LICENSE.rst"
license zlib "$deps/zlib/README"
license utf8proc "$deps/utf8proc/LICENSE.md"
license Oniguruma "$deps/oniguruma/COPYING"
license sentencepiece "$deps/sentencepiece/sentencepiece/LICENSE"
for part in absl darts_clone esaxx protobuf-lite; do
  license "sentencepiece-$part" "$deps/sentencepiece/sentencepiece/third_party/$part/LICENSE"
done

license GCC-runtime /usr/share/doc/gcc-12-base/copyright
for package in libxtensor-dev nlohmann-json3-dev libxxhash-dev libcli11-dev; do
  license "${package%-dev}" "/usr/share/doc/$package/copyright"
done
license nanobind "$(python3 -c 'import importlib.metadata as m; print(next(f.locate() for f in m.files("nanobind") if f.name == "LICENSE"))')"

rm -rf "$work/dist"
for python in "$@"; do
  python=$(environment "$python")/bin/python
  stable=$("$python" -c 'import sys; print("SABIModule" if sys.version_info >= (3, 12) else "")')
  # The library is the same for every Python, so only the bindings are compiled again.
  cmake -S . -B "$work/build" "${common[@]}" -U 'Python_*' -U '_Python*' -U 'nanobind_*' \
    -D Python_EXECUTABLE="$python" -D Python_INCLUDE_DIR="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
    -D SKBUILD_SABI_COMPONENT="${stable:+Development.$stable}" -D SKBUILD_METADATA_DIR=metadata -D TAPEFORMER_WHEEL_FILES="$files" \
    -D TAPEFORMER_PYTHON=ON -D TAPEFORMER_TESTS=OFF -D TAPEFORMER_EXAMPLES=OFF -D TAPEFORMER_TOOLS=OFF -D TAPEFORMER_CUDA=OFF \
    -D BUILD_SHARED_LIBS=OFF -D TAPEFORMER_OPENBLAS="$files/libscipy_openblas.so" \
    -D TAPEFORMER_OPENBLAS_FILE='$ORIGIN/libscipy_openblas.so' -D TAPEFORMER_OPENBLAS_PREFIX=scipy_
  ninja -C "$work/build" tapeformer_stub
  LD_LIBRARY_PATH=$files/lib "$python" cmake/wheel/pack.py --build "$work/build" --stage "$work/stage" --to "$work/dist" ${stable:+--stable-abi}
done
ls -l "$work/dist"
