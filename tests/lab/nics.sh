#!/usr/bin/env bash
# Two hosts with two NICs each, on rails that are not joined: weft run uses both, and goes on when a cable is pulled.
#   tests/lab/nics.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
for tool in ip tc; do command -v $tool >/dev/null || { echo "skipped: $tool is not installed (iproute2)"; exit 77; }; done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
a=nics$$a b=nics$$b out=$(mktemp -d) server=
end() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  for host in $a $b; do ip netns delete $host 2>/dev/null || true; done
  rm -r "$out"
}
trap end EXIT
# Before all else on the machine, where that is allowed: rates are compared with a link's, and other tests run beside this one.
first=$(chrt -r 1 true 2>/dev/null && echo chrt -r 1 || true)
fail() { echo "$*"; cat "$out"/*; exit 1; }
ip netns add $a
ip netns add $b
for rail in 0 1; do
  ip link add nic$rail netns $a type veth peer name nic$rail netns $b
  for host in $a $b; do
    address=10.77.$rail.$([ $host = $a ] && echo 1 || echo 2)
    ip -n $host address add $address/24 dev nic$rail
    ip -n $host link set nic$rail up
    ip netns exec $host tc qdisc add dev nic$rail root tbf rate 200mbit burst 32kb latency 8ms
  done
done
ip netns exec $b $first "$weft" run server --nics 10.77.0.2,10.77.1.2 2>"$out/server" &
server=$!
for _ in $(seq 100); do grep -q listening "$out/server" && break; sleep 0.1; done
run() { ip netns exec $a $first "$weft" run client 10.77.0.2 --nics 10.77.0.1,10.77.1.1 --json "$@" >"$out/client"; }
sent() { ip netns exec $a cat /sys/class/net/nic$1/statistics/tx_bytes; }
field() { grep -o "\"$1\":[0-9]*" "$out/client" | head -1 | sed "s/.*://"; }

before=("$(sent 0)" "$(sent 1)")
run --duration 2s || fail "no stream over two NICs"
bytes=$(field bytes)
for rail in 0 1; do
  carried=$(($(sent $rail) - before[rail]))
  [ $((carried * 4)) -gt "$bytes" ] || fail "NIC $rail carried $carried of $bytes bytes"
done
# One NIC has 200 Mb/s.
[ "$(field goodput_bps)" -gt 260000000 ] || fail "two NICs of 200 Mb/s carry $(field goodput_bps) b/s"
(sleep 1; ip -n $b link set nic0 down) &
run --duration 3s || fail "the stream ended with its first NIC"
[ "$(field wrong)" = 0 ] && [ "$(field repeated)" = 0 ] || fail "messages are wrong"
ip -n $b link set nic0 up
echo "two NICs carried $bytes bytes together, and one when a cable was pulled"
