#!/usr/bin/env bash
# Daemons start from the rendered files, in namespaces joined as the rendered cable list says: every session comes up, a
# leaf has all equal paths, a server reaches each rail by its own NIC, and nothing that is not a server's is taken from it.
#   tests/render/frr_sessions.sh WEFT CLUSTER_FILE
set -euo pipefail
frr=/usr/lib/frr
for tool in vtysh $frr/bgpd $frr/zebra $frr/staticd unshare nsenter ip ping; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (packages frr, iproute2, iputils-ping)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }

out=$(mktemp -d)
declare -A holder # a process in each device's namespace
daemons=()
stop() {
  for pid in "${daemons[@]}" "${holder[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -r "$out"
}
trap stop EXIT
chmod 755 "$out"
"$1" render frr "$2" -o "$out" 2>/dev/null
"$1" render hosts "$2" -o "$out" 2>/dev/null
devices=$(cd "$out" && for file in */frr.conf; do dirname "$file"; done)
within() { nsenter -t "${holder[$1]}" -n "${@:2}"; }
ask() { within "$1" vtysh --vty_socket "$out/$1/run" -c "$2"; }

for device in $devices; do
  unshare -n sleep 120 &
  holder[$device]=$!
  mkdir "$out/$device/run"
  chown frr:frr "$out/$device/run"
done
sleep 0.2
for device in $devices; do
  within "$device" ip link set lo up
  within "$device" sysctl -q -p "$out/$device/sysctl.conf" >/dev/null 2>&1 || true
done
grep -v '^#\|^from,' "$out/hosts/cables.csv" | while IFS=, read -r from _ from_interface to _ to_interface _; do
  ip link add weft-a type veth peer name weft-b
  ip link set weft-a netns "${holder[$from]}" name "$from_interface"
  ip link set weft-b netns "${holder[$to]}" name "$to_interface"
  within "$from" ip link set "$from_interface" up
  within "$to" ip link set "$to_interface" up
done
for device in $devices; do
  run=$out/$device/run
  for daemon in zebra staticd bgpd; do
    nsenter -t "${holder[$device]}" -n $frr/$daemon -z "$run/zserv.api" --vty_socket "$run" -i "$run/$daemon.pid" \
      -A 127.0.0.1 >/dev/null 2>&1 &
    daemons+=($!)
    for _ in $(seq 100); do
      [ -S "$run/$daemon.vty" ] && break
      sleep 0.05
    done
  done
  said=$(within "$device" vtysh --vty_socket "$run" -f "$out/$device/frr.conf" 2>&1)
  # bfdd is left out here: its profile is then a name that bgpd keeps.
  if grep -v '^$\|bfd' <<<"$said" | grep 'Unknown\|not exist\|nvalid\|rror'; then echo "FRR refuses $device/frr.conf"; exit 1; fi
done

# Every cable has a session; the frontend's too, where the file has one.
frontend=$(grep -c ',frontend-leaf' "$out/hosts/cables.csv" || true)
down() { for device in $devices; do
  ask "$device" 'show bgp ipv4 unicast summary' | awk -v device="$device" -v frontend="$frontend" '$3 ~ /^[0-9]+$|^-$/ || / 4 / {
    if ((frontend || $0 !~ /mgmt[12]/) && $0 ~ /Ethernet|pf[0-9]|mgmt/ && $10 !~ /^[0-9]+$/) print device, $1, $10}'
done; }
for _ in $(seq 60); do
  missing=$(down)
  [ -z "$missing" ] && break
  sleep 0.5
done
[ -z "$missing" ] || { echo "sessions that did not come up:"; echo "$missing"; exit 1; }

paths() { within "$1" ip route show "$2" | grep -c 'dev'; }
planned=$(sed -n 's/^  maximum-paths //p' "$out/leaf0/frr.conf")
last=$(cd "$out" && ls -d s*/ | grep '^s[0-9]' | tr -d / | sort -V | tail -n 1)
far=$(awk -v name="$last-pf1" '$2 == name {print $1}' "$out/hosts/etc-hosts")
far2=$(awk -v name="$last-pf2" '$2 == name {print $1}' "$out/hosts/etc-hosts")
for _ in $(seq 40); do
  [ "$(paths leaf0 "$far" || true)" = "$planned" ] && [ -n "$(within s0 ip route show "$far2")" ] && break
  sleep 0.25
done
[ "$(paths leaf0 "$far")" = "$planned" ] || { echo "leaf0 has $(paths leaf0 "$far") of $planned paths to $far"; exit 1; }
within s0 ip route show "$far" | grep -q 'dev pf1' || { echo "s0 does not reach rail 0 by pf1"; exit 1; }
within s0 ip route show "$far2" | grep -q 'dev pf2' || { echo "s0 does not reach rail 1 by pf2"; exit 1; }

# A server's own address is known to both of its frontend leaves, and reached by both.
if [ "$frontend" -gt 0 ]; then
  s1=$(awk '$2 == "s1" {print $1}' "$out/hosts/etc-hosts")
  for _ in $(seq 40); do
    [ "$(paths s0 "$s1" || true)" = 2 ] && break
    sleep 0.25
  done
  for leaf in frontend-leaf0 frontend-leaf1; do
    [ -n "$(within $leaf ip route show "$s1")" ] || { echo "$leaf does not know s1's address $s1"; exit 1; }
  done
  [ "$(paths s0 "$s1")" = 2 ] || { echo "s0 has $(paths s0 "$s1") of 2 paths to s1: $(within s0 ip route show "$s1")"; exit 1; }
  within s0 ping -q -c 1 -W 2 -I "$(awk '$2 == "s0" {print $1}' "$out/hosts/etc-hosts")" "$s1" >/dev/null || { echo "s0 does not reach s1 by the frontend"; exit 1; }
fi

# A pod's address goes out, another server's does not.
as=$(sed -n 's/^router bgp //p' "$out/s0/frr.conf")
own=$(awk '$2 == "s0-pf1" {print $1}' "$out/hosts/etc-hosts")
pod=${own%.*}.$((${own##*.} + 1))
within s0 vtysh --vty_socket "$out/s0/run" -c 'configure terminal' -c "ip route $pod/32 blackhole" -c "ip route $far/32 blackhole" \
  -c "router bgp $as" -c 'address-family ipv4 unicast' -c "network $pod/32" -c "network $far/32" \
  -c 'no neighbor pf1 route-map RAIL0-OUT out' >/dev/null 2>&1
leaf=$(awk -F, -v name="$last" '$1 == name && $3 == "pf1" {print $4}' "$out/hosts/cables.csv")
for _ in $(seq 40); do
  [ -n "$(within "$leaf" ip route show "$pod")" ] && break
  sleep 0.25
done
[ -n "$(within "$leaf" ip route show "$pod")" ] || { echo "$leaf does not know the pod's address $pod"; exit 1; }
if within leaf0 ip route show "$far" | grep -q 'dev Ethernet0 '; then
  echo "leaf0 takes $far from s0, whose address it is not"
  exit 1
fi
echo "all sessions of $(wc -w <<<"$devices") devices are up, with $planned equal paths between units"
