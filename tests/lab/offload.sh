#!/usr/bin/env bash
# Pods whose packets go between their port and the NIC's without the server's kernel, by flows that a NIC can carry: the
# bridges that kubernetes/offload.sh makes (all but the NIC's own mode, which needs one), FRR from the rendered files on them,
# ovs-provider with an uplink. Open vSwitch runs in user space here: what is shown is that the flows are right, not that a NIC takes them.
#   tests/lab/offload.sh WEFT WEFT_CNI
set -euo pipefail
weft=$(realpath "$1") cni=$(realpath "$2") frr=/usr/lib/frr
for tool in vtysh $frr/bgpd ip ping ovs-vsctl ovs-vswitchd python3; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (frr iproute2 iputils-ping openvswitch-switch python3)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
[ -c /dev/net/tun ] || { echo "skipped: no /dev/net/tun"; exit 77; }

t=weft-off$$
out=$(mktemp -d)
chmod 755 "$out"
end() {
  for space in $(ip netns list | awk -v t="$t-" 'index($1, t) == 1 { print $1 }'); do
    for pid in $(ip netns pids "$space"); do kill "$pid" 2>/dev/null || true; done
    ip netns delete "$space"
  done
  wait 2>/dev/null || true
  rm -r "$out"
}
trap end EXIT
fail() { echo "$*"; exit 1; }
until_true() { # seconds, command
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || fail "not within $1 s: ${*:2}"
    sleep 0.2
  done
}
on() { ip netns exec "$t-$1" env OVS_RUNDIR="$out/$1/ovs" "${@:2}"; }
# Nobody behind a switch in user space fills in what the kernel left to hardware.
whole_packets() { # namespace, interface
  on "$1" python3 -c '
import array, fcntl, socket, struct, sys
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for command in (0x17, 0x1f, 0x24):  # checksums, segments of TCP, segments of all
    value = array.array("B", struct.pack("II", command, 0))
    try: fcntl.ioctl(end, 0x8946, struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0]))
    except OSError: pass' "$2"
}

cat >"$out/c.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: 2, nics: 1}
fabric: {kind: rail-optimized, scalable_unit: 2, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m}}
YAML
for target in frr hosts kubernetes; do "$weft" render $target "$out/c.weft.yaml" -o "$out" 2>/dev/null; done
sh -n "$out/kubernetes/offload.sh" || fail "offload.sh is no script"
mkdir "$out/plugins"
for role in ovs-provider frr-provider; do ln -s "$cni" "$out/plugins/$role"; done

for device in leaf0 s0 s1; do
  ip netns add "$t-$device"
  on $device ip link set lo up
  on $device sysctl -q -p "$out/$device/sysctl.conf" >/dev/null 2>&1 || true
  mkdir -p "$out/$device/run" "$out/$device/ovs"
  chown frr:frr "$out/$device/run"
done
while IFS=, read -r server _ _ _ _ port _; do # the NIC's port is wire1: pf1 is the bridge
  ip -n "$t-$server" link add wire1 mtu 9000 type veth peer name "$port" mtu 9000 netns "$t-leaf0"
  on leaf0 ip link set "$port" up
  whole_packets leaf0 "$port"
done < <(grep '^s[01],' "$out/hosts/cables.csv")
for server in s0 s1; do
  folder=$out/$server/ovs
  ovsdb-tool create "$folder/conf.db" /usr/share/openvswitch/vswitch.ovsschema
  on $server ovsdb-server "$folder/conf.db" --remote="punix:$folder/db.sock" --unixctl="$folder/ovsdb.ctl" --no-chdir 2>"$folder/log" &
  until_true 20 test -S "$folder/db.sock"
  on $server ovs-vsctl --no-wait init
  on $server ovs-vswitchd "unix:$folder/db.sock" --disable-system --unixctl="$folder/vswitchd.ctl" --no-chdir 2>"$folder/log" &
  on $server ovs-vsctl -t 30 add-br pf1 -- set bridge pf1 datapath_type=netdev
  on $server sh -euc "$(sed -n '/^mtu=/p; /^bridge()/,/^}/p' "$out/kubernetes/offload.sh"); bridge wire1 pf1"
  whole_packets $server pf1
  # Of a switch in user space the kernel sees what comes by its ports as well; of its own it would not.
  on $server sysctl -q -w net.ipv6.conf.wire1.disable_ipv6=1
  on $server ip link set wire1 address "02:00:00:00:00:0${server#s}"
done
for device in leaf0 s0 s1; do
  run=$out/$device/run
  for daemon in zebra staticd bgpd; do
    on $device $frr/$daemon -z "$run/zserv.api" --vty_socket "$run" -i "$run/$daemon.pid" -P 0 >/dev/null 2>&1 &
    until_true 20 test -S "$run/$daemon.vty"
  done
  on $device vtysh --vty_socket "$run" -f "$out/$device/frr.conf" >/dev/null 2>&1 || true
done
declare -A nic
for server in s0 s1; do nic[$server]=$(awk -v name="$server-pf1" '$2 == name {print $1}' "$out/hosts/etc-hosts"); done
reaches() { on "$1" ping -c 1 -W 1 ${3:-} "$2" >/dev/null 2>&1; }
until_true 40 reaches s0 "${nic[s1]}" "-I ${nic[s0]}" # the session runs over the bridge, and so does what the server says

for server in s0 s1; do
  on $server "$cni" agent --state "$out/$server/cni" --ovs "$out/$server/ovs" --frr "$out/$server/run" &
  until_true 20 test -e "$out/$server/cni/agent.lock"
