#!/usr/bin/env bash
# FRR itself reads every rendered file: vtysh all of it, bgpd its own part, where a name may also be out of range.
#   tests/render/frr.sh WEFT CLUSTER_FILE...
set -euo pipefail
bgpd=/usr/lib/frr/bgpd
for tool in vtysh "$bgpd"; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (package frr)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: bgpd reads a file only as root"; exit 77; }
weft=$1
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
chmod 755 "$out"
mkdir "$out/run"
chown frr:frr "$out/run"
checked=0
for cluster in "$@"; do
  rm -rf "$out/files"
  "$weft" render frr "$cluster" -o "$out/files" 2>/dev/null
  for file in "$out"/files/*/frr.conf; do
    vtysh -C -f "$file" || { echo "vtysh does not take $file of $cluster"; exit 1; }
    awk '/^(ip prefix-list|router bgp)/ {on = 1} on' "$file" >"$out/bgpd.conf"
    said=$("$bgpd" -C -f "$out/bgpd.conf" -i "$out/run/pid" --vty_socket "$out/run" 2>&1 || true)
    if grep 'No such command\|rror' <<<"$said" | grep -v zclient_send_message; then
      echo "bgpd does not take $file of $cluster"
      exit 1
    fi
    checked=$((checked + 1))
  done
done
echo "$checked files are as FRR wants them"
[ "$checked" -gt 0 ]
