#!/usr/bin/env bash
# Pods of two tenants in a lab, made by the CNI chain: each tenant's reach each other on every rail and nobody else's, by no
# port and no forged address; addresses come and go in every leaf; DEL leaves nothing; the plugins keep to CNI's rules.
#   tests/lab/pods.sh WEFT WEFT_CNI
set -euo pipefail
weft=$(realpath "$1") cni=$(realpath "$2")
for tool in vtysh /usr/lib/frr/bgpd ip tc nft ping ovs-vsctl ovs-vswitchd /usr/lib/cni/host-device python3; do
  command -v "$tool" >/dev/null ||
    { echo "skipped: $tool is not installed (frr iproute2 nftables iputils-ping openvswitch-switch containernetworking-plugins python3)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
[ -c /dev/net/tun ] || { echo "skipped: no /dev/net/tun"; exit 77; }

lab=pods$$
out=$(mktemp -d)
trap '"$weft" lab down --lab $lab >/dev/null 2>&1 || true; rm -r "$out"' EXIT
fail() { echo "$*"; exit 1; }
on() { "$weft" lab exec --lab $lab "$1" -- "${@:2}"; }
pod() { "$weft" lab pod --lab $lab "$@"; }
until_true() { # seconds, command
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || fail "not within $1 s: ${*:2}"
    sleep 0.2
  done
}
reaches() { on "$1" ping -c 1 -W 2 ${3:-} "$2" >/dev/null 2>&1; }
never() { if reaches "$@"; then fail "$1 reaches $2"; fi; }

# Two units of one server each, two rails; nobody owns the servers, so tenants share them.
cat >"$out/c.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: 2, nics: 2}
fabric: {kind: rail-optimized, scalable_unit: 1, spines: 2, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m},
         spine_link: {rate: 200Gbps, cable: 20m}}
YAML
"$weft" lab up "$out/c.weft.yaml" --lab $lab --timeout 120
# Other labs may stand on this machine, and come and go.
ours() { ip netns list | awk -v lab="-$lab-" 'index($1, lab) { print $1 }' | sort; }
ours >"$out/netns.before"
pod add a0 --tenant a --on s0
pod add b0 --tenant b --on s0
pod add a1 --tenant a --on s1
pod add b1 --tenant b --on s1
code=0
pod add a0 --tenant a --on s0 2>"$out/said" || code=$?
[ $code -eq 2 ] && grep -q already "$out/said" || fail "twice the same pod: exit $code"

# One tenant: on every rail, packets of full length as well, between servers and on one.
pod add a2 --tenant a --on s0
for rail in 1 2; do
  until_true 20 reaches a0 a1-pf$rail
  reaches a0 a1-pf$rail "-s 8972 -M do" || fail "packets of full length do not pass on rail $rail"
  until_true 20 reaches b1 b0-pf$rail
  until_true 20 reaches a0 a2-pf$rail
done
# Another tenant: not on its own server, nor on another, nor by a server's or a switch's address.
# At the same time: each waits for an answer that does not come.
tries=()
for pair in a0:b0-pf1 a0:b0-pf2 a0:b1-pf1 a0:b1-pf2 a0:s0-pf1 a0:s1-pf1 a0:leaf0 s0:a0-pf1 s1:a0-pf1; do
  never "${pair%:*}" "${pair#*:}" &
  tries+=($!)
done
for each in "${tries[@]}"; do wait "$each" || exit 1; done

# Not at any port, by any protocol, as anybody: what b1 hears is nothing.
cat >"$out/hear.py" <<'PY'
import os, socket, sys, time
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))  # all IPv4 that comes into the pod
raw.settimeout(0.2)
print("ready", flush=True)
heard, end = 0, None
while end is None or time.time() < end:
    if end is None and os.path.exists(sys.argv[1]): end = time.time() + 1  # for what is still on its way
    try:
        packet, where = raw.recvfrom(65535)
    except TimeoutError:
        continue
    if where[2] != socket.PACKET_OUTGOING and b"weft-attack" in packet: heard += 1
print(heard)
PY
cat >"$out/attack.py" <<'PY'
import random, socket, struct, sys
interface, mac, own, target = sys.argv[1:5]
forged = sys.argv[5:]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((interface, 0))
gateway = bytes.fromhex(sys.stdin.readline().strip().replace(":", ""))
def ip(source, protocol, payload):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, socket.inet_aton(source), socket.inet_aton(target))
    total = sum(struct.unpack("!10H", head)); total = (total & 0xffff) + (total >> 16); total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack("!H", ~total & 0xffff) + head[12:] + payload
