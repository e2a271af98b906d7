#!/usr/bin/env bash
# Completes Debian packages that CPack made, in place, to what Debian's policy asks for:
#   scripts/finish_debs.sh FILE.deb...
# Compresses manual pages, adds both change logs, removes empty folders, and replaces maintainer scripts that only call ldconfig
# by a trigger. Installed-Size counts each file once; CPack counts a symbolic link to a library as another library.
# CPack runs this (cmake/TapeformerDebian.cmake). Needs dpkg-deb and gzip. The time of SOURCE_DATE_EPOCH, or of CHANGELOG.md,
# is the time of the packages.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$root/CHANGELOG.md")}
export SOURCE_DATE_EPOCH
umask 022
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# field NAME: of the control file.
field() { sed -n "s/^$1: //p" "$tree/DEBIAN/control"; }

change_logs() {
  local doc maintainer
  doc=$tree/usr/share/doc/$(field Package)
  maintainer=$(field Maintainer)
  case "$maintainer" in *'<'*) ;; *) maintainer+=' <>' ;; esac
  gzip -9nc "$root/CHANGELOG.md" > "$doc/changelog.gz"
  printf 'tapeformer (%s) unstable; urgency=medium\n\n  * Package of version %s; changelog.gz lists its changes.\n\n -- %s  %s\n' \
    "$(field Version)" "$(field Version | cut -d- -f1)" "$maintainer" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" |
    gzip -9n > "$doc/changelog.Debian.gz"
}

# In KiB as dpkg-gencontrol counts: each file rounded up, and one for everything else.
installed_size() {
  find "$tree" -path "$tree/DEBIAN" -prune -o -printf '%y %s\n' |
    awk '$1 == "f" { total += int(($2 + 1023) / 1024); next } { ++total } END { print total }'
}

for package in "$@"; do
  rm -rf "$tree"
  dpkg-deb --raw-extract "$package" "$tree"
  if [ -d "$tree/usr/share/man" ]; then find "$tree/usr/share/man" -type f ! -name '*.gz' -exec gzip -9n {} +; fi
  change_logs
  find "$tree/usr" -type d -empty -delete
  if [ -e "$tree/DEBIAN/postinst" ]; then
    rm "$tree/DEBIAN/postinst" "$tree/DEBIAN/postrm"
    printf 'activate-noawait ldconfig\n' > "$tree/DEBIAN/triggers"
  fi
  (cd "$tree" && find usr -type f -printf '%P\0' | LC_ALL=C sort -z | sed -z 's,^,usr/,' | xargs -0 md5sum) > "$tree/DEBIAN/md5sums"
  sed -i "s/^Installed-Size: .*/Installed-Size: $(installed_size)/" "$tree/DEBIAN/control"
  find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" > /dev/null
done
