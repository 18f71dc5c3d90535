#!/usr/bin/env bash
# An installation has what it should, and works where there is no checkout: the program, its tables, manual pages, completion.
#   tests/install/tree.sh BUILD_DIRECTORY
set -eu
build=$1
root=$(mktemp -d)
trap 'rm -r "$root"' EXIT
fail() { echo "$*"; exit 1; }
cmake --install "$build" --prefix "$root/usr" >/dev/null
weft=$root/usr/bin/weft
mkdir "$root/elsewhere"
cd "$root/elsewhere"

"$weft" --version | grep -q '^weft [0-9]' || fail "--version"
"$weft" help | grep -q '^Describe a cluster:' || fail "help is not in groups"
"$weft" init >/dev/null && "$weft" check >/dev/null || fail "init and check"
"$weft" validate >tables || [ $? = 1 ] || fail "validate does not find its tables"
grep -q 'median' tables || fail "validate prints no errors"
for page in weft weft-sim weft-check weft-help; do
  [ -s "$root/usr/share/man/man1/$page.1" ] || fail "no manual page of $page"
done
for verb in $("$weft" help | sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' | sort -u); do
  [ "$verb" = weft ] || [ -s "$root/usr/share/man/man1/weft-$verb.1" ] || fail "no manual page of weft $verb"
done
if command -v groff >/dev/null; then
  for page in "$root"/usr/share/man/man1/*.1; do
    complaints=$(groff -ww -man -Tutf8 "$page" 2>&1 >/dev/null)
    [ -z "$complaints" ] || fail "$complaints"
  done
fi
for file in bash-completion/completions/weft zsh/vendor-completions/_weft fish/vendor_completions.d/weft.fish \
  weft/catalog/servers.yaml weft/examples/01-acp-2-nics/cluster.weft.yaml weft/schemas/cluster-file.schema.json \
  doc/weft/README.md doc/weft/docs/limits.md; do
  [ -s "$root/usr/share/$file" ] || fail "share/$file is not installed"
done
[ -n "$(find "$root/usr" -path '*/weft/plugins/libnccl-net-weft.so')" ] || fail "NCCL's plugin is not installed"
bash -n "$root/usr/share/bash-completion/completions/weft" || fail "the completion script is not bash"
echo "an installation works without its checkout"