random.seed(1)
for source in [own] + forged:
    for source_mac in (bytes.fromhex(mac.replace(":", "")), b"\x02\x00\x00\x00\x00\x99"):
        ports = [22, 53, 80, 179, 443, 4791, 5201] + random.sample(range(1, 65536), 40)
        for port in ports:
            udp = struct.pack("!HHHH", port, port, 19, 0) + b"weft-attack"
            tcp = struct.pack("!HHIIBBHHH", port, port, 1, 0, 0x50, 2, 1000, 0, 0) + b"weft-attack"
            for protocol, payload in ((17, udp), (6, tcp), (1, b"\x08\0\0\0\0\1\0\1weft-attack"), (47, b"\0\0\0\0weft-attack")):
                raw.send(gateway + source_mac + b"\x08\0" + ip(source, protocol, payload))
PY
address() { on "$1" ip -o -4 address show dev "$2" | sed 's/.*inet \([0-9.]*\).*/\1/'; }
mac() { on "$1" cat /sys/class/net/"$2"/address; }
# Its records fit their schemas, where python3-jsonschema is there to say so.
fits() { "$(dirname "$0")/../schemas/records.py" - "$(dirname "$0")/../.." --strict || [ $? = 77 ]; }
dropped() { # server, tenant, counter
  "$weft" lab status --lab $lab --json | grep '^{"record":"lab_tenant_drops"' | grep "\"device\":\"$1\",\"tenant\":\"$2\"" |
    sed "s/.*\"$3\":\([0-9]*\).*/\1/"
}
attack() { # from, victim, forged sources
  on s0 cat /sys/class/net/br-pf1/address | on "$1" python3 "$out/attack.py" net1 "$(mac "$1" net1)" "$(address "$1" net1)" "$(address "$2" net1)" "${@:3}"
}
"$weft" lab status --lab $lab --json | fits || fail "records of the lab do not fit their schemas"
listen() { # pod, file; until the attack is over
  rm -f "$out/over"
  on "$1" python3 "$out/hear.py" "$out/over" >"$2" &
  until_true 10 grep -q ready "$2"
}
for victim in b0 b1; do
  spoofed=$(dropped s0 a spoofed) to_others=$(dropped s0 a to_others)
  listen $victim "$out/heard"
  listener=$!
  # As itself, as b's pods, as the NIC, as a server's address, as nobody.
  attack a0 $victim "$(address b0 net1)" "$(address b1 net1)" 10.128.0.1 10.0.0.1 192.0.2.7
  touch "$out/over"
  wait $listener
  [ "$(tail -n 1 "$out/heard")" = 0 ] || fail "$victim heard $(tail -n 1 "$out/heard") packets of a0"
  [ "$(dropped s0 a spoofed)" -gt "$spoofed" ] || fail "no forged packet was counted"
  if [ $victim = b1 ]; then [ "$(dropped s0 a to_others)" -gt "$to_others" ] || fail "nothing to others was counted"; fi
done
# The same packets do arrive where they may: the ear is not deaf.
listen a1 "$out/heard"
listener=$!
attack a0 a1
touch "$out/over"
wait $listener
[ "$(tail -n 1 "$out/heard")" -gt 50 ] || fail "a1 heard only $(tail -n 1 "$out/heard") packets of a0"

# weft's transport and TCP between pods.
"$weft" lab traffic --lab $lab a0 a1 --time 1 --with tcp
"$weft" lab traffic --lab $lab a0 a1 --time 1 --with srd
"$weft" lab traffic --lab $lab a0 a1 --time 1 --with srd --rail 1

# CHECK says what is wrong.
pod check a0
on s0 ovs-ofctl del-flows br-pf1 "ip,nw_dst=$(address a0 net1)"
if pod check a0 2>"$out/said"; then fail "CHECK does not see that flows are gone"; fi
grep -q 'flows are there' "$out/said" || fail "CHECK says: $(cat "$out/said")"
pod del a0
pod add a0 --tenant a --on s0
pod check a0
until_true 20 reaches a0 a1-pf1

# Addresses are in every leaf of their rail, and vanish.
gone=$(address a0 net1)
for leaf in leaf0 leaf2; do on $leaf ip route show "$gone/32" | grep -q . || fail "$leaf has no route to $gone"; done
pod del a0
for leaf in leaf0 leaf2 spine0; do if on $leaf ip route show "$gone/32" | grep -q .; then fail "$leaf still has a route to $gone"; fi; done

