# For scripts that test in fresh minimal installations; needs root, debootstrap (for Ubuntu also ubuntu-keyring) and the
# system's packages. Source it after these are set: name (of the system), log (a file), without_network (an array of words
# before a command, or empty).

# install_system NAME FOLDER: installs from the distribution's default server. For a release that debootstrap does not know
# yet, uses the script of an older release.
install_system() {
  local scripts=/usr/share/debootstrap/scripts suite script
  case "$1" in
    debian12) suite=bookworm script=sid ;;
    debian13) suite=trixie script=sid ;;
    ubuntu2404) suite=noble script=gutsy ;;
    ubuntu2204) suite=jammy script=gutsy ;;
    *)
      printf 'unknown system %s; known are debian12, debian13, ubuntu2204 and ubuntu2404\n' "$1" >&2
      exit 2
      ;;
  esac
  [ ! -e "$scripts/$suite" ] || script=$suite
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$2" "" "$scripts/$script"
  # Ubuntu's compiler and OpenMP are in universe, which is not enabled by default.
  if [[ "$1" = ubuntu* ]]; then sed -i 's/ main$/ main universe/' "$2/etc/apt/sources.list"; fi
}

# prepare_system FOLDER: its mounts, and this machine's certificates, because a proxy may have its own.
prepare_system() {
  local part
  for part in proc sys dev dev/pts; do mount --bind "/$part" "$1/$part"; done
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"; fi
  mkdir -p "$1/root/tapeformer"
}

# inside FOLDER COMMAND: runs in its root/tapeformer, with the environment of a fresh login. npm trusts the certificates too.
inside() {
  "${without_network[@]}" chroot "$1" env -i HOME=/root USER=root LANG=C.UTF-8 TERM=dumb CI="${CI:-}" \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt DEBIAN_FRONTEND=noninteractive \
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
