#!/usr/bin/env bash
# Checks the recipes of packaging/ and the workflows as far as that is possible without vcpkg, Docker and GitHub:
#   scripts/check_packaging.sh                                all, in build/packaging
#   scripts/check_packaging.sh recipes vcpkg conan docker     some
# recipes: rules of the files; a JSON schema of workflows. vcpkg: the port's steps, with functions that stand in for vcpkg's
# and the system's libraries, then programs with the result. conan: `conan create` with the program in test_package. docker: the
# steps of the Dockerfile in a minimal Debian 13, with packages that scripts/check_debs.sh debian13 has built; needs root and
# debootstrap. Tools come from PyPI. What cannot run is named and not counted. The last line is "N passed, N failed".
set -euo pipefail

# In its own mount namespace, so that all mounts below end with this process.
if [ -z "${TAPEFORMER_NAMESPACE:-}" ] && [ "$(id -u)" -eq 0 ] && unshare --mount true 2> /dev/null; then
  TAPEFORMER_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
folder=$root/build/packaging
name=packaging
log=$folder/packaging.log
without_network=()
. scripts/systems.sh
mkdir -p "$folder"
: > "$log"
[ "$#" -gt 0 ] || set -- recipes vcpkg conan docker
not_checked() { printf 'packaging: %s was not checked: %s\n' "$1" "$2"; }

# Tools in a virtual environment of their own. PyYAML comes with Conan.
tools=$folder/tools
if [ ! -x "$tools/bin/conan" ]; then
  apt-get -qq install -y --no-install-recommends python3-venv > /dev/null 2>> "$log" || true
  { python3 -m venv "$tools" && "$tools/bin/pip" -q install 'conan>=2.20,<3' check-jsonschema; } >> "$log" 2>&1 || rm -rf "$tools"
fi
export CONAN_HOME=$folder/conan

check_recipes() {
  if [ ! -x "$tools/bin/conan" ]; then
    not_checked recipes 'its tools could not be installed from PyPI'
    return
  fi
  try 'rules of vcpkg.json, the Dockerfile and the workflows' "$tools/bin/python" tests/packaging/check_recipes.py . || true
  try 'the schema of workflows' "$tools/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml || true
}

check_vcpkg() {
  ./scripts/setup.sh >> "$log" 2>&1

  local build=$folder/vcpkg tree=$folder/vcpkg/packages
  try 'the steps of the vcpkg port' cmake -D PORT_FOLDER="$root/packaging/vcpkg" -D FOLDER="$build" -D FEATURES=tools \
    -P tests/packaging/run_portfile.cmake || return 0
  # vcpkg itself makes programs find their libraries.
  try 'the command of the port' env LD_LIBRARY_PATH="$tree/lib" "$tree/tools/tapeformer/tapeformer" info || true
  rm -rf "$build/consumer"
  try 'a program with the port' bash -c "cmake -S tests/consumer -B '$build/consumer' -G Ninja -D CMAKE_BUILD_TYPE=Release \
    -D CMAKE_PREFIX_PATH='$tree' && cmake --build '$build/consumer' && '$build/consumer/consumer'" || true
}

check_conan() {
  if [ ! -x "$tools/bin/conan" ]; then
    not_checked conan 'it could not be installed from PyPI'
    return
  fi
  ./scripts/setup.sh >> "$log" 2>&1
  "$tools/bin/conan" profile detect --exist-ok >> "$log" 2>&1
  try 'conan inspect' "$tools/bin/conan" inspect packaging/conan || return 0
  # Without a server, so that nothing but the recipe and the system's libraries is used.
  try 'conan create' "$tools/bin/conan" create packaging/conan --no-remote -s compiler.cppstd=20 --build=missing || true
}

check_docker() {
  local debs=$root/build/systems/debian13-debs/root/tapeformer image=$folder/docker copied run
  if ! compgen -G "$debs/tapeformer_*.deb" > /dev/null; then
    not_checked docker 'there are no packages for Debian 13 (scripts/check_debs.sh debian13)'
    return
  fi
  if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap > /dev/null; then
    not_checked docker 'not root, or debootstrap is not installed'
    return
  fi
  read -ra copied <<< "$(sed -n 's/^COPY \(.*\) .*/\1/p' packaging/Dockerfile)"
  run=$(sed -n 's/^RUN //p' packaging/Dockerfile)
  rm -rf --one-file-system "$image"
  try 'a fresh Debian 13' install_system debian13 "$image" || return 0
  prepare_system "$image"
  mkdir -p "$image/tmp/packages" "$image/data"
  (cd "$debs" && cp $(printf '%s ' "${copied[@]}") "$image/tmp/packages/")
  try 'RUN of the Dockerfile' inside "$image" "$run" || return 0
  without_network=(unshare --net)
  try 'ENTRYPOINT of the Dockerfile: tapeformer demo --steps 30' inside "$image" 'cd /data && tapeformer demo --steps 30' || true
  printf 'packaging: the image would have %s MB\n' "$(du -sm --one-file-system "$image" | cut -f1)"
  without_network=()
}

for part in "$@"; do
  case "$part" in
    recipes | vcpkg | conan | docker) "check_$part" ;;
    *)
      printf 'check_packaging: unknown part %s; parts are recipes, vcpkg, conan and docker\n' "$part" >&2
      exit 2
      ;;
  esac
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
