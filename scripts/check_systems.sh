#!/usr/bin/env bash
# Runs README's two commands in a fresh minimal installation of each named system (default: debian12 debian13), then the demo
# again without a network:
#   scripts/check_systems.sh debian13
#   scripts/check_systems.sh --run .ci/run debian12        another command instead of these
# Needs root, debootstrap (for ubuntu2404 also ubuntu-keyring) and the system's packages. Checks out the last commit.
# The root folder is build/systems/NAME, which is removed first and kept afterwards; NAME.log next to it has all output. The
# last line is "N passed, N failed", counting commands on all systems.
set -euo pipefail

# In its own mount namespace, so that all mounts below end with this process.
[ -n "${TAPEFORMER_NAMESPACE:-}" ] || TAPEFORMER_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
systems=$root/build/systems

commands=(./scripts/demo.sh ./scripts/test.sh)
again='./scripts/demo.sh --steps 30'
if [ "${1:-}" = --run ]; then
  commands=("${2:?check_systems: --run needs a command}")
  again=
  shift 2
fi
[ "$#" -gt 0 ] || set -- debian12 debian13

. "$root/scripts/systems.sh"
mkdir -p "$systems"
for name in "$@"; do
  folder=$systems/$name
  log=$systems/$name.log
  : > "$log"
  rm -rf --one-file-system "$folder"
  without_network=()
  try 'a fresh installation' install_system "$name" "$folder" || continue
  prepare_system "$folder"
  git -C "$root" archive HEAD | tar -x -C "$folder/root/tapeformer"
  for command in "${commands[@]}"; do try "$command" inside "$folder" "$command" || true; done
  if [ -n "$again" ]; then
    without_network=(unshare --net)
    try "$again, without a network" inside "$folder" "$again" || true
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
