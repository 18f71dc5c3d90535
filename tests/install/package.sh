#!/usr/bin/env bash
# The Debian package installs into a fresh root, works from there, and leaves nothing when it is removed.
#   tests/install/package.sh BUILD_DIRECTORY
set -eu
build=$1
for program in cpack dpkg dpkg-shlibdeps; do
  command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "dpkg --root needs root"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
fail() { echo "$*"; exit 1; }
(cd "$build" && cpack -B "$folder/package" >"$folder/log" 2>&1) || { cat "$folder/log"; exit 1; }
package=$(ls "$folder"/package/weft_*.deb)
dpkg-deb -f "$package" Depends | grep -q libyaml-cpp || fail "the package does not say what it needs"

root=$folder/root
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
files() { (cd "$root" && find . -type f -not -path './var/*' | sort); }
# What it depends on is this machine's, not the fresh root's.
dpkg --root="$root" --force-depends --force-not-root -i "$package" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
[ "$(dpkg --root="$root" -s weft | sed -n 's/^Status: //p')" = "install ok installed" ] || fail "not installed"
(cd "$folder" && "$root/usr/bin/weft" init >/dev/null && "$root/usr/bin/weft" check >/dev/null) || fail "does not run"
[ "$(files | wc -l)" -gt 100 ] || fail "little is installed"
dpkg --root="$root" --purge weft >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
[ -z "$(files)" ] || fail "left behind: $(files | head)"
echo "the package comes and goes"
