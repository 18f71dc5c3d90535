#!/usr/bin/env bash
# A lab with real daemons: it comes up as planned, carries packets, breaks and heals as it is told, and leaves nothing
# behind, neither after `down` nor after a crash in the middle of `up`. A second lab stands beside it.
#   tests/lab/lab.sh WEFT CLUSTER_FILE MPI_PROGRAM.c
set -euo pipefail
weft=$(realpath "$1") cluster=$(realpath "$2") mpi=$(realpath "$3")
for tool in vtysh /usr/lib/frr/bgpd ip tc nft ping iperf3 dumpcap setpriv; do
  command -v "$tool" >/dev/null ||
    { echo "skipped: $tool is not installed (frr iproute2 nftables iputils-ping iperf3 tshark)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }

lab=test$$ other=other$$ crashed=crashed$$ foreign=weft-foreign$$
out=$(mktemp -d)
end() {
  for name in $lab $other $crashed; do "$weft" lab down --lab $name >/dev/null 2>&1 || true; done
  ip netns delete $foreign 2>/dev/null || true
  rm -r "$out"
}
trap end EXIT
fail() { echo "$*"; exit 1; }
ours() { ip netns list | grep -E -- "-($lab|$other|$crashed)-" || true; }
# What a lab must not touch: the machine's own network, and a namespace of somebody else.
machine() {
  network
  ip netns exec $foreign bash -c "$(declare -f network); network"
}
network() {
  ip -o link | sed 's/@.*//'
  ip route show table all
  ip -6 route show table all
  nft list ruleset
  find /proc/sys/net -type f -readable \( -name '*forward*' -o -name 'rp_filter' -o -name 'fib_*' -o -name 'accept_dad' \) \
    ! -name 'fib_multipath_hash_seed' -exec grep -H . {} +
}
ip netns add $foreign
ip -n $foreign link set lo up
ip -n $foreign link add name leaf0 type veth peer name spine0
machine >"$out/before"
on() { "$weft" lab exec --lab $lab "$1" -- "${@:2}"; }
reaches() { on s0 ping -c 1 -W 1 "$1" >/dev/null; }
record() { "$weft" lab status --lab $lab --json | grep "^{\"record\":\"$1\"" | grep -F -- "$2" || true; }
until_true() { # seconds, command; long, for the machine may be busy with other things
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || fail "not within $1 s: ${*:2}"
    sleep 0.2
  done
}

code=0
setpriv --reuid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$weft" lab up "$cluster" --lab $lab 2>"$out/said" || code=$?
[ $code -eq 3 ] && grep -q CAP_NET_ADMIN "$out/said" || fail "without privilege: exit $code, $(cat "$out/said")"

"$weft" lab up "$cluster" --lab $lab --timeout 120
code=0
"$weft" lab up "$cluster" --lab $lab 2>"$out/said" || code=$?
[ $code -eq 2 ] && grep -q 'there already' "$out/said" || fail "twice the same name: exit $code"
# Another one, with super-spines. A second is hardly enough: then what is missing is named, and the lab stays and comes up all the same.
cat >"$out/other.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: 2, nics: 1}
fabric: {kind: tor-clos, switch: tomahawk-4, servers_per_leaf: 1, spines: 1, pod: 1, super_spines: 1}
YAML
code=0
"$weft" lab up "$out/other.weft.yaml" --lab $other --rate 100Mbps --timeout 1 2>"$out/said" || code=$?
[ $code -eq 0 ] || { [ $code -eq 1 ] && grep -q 'no session from\|reaches' "$out/said"; } || fail "a lab that is late: exit $code, $(cat "$out/said")"

# As planned, and by packets.
[ -n "$(record lab '"routes_wrong":0')" ] || fail "routes are not as planned"
record lab_device '"device":"leaf0"' | grep -q '"equal_paths":2,"equal_paths_planned":2' || fail "leaf0 has not two equal paths"
for name in s3-pf1 s3-pf2; do reaches $name || fail "s0 does not reach $name"; done
[ "$(on leaf0 sysctl -n net.ipv4.fib_multipath_hash_policy)" = 3 ] || fail "paths are not by 5-tuple"
on leaf0 vtysh -c 'show version' | grep -q FRRouting || fail "vtysh does not find the device's daemons"
code=0
on s0 sh -c 'exit 5' || code=$?
[ $code -eq 5 ] || fail "exec exits with $code instead of 5"
other_reaches() { "$weft" lab exec --lab $other s0 -- ping -c 1 -W 1 s1-pf1 >/dev/null 2>&1; }
until_true 40 other_reaches

# Servers' own addresses go by both leaves of the frontend, and by the other one while one is dead.
on s0 ip route show 10.0.0.4 | grep -c 'dev mgmt[12]' | grep -qx 2 || fail "s0 has not two paths to s3 by the frontend"
reaches s3 || fail "s0 does not reach s3 by the frontend"
"$weft" lab fail --lab $lab switch frontend-leaf0

# A dead link is seen, goes round and comes back.
width() { record lab_device '"device":"leaf0"' | grep -q "\"equal_paths\":$1,"; }
"$weft" lab fail --lab $lab link leaf0:spine0
until_true 40 width 1
until_true 40 reaches s3-pf1
until_true 40 reaches s3
"$weft" lab heal --lab $lab
all_up() { [ -n "$(record lab '"sessions_up":48,"sessions":48,"routes_wrong":0')" ]; }
until_true 40 all_up

# Silence is not seen: sessions stay, packets vanish.
"$weft" lab fail --lab $lab switch spine0 silent
"$weft" lab fail --lab $lab switch spine1 silent
if reaches s3-pf1; then fail "packets pass silent spines"; fi
reaches s1-pf1 || fail "silent spines stop what does not pass them"
sleep 1.2 # longer than BFD waits
[ -n "$(record lab '"sessions_up":48,')" ] || fail "silence took sessions down"
"$weft" lab heal --lab $lab
reaches s3-pf1 || fail "healed spines stay silent"

# A slow NIC, loss, and numbers of both.
rate() { "$weft" lab traffic --lab $lab s0 s1 --time 1 --with iperf3 --json | sed 's/.*"bps":\([0-9]*\).*/\1/'; }
fast=$(rate)
"$weft" lab fail --lab $lab nic s0/nic0 rate 10%
slow=$(rate)
[ "$fast" -gt 250000000 ] && [ "$fast" -lt 505000000 ] || fail "500 Mb/s carry $fast b/s"
[ "$slow" -lt 55000000 ] || fail "a tenth of the rate carries $slow b/s"
"$weft" lab fail --lab $lab nic s0/nic0 loss 50%
on s0 ping -q -i 0.01 -c 60 -W 1 s1-pf1 >"$out/said" || true
lost=$(sed -n 's/.* \([0-9]*\)[.0-9]*% packet loss.*/\1/p' "$out/said")
[ "$lost" -gt 20 ] && [ "$lost" -lt 99 ] || fail "of 50 % loss each way $lost % are seen"
"$weft" lab heal --lab $lab
until_true 40 all_up # half of BFD's packets were lost, too: on a busy machine a session may have ended

# An MPI program between two units: its bytes cross the fabric.
if command -v mpicc >/dev/null; then
  mpicc -O1 "$mpi" -o "$out/mpi"
  crossed() { on s0 sh -c 'cat /sys/class/net/pf[12]/statistics/tx_bytes' | awk '{ sum += $1 } END { printf "%d\n", sum }'; } # by both rails
  before=$(crossed)
  timeout 120 "$weft" lab traffic --lab $lab s0 s2 --with mpi -- "$out/mpi" >"$out/said" 2>&1 || fail "MPI: $(tail -5 "$out/said")"
  # Rings of 1 to 8^6 bytes, and 50,000 integers for the other rank.
  [ $(($(crossed) - before)) -gt $(((8 ** 7 - 1) / 7 + 200000)) ] || fail "MPI sent $(($(crossed) - before)) bytes by the fabric: $(cat "$out/said")"
fi
"$weft" lab traffic --lab $lab s0 s2 --with srd --time 1 --json >"$out/said" || fail "no traffic by SRD"
"$(dirname "$0")/../schemas/records.py" - "$(dirname "$0")/../.." --strict <"$out/said" || [ $? = 77 ] || fail "the record does not fit its schema"
if [ "$(cat /proc/sys/net/mptcp/enabled 2>/dev/null)" = 1 ]; then
  "$weft" lab traffic --lab $lab s0 s2 --with mptcp --time 1 || fail "no traffic by MPTCP"
fi

"$weft" lab capture --lab $lab leaf0/Ethernet0 -o "$out/x.pcapng" --packets 3 2>/dev/null &
pid=$!
until_true 20 test -s "$out/x.pcapng"
for _ in $(seq 10); do reaches s1-pf1; done
wait $pid
[ "$(od -An -tx1 -N4 "$out/x.pcapng" | tr -d ' ')" = 0a0d0d0a ] || fail "a capture is no pcapng"

# Whoever was killed while it began a program leaves a child that holds the lock for a moment.
flock "/run/weft/$lab/lock" sh -c "touch '$out/held'; sleep 0.4" &
until_true 5 test -e "$out/held"
"$weft" lab fail link leaf0:spine0 --lab $lab || fail "a lock that is held for less than a second was not waited for"
wait $!

# A crash in the middle of `up` leaves what `down` finds.
"$weft" lab up "$cluster" --lab $crashed 2>/dev/null &
pid=$!
until_true 40 test -S "/run/weft/$crashed/leaf0/zebra.vty"
kill -9 $pid
wait $pid 2>/dev/null || true
[ -n "$(ours | grep -- "-$crashed-")" ] || fail "nothing was made before the crash"
for name in $crashed $other $lab; do "$weft" lab down --lab $name; done
[ -z "$(ours)" ] || fail "namespaces are left: $(ours)"
[ ! -e /run/weft/$lab ] || fail "/run/weft/$lab is left"
if pgrep -f -- "/run/weft/($lab|$other|$crashed)/" >/dev/null; then fail "daemons are left"; fi
machine >"$out/after"
diff "$out/before" "$out/after" || fail "the machine is not as it was"
echo "a lab of 12 devices came up, broke, healed and went, beside another one"
