#!/usr/bin/env bash
# Two machines with nothing but Ethernet between them, as docs/run.md begins: the server is given nothing, the client its address, and
# the first try uses all ways, survives a switch that dies silently, and names it.
#
#   near -- leaf0 -- spine0, spine1, spine2 -- leaf1 -- far        routers of the kernel, nothing shaped
#
#   tests/lab/first_try.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
for tool in ip sysctl; do command -v $tool >/dev/null || { echo "skipped: $tool is not installed (iproute2 procps)"; exit 77; }; done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
out=$(mktemp -d) server=
names="near leaf0 spine0 spine1 spine2 leaf1 far"
end() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  for name in $names; do ip netns delete try$$$name 2>/dev/null || true; done
  rm -r "$out"
}
trap end EXIT
fail() { echo "$*"; cat "$out"/*; exit 1; }
on() { ip netns exec try$$$1 "${@:2}"; }

for name in $names; do
  ip netns add try$$$name
  ip -n try$$$name link set lo up
  on $name sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 # addresses work at once
done
for name in leaf0 leaf1 spine0 spine1 spine2; do
  # By addresses and ports, and not by what the sender's socket has drawn (docs/lab.md).
  on $name sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.fib_multipath_hash_policy=3 \
    net.ipv4.fib_multipath_hash_fields=55 net.ipv6.fib_multipath_hash_policy=1
done
cable() { # end, address, end, address, number of the network
  ip link add "$3" netns "try$$$1" type veth peer name "$1" netns "try$$$3"
  for side in "$1 $3 $2" "$3 $1 $4"; do
    read -r here there last <<<"$side"
    ip -n "try$$$here" address add "10.88.$5.$last/24" dev "$there"
    ip -n "try$$$here" address add "fd88:$5::$last/64" dev "$there"
    ip -n "try$$$here" link set "$there" up
  done
}
cable near 2 leaf0 1 100
cable far 2 leaf1 1 101
for spine in 0 1 2; do
  cable leaf0 1 spine$spine 2 $spine
  cable leaf1 1 spine$spine 2 $((10 + spine))
done
ways() { # of a leaf to the other side: number of its first network
  for spine in 0 1 2; do printf 'nexthop via %s%s%s ' "$2" $(($1 + spine)) "$3"; done
}
for side in "0 101 100 0" "1 100 101 10"; do
  read -r leaf far near first <<<"$side"
  ip -n try$$leaf"$leaf" route add 10.88."$far".0/24 $(ways "$first" 10.88. .2)
  ip -n try$$leaf"$leaf" route add "fd88:$far::/64" $(ways "$first" fd88: ::2)
  for spine in 0 1 2; do
    ip -n try$$spine$spine route add 10.88."$near".0/24 via 10.88.$((first + spine)).1
    ip -n try$$spine$spine route add "fd88:$near::/64" via "fd88:$((first + spine))::1"
  done
done
for host in "near 100" "far 101"; do
  read -r name network <<<"$host"
  ip -n "try$$$name" route add default via "10.88.$network.1"
  ip -n "try$$$name" route add default via "fd88:$network::1"
done

# Before all else on the machine, where that is allowed: of paths whose hosts did not run much is said that is not so.
first=$(chrt -r 1 true 2>/dev/null && echo chrt -r 1 || true)
touch "$out/server"
ip netns exec try$$far $first "$weft" run server >/dev/null 2>"$out/server" & # not by on(), whose shell would be killed instead
server=$!
for _ in $(seq 100); do grep -q listening "$out/server" && break; sleep 0.1; done
forwarded() { on "$1" cat /sys/class/net/leaf1/statistics/tx_bytes; }

# A name may stand for addresses of either family.
on near $first "$weft" run client fd88:101::2 --messages 200 --json >"$out/six" || fail "nobody answers by IPv6"
grep -q '"wrong":0' "$out/six" || fail "IPv6"

before=("$(forwarded spine0)" "$(forwarded spine1)" "$(forwarded spine2)")
(sleep 4; on spine1 sysctl -qw net.ipv4.ip_forward=0) &
on near $first "$weft" run client 10.88.101.2 --duration 7s --rate 80Mbps >"$out/client" || fail "the stream ended with a switch"
for spine in 0 1 2; do
  carried=$(($(forwarded spine$spine) - before[spine]))
  [ $carried -gt 5000000 ] || fail "spine$spine carried $carried bytes"
done
grep -q '; 0 wrong, 0 twice' "$out/client" || fail "messages are wrong"
grep -Eq 'paths? dead since' "$out/client" || fail "no path is said to be dead"
grep -Eq 'dead paths? whose way is known cross(es)? 10\.88\.1\.2\b' "$out/client" || fail "the switch that died is not named"
grep -E 'longest gap|dead|cross' "$out/client"
