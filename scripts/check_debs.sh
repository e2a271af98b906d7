#!/usr/bin/env bash
# Builds the Debian packages in a fresh minimal installation of each named system (default: debian12 debian13), installs them
# in another one and uses them there: the command without a compiler, then the library with g++, CMake and pkg-config.
# lintian must find no errors and no warnings in them.
#   scripts/check_debs.sh debian13
#   scripts/check_debs.sh --packages build/debian debian12     installs packages that were built for this system instead
# Needs root and debootstrap. Builds the last commit. The installations are build/systems/NAME-debs and NAME-debs-build,
# which are removed first and kept afterwards; NAME-debs.log next to them has all output. The packages remain in
# NAME-debs/root/tapeformer. The last line is "N passed, N failed", counting steps on all systems.
set -euo pipefail

# In its own mount namespace, so that all mounts below end with this process.
[ -n "${TAPEFORMER_NAMESPACE:-}" ] || TAPEFORMER_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
systems=$root/build/systems
packages=
if [ "${1:-}" = --packages ]; then
  packages=${2:?check_debs: --packages needs a folder}
  shift 2
fi
[ "$#" -gt 0 ] || set -- debian12 debian13
. "$root/scripts/systems.sh"

install='apt-get -qq install -y --no-install-recommends'
manual='test -s /usr/share/man/man1/tapeformer-train-lm.1.gz && test -s /usr/share/doc/tapeformer/copyright'
completions='test -s /usr/share/bash-completion/completions/tapeformer && test -s /usr/share/zsh/vendor-completions/_tapeformer &&
  test -s /usr/share/fish/vendor_completions.d/tapeformer.fish'

# The README's first program, which needs no other file.
program="awk '/^\`\`\`/ { inside = 0 } inside; /^\`\`\`cpp/ && !done { inside = done = 1 }' README.md > program.cpp"

# sizes FOLDER: of the packages, and installed, in bytes and KiB.
sizes() {
  local package
  for package in "$1"/*.deb; do
    printf '%s: %s: %d bytes, installed %s KiB, depends on %s\n' "$name" "${package##*/}" "$(stat -c %s "$package")" \
      "$(dpkg-deb -f "$package" Installed-Size)" "$(dpkg-deb -f "$package" Depends)"
  done
}

mkdir -p "$systems"
for name in "$@"; do
  folder=$systems/$name-debs
  build=$folder-build
  log=$folder.log
  : > "$log"
  rm -rf --one-file-system "$folder" "$build"
  without_network=()
  try 'a fresh installation' install_system "$name" "$folder" || continue
  if [ -z "$packages" ]; then
    cp -a "$folder" "$build"
    prepare_system "$build"
    git -C "$root" archive HEAD | tar -x -C "$build/root/tapeformer"
    try 'build the packages' inside "$build" scripts/build_debs.sh || continue
  fi
  prepare_system "$folder"
  cp "${packages:-$build/root/tapeformer/build/debian}"/*.deb "$root/README.md" "$folder/root/tapeformer/"
  cp -r "$root/tests/consumer" "$folder/root/tapeformer/"
  sizes "$folder/root/tapeformer"

  try 'update, install and train the demo' inside "$folder" \
    "apt-get -qq update && $install ./libtapeformer0*.deb ./tapeformer_*.deb && tapeformer demo" || continue
  without_network=(unshare --net)
  try 'no compiler is installed' inside "$folder" '! command -v c++ && ! command -v g++' || true
  try 'tapeformer --version' inside "$folder" 'tapeformer --version' || true
  # The library that the package depends on, in the variant that the build selected.
  try 'tapeformer info' inside "$folder" 'tapeformer info | tee /dev/stderr | grep -q "OpenBLAS .*(openmp)"' || true
  try 'tapeformer demo --steps 30' inside "$folder" \
    'rm -rf runs && tapeformer demo --steps 30 && test -s runs/number-words/explorer.html' || true
  try 'manual pages and copyright' inside "$folder" "$manual" || true
  try 'completions' inside "$folder" "$completions" || true
  without_network=()
  try 'install the headers and g++' inside "$folder" \
    "$install ./libtapeformer-dev*.deb ./libtapeformer-cuda*.deb g++ cmake make pkg-config" || continue
  without_network=(unshare --net)
  try 'a program with find_package' inside "$folder" \
    'cmake -S consumer -B consumer/build -D CMAKE_BUILD_TYPE=Release && cmake --build consumer/build && consumer/build/consumer' || true
  try 'a program with pkg-config' inside "$folder" \
    "$program && g++ -std=c++20 -O1 program.cpp -o program \$(pkg-config --cflags --libs tapeformer) && ./program" || true
  try 'the xtensor bridge with pkg-config' inside "$folder" \
    'echo "#include <tapeformer/autograd/xtensor.h>" | g++ -std=c++20 -fsyntax-only -x c++ - $(pkg-config --cflags tapeformer)' || true
  # Its headers need neither fmt nor nlohmann-json.
  try 'a gradient check with component core' inside "$folder" \
    '! g++ -std=c++20 -M consumer/core/gradient.cpp $(pkg-config --cflags tapeformer-core) | grep -E "/(fmt|nlohmann)/" && g++ -std=c++20 -O1 consumer/core/gradient.cpp -o gradient $(pkg-config --cflags --libs tapeformer-core) && ./gradient && ! ldd gradient | grep -E "sentencepiece|onig|utf8proc"' || true
  without_network=()
  try 'lintian' inside "$folder" "$install lintian && lintian --fail-on error,warning ./*.deb" || true
  try 'remove the packages' inside "$folder" "apt-get -qq purge -y 'tapeformer' 'libtapeformer*' && ! command -v tapeformer" || true
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
