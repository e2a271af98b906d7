#!/usr/bin/env bash
# Runs README's two commands in a fresh minimal installation of each system named (without names: debian12 debian13), then the
# demo again without a network:
#   scripts/check_systems.sh debian13
#   scripts/check_systems.sh --run .ci/run debian12        another command instead of these
# Needs root, debootstrap (for ubuntu2404 also ubuntu-keyring) and the system's packages. What is tried is the last commit.
# The root folder is build/systems/NAME, removed before and left afterwards; NAME.log beside it has all output. The last
# line is "N passed, N failed", one per system and command.
set -euo pipefail

# In a mount namespace of its own: whatever is mounted below ends with this process.
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

# install_system NAME FOLDER: the distribution's own default server; a script of debootstrap's that it does not know yet is
# that of an older release.
install_system() {
  local scripts=/usr/share/debootstrap/scripts suite script
  case "$1" in
    debian12) suite=bookworm script=sid ;;
    debian13) suite=trixie script=sid ;;
    ubuntu2404) suite=noble script=gutsy ;;
    *)
      printf 'check_systems: no system %s; there are debian12, debian13 and ubuntu2404\n' "$1" >&2
      exit 2
      ;;
  esac
  [ ! -e "$scripts/$suite" ] || script=$suite
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$2" "" "$scripts/$script"
  # The compiler and OpenMP of Ubuntu are in a part that is not on by default.
  if [ "$1" = ubuntu2404 ]; then sed -i 's/ main$/ main universe/' "$2/etc/apt/sources.list"; fi
}

# inside FOLDER COMMAND: in the checkout there, with an environment as after logging in. npm trusts what this machine does:
# a proxy may have a certificate of its own.
inside() {
  "${without_network[@]}" chroot "$1" env -i HOME=/root USER=root LANG=C.UTF-8 TERM=dumb CI="${CI:-}" \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /root/tapeformer && $2"
}

passed=0
failed=0
# try WHAT COMMAND...: with its output in the log.
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