done
declare -A address
call() { # verb, role, pod, server
  local uplink=', "uplink": "wire1"'
  echo "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"x\", \"stateDir\": \"$out/$4/cni\", \"frrDir\": \"$out/$4/run\", \"ovsDir\": \"$out/$4/ovs\",
    \"bridge\": \"pf1\" ${5-$uplink}, \"prevResult\": {\"cniVersion\": \"1.0.0\", \"interfaces\": [{\"name\": \"net1\",
    \"mac\": \"$(on "$3" cat /sys/class/net/net1/address)\", \"sandbox\": \"/x\"}], \"ips\": [{\"interface\": 0, \"address\": \"${address[$3]}/28\"}]}}" |
    on "$4" env CNI_COMMAND="$1" CNI_CONTAINERID="$3" CNI_NETNS="/run/netns/$t-$3" CNI_IFNAME=net1 CNI_ARGS="K8S_POD_NAMESPACE=${3%?}" \
      CNI_PATH=/usr/lib/cni "$out/plugins/$2"
}
pod() { # name (its tenant and a digit), server, how many behind the NIC
  address[$1]=${nic[$2]%.*}.$((${nic[$2]##*.} + $3))
  ip netns add "$t-$1"
  ip -n "$t-$2" link add "rep-$1" mtu 9000 type veth peer name net1 mtu 9000 netns "$t-$1"
  on "$1" ip link set lo up
  on "$1" ip addr add "${address[$1]}/9" dev net1 # whoever it asks for, the bridge answers
  on "$1" ip link set net1 up
  for role in ovs-provider frr-provider; do call ADD $role "$1" "$2" >/dev/null || fail "$role ADD $1"; done
}
pod a0 s0 1
pod b0 s0 2
pod a1 s1 1
until_true 40 reaches a0 "${address[a1]}"
reaches a0 "${address[a1]}" "-s 8972 -M do" || fail "packets of full length do not pass"

# The bridge does it by itself, as soon as the agent has the leaf's MAC: one flow for each way, and the kernel hears nothing of it.
by_uplink() { on "$1" ovs-ofctl -O OpenFlow14 dump-flows pf1 table=15 | grep "nw_dst=$2 " | grep -q 'set_field.*eth_dst.*output:\|mod_dl_dst.*output:'; }
until_true 20 by_uplink s0 "${address[a1]}"
until_true 20 by_uplink s1 "${address[a0]}"
kernel() { on "$1" ovs-ofctl dump-ports pf1 LOCAL | sed -n 's/.*[rt]x pkts=\([0-9]*\),.*/\1/p' | awk '{ sum += $1 } END { print sum }'; }
before=$(kernel s0)
on a0 ping -q -i 0.01 -c 200 "${address[a1]}" >/dev/null || fail "a0 does not reach a1 past the kernel"
[ $(($(kernel s0) - before)) -lt 50 ] || fail "the kernel of s0 saw $(($(kernel s0) - before)) packets of 400"
number() { on "$1" ovs-appctl -t "$out/$1/ovs/vswitchd.ctl" dpif/show | sed -n "s/^ *$2 [0-9]*\/\([0-9]*\):.*/\1/p"; }
datapath() { on "$1" ovs-appctl -t "$out/$1/ovs/vswitchd.ctl" dpctl/dump-flows | grep "in_port($2).*ipv4(.*dst=${3}[,)/]" || true; }
out_flow=$(datapath s0 "$(number s0 rep-a0)" "${address[a1]}")
grep -q "actions:set(eth(.*)),$(number s0 wire1)\$" <<<"$out_flow" || fail "to the leaf: $out_flow"
in_flow=$(datapath s0 "$(number s0 wire1)" "${address[a0]}")
grep -q "actions:set(eth(.*)),$(number s0 rep-a0)\$" <<<"$in_flow" || fail "from the leaf: $in_flow"

# Tenants are kept apart as without an uplink.
tries=()
for pair in "b0 ${address[a1]}" "b0 ${address[a0]}" "a1 ${address[b0]}" "a0 ${nic[s1]}" "a0 ${nic[s0]}" "s1 ${address[a0]}" "s0 ${address[a0]}" "leaf0 ${address[a0]}"; do
  # shellcheck disable=SC2086
  { if reaches $pair; then fail "${pair% *} reaches ${pair#* }"; fi; } &
  tries+=($!)
done
for each in "${tries[@]}"; do wait "$each" || exit 1; done

call CHECK ovs-provider a0 s0 || fail "CHECK does not know what ADD made"
if call CHECK ovs-provider a0 s0 "" >/dev/null; then fail "CHECK does not miss the uplink"; fi
if call ADD ovs-provider b0 s0 ', "uplink": "rep-none"' >"$out/said"; then fail "an uplink that is none is taken"; fi
grep -q '"code":7.*rep-none is no port of pf1' "$out/said" || fail "a wrong uplink: $(cat "$out/said")"

for each in "a0 s0" "b0 s0" "a1 s1"; do
  for role in frr-provider ovs-provider; do call DEL $role $each >/dev/null || fail "$role DEL $each"; done
done
left() { on "$1" ovs-ofctl -O OpenFlow14 dump-flows pf1 --no-stats | grep -v 'cookie=0x77656674' | grep -c cookie= || true; }
nothing_left() { [ "$(left s0)$(left s1)" = 00 ]; }
until_true 20 nothing_left
reaches s0 "${nic[s1]}" "-I ${nic[s0]}" || fail "without pods the server does not speak by its uplink"
echo "pods spoke past the kernel, with their own tenant and nobody else"