# The plugins by hand: twice, at once, after a failed ADD, without a pod.
chain() { # role, command, state's container
  local file="/run/weft/$lab/plugins/$1"
  ip netns exec weft-$lab-s0 env CNI_COMMAND="$2" CNI_CONTAINERID="$3" CNI_NETNS=/run/netns/weft-$lab-a2 CNI_IFNAME=net1 \
    CNI_ARGS="K8S_POD_NAMESPACE=a" CNI_PATH=/usr/lib/cni "$file"
}
config() { # role's own keys, prevResult's address
  echo "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"type\":\"x\",\"stateDir\":\"/run/weft/$lab/s0/cni\",\"frrDir\":\"/run/weft/$lab/s0\",
    \"ovsDir\":\"/run/weft/$lab/s0/ovs\",\"bridge\":\"$1\",\"prevResult\":{\"cniVersion\":\"1.0.0\",
    \"interfaces\":[{\"name\":\"net1\",\"mac\":\"$(mac a2 net1)\",\"sandbox\":\"/x\"}],\"ips\":[{\"interface\":0,\"address\":\"$2/28\"}]}}"
}
flows() { on s0 ovs-ofctl -O OpenFlow14 dump-flows br-pf1 --no-stats | grep -v hard_timeout | sort; }
bgp() { on s0 vtysh -c 'show running-config' | grep -E 'network 10.128|WEFT' || true; }
a2=$(address a2 net1)
flows >"$out/flows.before" && bgp >"$out/bgp.before"
# The same again changes nothing and gives the same result.
config br-pf1 "$a2" | chain ovs-provider ADD $lab-a2 >"$out/first"
config br-pf1 "$a2" | chain ovs-provider ADD $lab-a2 >"$out/second"
cmp "$out/first" "$out/second" || fail "ADD twice gives two results"
config br-pf1 "$a2" | chain frr-provider ADD $lab-a2 >/dev/null
# At once: one after another in the end.
pids=()
for _ in 1 2 3 4; do
  config br-pf1 "$a2" | chain ovs-provider ADD $lab-a2 >/dev/null &
  pids+=($!)
  config br-pf1 "$a2" | chain frr-provider ADD $lab-a2 >/dev/null &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "ADD at the same time fails"; done
flows | diff "$out/flows.before" - || fail "ADD again changed flows"
bgp | diff "$out/bgp.before" - || fail "ADD again changed BGP"
# Somebody else's address, a bridge that is not there, an address that nothing leads to: an error in JSON, and nothing left.
error() { # code, role, container, bridge, address
  local said code=0
  said=$(config "$4" "$5" | chain "$2" ADD "$3") || code=$?
  [ $code -ne 0 ] || fail "$2 takes $4 $5"
  python3 -c 'import json,sys; e = json.loads(sys.argv[1]); assert e["code"] == int(sys.argv[2]) and e["msg"] and e["cniVersion"] == "1.0.0", e' "$said" "$1" ||
    fail "$2 says $said"
}
error 100 ovs-provider stranger br-pf1 "$a2"
error 100 frr-provider stranger br-pf1 "$a2"
error 11 ovs-provider stranger br-none 10.128.0.13
error 5 frr-provider stranger br-pf1 203.0.113.1
flows | diff "$out/flows.before" - || fail "a failed ADD left flows"
bgp | diff "$out/bgp.before" - || fail "a failed ADD left something in BGP"
[ -z "$(find /run/weft/$lab/s0/cni -name '*stranger*')" ] || fail "a failed ADD left a record"
for _ in 1 2; do config br-pf1 "$a2" | chain frr-provider DEL stranger; done

# A pod whose namespace died under it is deleted all the same.
ip netns delete weft-$lab-a2
pod del a2
for name in b0 a1 b1; do pod del $name; done
for server in s0 s1; do
  for bridge in br-pf1 br-pf2; do
    left=$(on $server ovs-ofctl -O OpenFlow14 dump-flows $bridge --no-stats | grep -vc 'cookie=0x77656674' || true)
    [ "$left" = 0 ] || fail "$left flows are left on $server $bridge: $(on $server ovs-ofctl -O OpenFlow14 dump-flows $bridge --no-stats)"
    [ -z "$(on $server ovs-vsctl --db=unix:/run/weft/$lab/$server/ovs/db.sock list-ports $bridge)" ] || fail "ports are left on $bridge"
    [ -z "$(on $server ip route show dev $bridge)" ] || fail "routes are left on $bridge"
    [ -z "$(on $server ip neigh show dev $bridge nud permanent)" ] || fail "neighbours are left on $bridge"
  done
  if on $server vtysh -c 'show running-config' | grep -q WEFT; then fail "route-maps are left on $server"; fi
  [ -z "$(on $server ip -o link show type veth | grep -E 'pf[12]v' || true)" ] || fail "functions are left on $server"
  [ -z "$(find /run/weft/$lab/$server/cni /run/weft/$lab/$server/ipam -name '*.json' -o -name '10.*' -o -name '*.result')" ] ||
    fail "records are left on $server"
done
ours | diff "$out/netns.before" - || fail "namespaces are left"
grep -q pf1.*a0 /run/weft/$lab/hosts && fail "names of pods are left" || true
pod add a0 --tenant a --on s1
"$weft" lab down --lab $lab
[ -z "$(ours)" ] || fail "namespaces are left after down"
if pgrep -f -- "/run/weft/$lab/" >/dev/null; then fail "daemons are left after down"; fi
echo "pods of two tenants came, spoke with their own and nobody else, and went"
