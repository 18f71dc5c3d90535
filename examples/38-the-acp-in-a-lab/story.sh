#!/usr/bin/env bash
# From the file to a network that breaks: check, render, lab up, pods of two tenants, traffic, a spine that dies in two ways,
# lab down. Needs root. What must hold is held: it fails where a cable, a route, a tenant or a transport does not do what
# this page says.
#   examples/38-the-acp-in-a-lab/story.sh [WEFT]
set -euo pipefail
weft=$(realpath "$(command -v "${1:-weft}")")
cd "$(dirname "$0")"
for tool in vtysh /usr/lib/frr/bgpd ip tc nft ping ovs-vswitchd /usr/lib/cni/host-device; do
  command -v "$tool" >/dev/null ||
    { echo "skipped: $tool is not installed (frr iproute2 nftables iputils-ping openvswitch-switch containernetworking-plugins)"; exit 77; }
done
[ -c /dev/net/tun ] || { echo "skipped: no /dev/net/tun"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
lab=acp$$
out=$(mktemp -d)
trap '"$weft" lab down --lab $lab >/dev/null 2>&1 || true; rm -r "$out"' EXIT
say() { printf '\n== %s\n' "$*"; }
fail() { echo "$*"; exit 1; }
carries() { # least Mb/s, from, to, transport
  local line
  line=$("$weft" lab traffic --lab $lab "$2" "$3" --with "$4" --time 1 --json) || { echo "$4: nothing gets through"; return 1; }
  local rate=$(($(sed 's/.*"bps":\([0-9]*\).*/\1/' <<<"$line") / 1000000))
  echo "$4 from $2 to $3: $rate Mb/s"
  [ "$rate" -ge "$1" ]
}
planned() { [ -n "$("$weft" lab status --lab $lab --json | grep '"routes_wrong":0')" ]; }

say "the file is sound: weft check"
"$weft" check cluster.weft.yaml | sed -n 1,6p
say "what the real machines start from: weft render"
for target in frr sonic kubernetes hosts; do "$weft" render $target cluster.weft.yaml -o "$out"; done
say "the same as a network on this machine: weft lab up"
"$weft" lab up cluster.weft.yaml --lab $lab --timeout 120
cmp "$out/leaf0/frr.conf" "/run/weft/$lab/leaf0/frr.conf" || fail "the lab starts from other files"
say "between the units, over four spines: weft lab traffic"
carries 100 s0 s2 tcp || fail "TCP does not get through"
carries 100 s0 s2 srd || fail "SRD does not get through"
say "pods of two tenants, on the same servers: weft lab pod add"
for pod in "a0 research s0" "b0 production s0" "a1 research s2" "b1 production s2"; do
  read -r name tenant server <<<"$pod"
  "$weft" lab pod add $name --tenant $tenant --on $server --lab $lab
done
reaches() { "$weft" lab exec --lab $lab "$1" -- ping -c 3 -i 0.2 -W "${3:-2}" "$2" >/dev/null && echo "$1 reaches $2"; }
for to in a1-pf1 a1-pf2; do reaches a0 $to || fail "a0 does not reach $to"; done
reaches b0 b1-pf1 || fail "b0 does not reach b1"
for to in b0-pf1 b1-pf1 s2-pf1; do if reaches a0 $to 0.5; then fail "a0 reaches another's $to"; else echo "a0 does not reach $to"; fi; done
say "and between pods: Open vSwitch in user space carries less"
carries 5 a0 a1 tcp || fail "TCP does not get through between pods"
carries 5 a0 a1 srd || fail "SRD does not get through between pods"

say "a spine dies, and says so: weft lab fail switch spine0"
"$weft" lab fail --lab $lab switch spine0
sleep 1.5 # BFD sees it within 0.9 s
carries 100 s0 s2 tcp || fail "TCP does not get round a dead spine"
carries 100 s0 s2 srd || fail "SRD does not get round a dead spine"
reaches a0 a1-pf1 || fail "pods do not get round a dead spine"
"$weft" lab heal --lab $lab
for _ in $(seq 100); do
  planned && break
  sleep 0.2
done
planned || fail "not all paths are back"
say "a spine dies, and nobody knows: sessions stay up, packets vanish"
"$weft" lab fail --lab $lab switch spine0 silent
carries 5 s0 s2 srd || fail "SRD does not find the living spines"
carries 0 s0 s2 tcp || echo "(TCP got the dead spine's hash)"
"$weft" lab heal --lab $lab
planned || fail "silence was seen by routing"
say "and nothing is left: weft lab down"
"$weft" lab down --lab $lab
[ -z "$(ip netns list | grep -- "-$lab-" || true)" ] || fail "namespaces are left"
