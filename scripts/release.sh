#!/usr/bin/env bash
# Builds and checks everything that a release consists of, into build/release-VERSION, from the last commit:
#   scripts/release.sh 0.3.0              about two hours on two cores
#   scripts/release.sh --dry-run 0.3.0    checks versions and change log, makes the source archive, prints the other steps
# The version is the one of project() in CMakeLists.txt. If that is another one, sets it there and where it is repeated, and
# stops, so that this can be committed. CHANGELOG.md must have a section "## VERSION".
# Then: .ci/run, Debian packages for each system, the recipes of packaging/, Python wheels for the versions that PYTHONS names
# (default: python3), and SHA256SUMS. Never tags or pushes: prints the commands for that at the end. Exit code 1 if something failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dry=no
if [ "${1:-}" = --dry-run ]; then
  dry=yes
  shift
fi
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || {
  printf 'release: "%s" is not a version of three numbers, such as 0.3.0\n' "$version" >&2
  exit 2
}
fail() {
  printf 'release: %s\n' "$1" >&2
  exit 1
}

[ -z "$(git status --porcelain)" ] || fail 'there are changes that are not committed'
grep -qE "^## ${version//./\\.}( |$)" CHANGELOG.md || fail "CHANGELOG.md has no section \"## $version\""

current=$(sed -n 's/^project(tapeformer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed -i -E "s/^(project\(tapeformer VERSION )[0-9.]+/\1$version/" CMakeLists.txt
sed -i -E "s/^(  \"version\": \")[0-9.]+/\1$version/" packaging/vcpkg/vcpkg.json
changed=$(git diff --name-only)
if [ -n "$changed" ]; then
  if [ "$dry" = yes ]; then git checkout -q -- .; fi
  printf 'release: the version was %s; %s in: %s\n' "$current" "$([ "$dry" = yes ] && echo 'it would change' || echo 'changed it')" \
    "${changed//$'\n'/ }"
  if [ "$dry" = no ]; then
    printf 'Commit this, then run scripts/release.sh %s again:\n  git commit -am "Set the version to %s"\n' "$version" "$version"
    exit 1
  fi
fi

out=$PWD/build/release-$version
rm -rf "$out"
mkdir -p "$out"
failed=0
# step WHAT COMMAND...: runs a command with its output in OUT/WHAT.log.
step() {
  if [ "$dry" = yes ]; then
    printf 'would run: %s\n' "${*:2}"
    return
  fi
  local begun=$SECONDS status=0
  "${@:2}" > "$out/$1.log" 2>&1 < /dev/null || status=$?
  printf 'release: %s: exit code %d after %d s; %s\n' "$1" "$status" "$((SECONDS - begun))" "$(tail -n 1 "$out/$1.log")"
  [ "$status" -eq 0 ] || failed=1
}

archive=tapeformer-$version.tar.gz
git archive --prefix="tapeformer-$version/" HEAD | gzip -9n > "$out/$archive"
tar -xzf "$out/$archive" -O "tapeformer-$version/CMakeLists.txt" | grep '^project(tapeformer VERSION ' > /dev/null ||
  fail 'the source archive has no CMakeLists.txt'

systems=(debian12 debian13)
step checks .ci/run
step debs scripts/check_debs.sh "${systems[@]}"
step packaging scripts/check_packaging.sh
read -ra pythons <<< "${PYTHONS:-python3}"
step wheel scripts/wheel.sh "${pythons[@]}"
step check_wheel scripts/check_wheel.sh debian12
if [ "$dry" = no ]; then
  for system in "${systems[@]}"; do
    cp "build/systems/$system-debs/root/tapeformer"/*"_$version-1+$system"_*.deb "$out/" || failed=1
  done
  cp build/wheel/dist/tapeformer-"$version"-*.whl "$out/" || failed=1
fi

(cd "$out" && find . -type f ! -name "*.log" ! -name "SHA256SUMS*" -printf '%f\n' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
printf 'release: %s:\n' "${out#"$PWD/"}"
cat "$out/SHA256SUMS"
[ "$failed" -eq 0 ] || fail "a step failed; its output is in ${out#"$PWD/"}"
printf 'To publish, after a look at these files:\n  git tag -a v%s -m "Tapeformer %s"\n  git push origin main v%s\n' "$version" "$version" "$version"
