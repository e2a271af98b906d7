# For scripts that compile libraries from their sources (cmake/BundledLibraries.cmake). Source it after these are set: deps (the
# folder for sources, which exists) and skip (a function that prints a reason and exits).

# fetch FILE URL SHA256: downloads, unless it is there.
fetch() {
  [ -f "$1" ] || curl -fsSL --retry 2 -o "$1" "$2" || skip "$2 could not be downloaded"
  sha256sum --quiet -c <<<"$3  $1" || skip "$2 is not the file that was expected"
}

# get NAME URL SHA256: downloads and unpacks sources into deps/NAME.
get() {
  [ ! -d "$deps/$1" ] || return 0
  fetch "$deps/$1.tar" "$2" "$3"
  rm -rf "$deps/$1.new"
  mkdir "$deps/$1.new"
  tar -xf "$deps/$1.tar" -C "$deps/$1.new" --strip-components=1
  rm "$deps/$1.tar"
  mv "$deps/$1.new" "$deps/$1"
}

debian=https://deb.debian.org/debian/pool/main
get utf8proc "$debian/u/utf8proc/utf8proc_2.8.0.orig.tar.gz" a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc
get oniguruma "$debian/libo/libonig/libonig_6.9.8.orig.tar.gz" 26372720bab6733c869a9eb69377f73971138dc5e3eff4a81f5ba8aea5435fb2
