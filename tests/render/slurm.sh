#!/usr/bin/env bash
# Debian's Slurm starts on the rendered files, in namespaces of its own, and gives the fabric back: every unit that the
# inventory names is a switch with the same servers, and the node that has a slurmd has its GPUs.
#   tests/render/slurm.sh WEFT CLUSTER_FILE FIRST_SERVER
set -euo pipefail
for tool in slurmctld slurmd scontrol munged unshare ip; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (packages slurmctld slurmd slurm-client munge)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
if [ "${1:-}" != inside ]; then
  unshare -mn true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
  out=$(mktemp -d)
  trap 'rm -r "$out"' EXIT
  chmod 755 "$out"
  "$1" render slurm "$2" -o "$out" 2>/dev/null
  "$1" render hosts "$2" -o "$out" 2>/dev/null
  unshare -mn "$0" inside "$out" "$3"
  exit
fi

out=$2
node=$3
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
trap stop EXIT
ip link set lo up
ip addr add "$(awk -v name="$node" '$2 == name {print $1}' "$out/hosts/etc-hosts")/32" dev lo
{ echo "127.0.0.1 localhost $(hostname)"; cat "$out/hosts/etc-hosts"; } >"$out/hosts.all"
mount --bind "$out/hosts.all" /etc/hosts
# GPUs that this machine does not have: slurmd only looks whether the device is there.
mount -t tmpfs none /mnt
mkdir /mnt/dev
cp -a /dev/null /dev/zero /dev/urandom /dev/random /dev/tty /mnt/dev/ 2>/dev/null || true
for i in $(seq 0 15); do mknod "/mnt/dev/nvidia$i" c 195 "$i"; done
mount --bind /mnt/dev /dev
mkdir "$out/shm" && mkdir -p /dev/shm

mkdir -m 700 "$out/munge"
head -c 1024 /dev/urandom >"$out/munge/key"
chmod 600 "$out/munge/key"
munged --force -F --key-file="$out/munge/key" --socket="$out/munge/socket" --pid-file="$out/munge/pid" \
  --log-file="$out/munge/log" --seed-file="$out/munge/seed" >"$out/munged.log" 2>&1 &
pids+=($!)

mkdir "$out/state" "$out/spool"
cat >"$out/slurm/slurm.conf" <<CONF
ClusterName=weft
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$out/munge/socket
StateSaveLocation=$out/state
SlurmdSpoolDir=$out/spool
SlurmctldPidFile=$out/slurmctld.pid
SlurmdPidFile=$out/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
TopologyPlugin=topology/tree
ReturnToService=2
include $out/slurm/nodes.conf
PartitionName=all Nodes=ALL Default=YES
CONF
export SLURM_CONF=$out/slurm/slurm.conf
slurmctld -D -f "$SLURM_CONF" >"$out/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >"$out/slurmd.log" 2>&1 &
pids+=($!)

said() { echo "$1"; tail -n 30 "$out"/munged.log "$out/slurmctld.log" "$out/slurmd.log"; exit 1; }
for _ in $(seq 100); do
  state=$(scontrol -o show node "$node" 2>/dev/null | grep -o 'State=[A-Z]*' || true)
  [ "$state" = State=IDLE ] && break
  sleep 0.2
done
[ "$state" = State=IDLE ] || said "$node is not idle: ${state:-slurmctld does not answer}"

# "unit server server ..." of every unit, by the inventory and by Slurm.
awk -F, '$2 == "server" {at[$4] = at[$4] " " $1} END {for (unit in at) print unit at[unit]}' "$out/hosts/inventory.csv" |
  sort >"$out/expected"
scontrol -o show topology | grep 'Level=0' | sed 's/.*SwitchName=\([^ ]*\).*Nodes=\([^ ]*\).*/\1 \2/' |
  while read -r unit nodes; do echo "$unit" $(scontrol show hostnames "$nodes"); done | sort >"$out/found"
diff "$out/expected" "$out/found" || said "Slurm's topology is not the fabric's"
switches=$(grep -c '^SwitchName=' "$out/slurm/topology.conf")
[ "$(scontrol -o show topology | grep -c SwitchName)" = "$switches" ] || said "Slurm does not know all $switches switches"
scontrol -o show node "$node" | grep -o 'Gres=[^ ]*'
echo "Slurm has $(wc -l <"$out/found") units below $switches switches, as the fabric has them"
