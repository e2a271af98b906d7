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

# install_system NAME FOLDER: installs from the distribution's default server. For a release that debootstrap does not know
# yet, uses the script of an older release.
install_system() {
  local scripts=/usr/share/debootstrap/scripts suite script
  case "$1" in
    debian12) suite=bookworm script=sid ;;
    debian13) suite=trixie script=sid ;;
    ubuntu2404) suite=noble script=gutsy ;;
    *)
      printf 'check_systems: unknown system %s; known are debian12, debian13 and ubuntu2404\n' "$1" >&2
      exit 2
      ;;
  esac
  [ ! -e "$scripts/$suite" ] || script=$suite
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$2" "" "$scripts/$script"
  # Ubuntu's compiler and OpenMP are in universe, which is not enabled by default.
  if [ "$1" = ubuntu2404 ]; then sed -i 's/ main$/ main universe/' "$2/etc/apt/sources.list"; fi
}

# inside FOLDER COMMAND: runs in the checkout there, with the environment of a fresh login. npm trusts this machine's
# certificates, because a proxy may have its own.
inside() {
  "${without_network[@]}" chroot "$1" env -i HOME=/root USER=root LANG=C.UTF-8 TERM=dumb CI="${CI:-}" \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /root/tapeformer && $2"
}

passed=0
failed=0
# try WHAT COMMAND...: runs with output to the log.
try() {
  local begun=$SECONDS status=0
  "${@:2}" >> "$log" 2>&1 || status=$?
  printf '%s: %s: exit code %d after %d s\n' "$name" "$1" "$status" "$((SECONDS - begun))"
  if [ "$status" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 40 "$log"
  fi
  return "$status"
}

mkdir -p "$systems"
for name in "$@"; do
  folder=$systems/$name
  log=$systems/$name.log
  : > "$log"
  rm -rf --one-file-system "$folder"
  without_network=()
  try 'a fresh installation' install_system "$name" "$folder" || continue
  for part in proc sys dev dev/pts; do mount --bind "/$part" "$folder/$part"; done
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"; fi
  mkdir -p "$folder/root/tapeformer"
  git -C "$root" archive HEAD | tar -x -C "$folder/root/tapeformer"
  for command in "${commands[@]}"; do try "$command" inside "$folder" "$command" || true; done
  if [ -n "$again" ]; then
    without_network=(unshare --net)
    try "$again, without a network" inside "$folder" "$again" || true
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
