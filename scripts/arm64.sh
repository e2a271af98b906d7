#!/usr/bin/env bash
# Cross-compiles the library, the command and tests for 64-bit ARM with Debian 13's g++, and runs tests, the gradient checks of
# all operations and layers, and a short training in emulation by qemu-user:
#   scripts/arm64.sh                    everything below
#   scripts/arm64.sh --build            without running anything
# Builds the working tree, in a minimal installation of its own (build/systems/arm64), which is made on first use and kept, like
# the build folder build/arm64. Needs root and debootstrap; exit code 77 if they are missing. arm64.log next to the installation
# has all output. The last line is "N passed, N failed", counting steps.
set -euo pipefail

missing() {
  printf 'arm64: %s, so nothing was built\n' "$1" >&2
  exit 77
}
[ "$(id -u)" -eq 0 ] || missing 'not root, which debootstrap needs'
command -v debootstrap > /dev/null || missing 'debootstrap is not installed'

# In its own mount namespace, so that all mounts below end with this process.
[ -n "${TAPEFORMER_NAMESPACE:-}" ] || TAPEFORMER_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build/systems/arm64
name=arm64
log=$folder.log
without_network=()
. "$root/scripts/systems.sh"
mkdir -p "$folder" "$root/build/arm64"
: > "$log"

# What scripts/setup.sh installs: tools for this machine, libraries for the other.
tools='cmake ninja-build ccache mold g++-aarch64-linux-gnu qemu-user libcli11-dev libxtensor-dev libxtensor-blas-dev nlohmann-json3-dev'
libraries=
for library in libopenblas-openmp-dev libfmt-dev libutf8proc-dev libonig-dev libsentencepiece-dev libxxhash-dev zlib1g-dev \
  libgtest-dev libgmock-dev; do
  libraries+=" $library:arm64"
done
if [ ! -e "$folder/root/installed" ]; then
  rm -rf --one-file-system "$folder"
  try 'a fresh installation' install_system debian13 "$folder"
  prepare_system "$folder"
  try 'install a cross compiler and libraries' inside "$folder" "dpkg --add-architecture arm64 && apt-get -qq update &&
    apt-get -qq install -y --no-install-recommends $tools $libraries && touch /root/installed"
else
  prepare_system "$folder"
fi
mount --bind "$root" "$folder/root/tapeformer"
without_network=(unshare --net)

# in_build COMMAND: runs in the build folder, with programs for ARM by their names. The CPU is one that exists: with the vectors
# of 512 bits that qemu-user emulates by default, tests of linear algebra fail (docs/guide/building.md).
in_build() { inside "$folder" "cd build/arm64 && export CCACHE_DIR=/root/ccache QEMU_LD_PREFIX=/ QEMU_CPU=neoverse-v1 && $1"; }
# -O1 would halve the time to compile, but the kernels would not be those that users run.
try configure inside "$folder" 'cmake -S . -B build/arm64 -G Ninja -D CMAKE_BUILD_TYPE=Release -D TAPEFORMER_WERROR=ON \
  -D CMAKE_SYSTEM_NAME=Linux -D CMAKE_SYSTEM_PROCESSOR=aarch64 -D CMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -D CMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/qemu-aarch64 -D TAPEFORMER_CUDA=OFF'
try 'build the library and the command' in_build 'ninja tapeformer_command'
try 'build the tests' in_build 'ninja test_base test_autograd test_nn test_optim test_text test_train test_registered'

# emulate PROGRAM [FILTER]: emulation takes ten to twenty times as long, so slow tests are left out.
emulate() {
  try "tests of $1" in_build "qemu-aarch64 tests/test_$1 --gtest_brief=1 --gtest_filter='${2:-*}'" || true
}
if [ "${1:-}" != --build ]; then
  emulate base
  emulate optim
  emulate text '-NumberWords.AreUnique*:ReadingTime.*'
  emulate nn  # with the gradient checks of all modules
  emulate registered
  # Gradients of all operations (Ops/Registry), kernels, cases of PyTorch, files, the gradient check itself (not its
  # time limits).
  emulate autograd 'Levels/*:Cases/*:Ops/*:Operations/*:Safetensors.*:Npy.*:Gradcheck*:Tape.*:Linalg*:Gemm.*:Print*:Random.*:Cast.*:StoredDtypes.*-Levels/Attention*:Levels/VecMath*:Levels/GemmAtLevel*:Tape.SupportsAVeryDeepChain:GradcheckTime.*'
  # Not those that start programs, which needs an emulator that the kernel knows.
  emulate train 'TranslationLearns.*:TrainerTest.*:Loader.*:MovingAverage.*:OptimizerSlices.*'
  # The demo's first step takes minutes.
  try 'train a language model with the command' in_build 'rm -rf run && seq 2000 > lines.txt && qemu-aarch64 tools/tapeformer \
    train lm --text lines.txt --out run --vocab-size 300 --context 16 --batch 4 --layers 1 --width 32 --heads 2 --steps 20 &&
    qemu-aarch64 tools/tapeformer generate --model run --prompt 12' || true
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
