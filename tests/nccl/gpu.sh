#!/usr/bin/env bash
# PyTorch over the plugin, two ranks on one GPU, beside NCCL's own sockets: gpu.sh FOLDER_WITH_THE_PLUGIN [FOLDER...]
# Further folders hold builds that export older interfaces only; with each the collectives are checked. Needs an NVIDIA GPU and
# PyTorch; no part of ctest. MEASURE_ONLY=N measures N times and does nothing else. Each rank is a host of its own to NCCL (NCCL_HOSTID), so that nothing but the network is left to it.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plugin=$1
shift
logs=$(mktemp -d)
export NCCL_SOCKET_IFNAME=lo WEFT_NCCL_IFACE=lo PYTHONUNBUFFERED=1 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET
failed=0

# job NAME FOLDER|sockets WHAT...: two ranks, by UDP unless the name begins with shared; prints what they print, and where the plugin was used what it says it carried.
job() {
  local name=$1 folder=$2 status=0
  shift 2
  export MASTER_PORT=$((20000 + RANDOM % 20000)) WEFT_NCCL_SHM=0
  [ "${name#shared}" = "$name" ] || WEFT_NCCL_SHM=1
  local pids=() rank
  for rank in 0 1; do
    if [ "$folder" = sockets ]; then
      NCCL_NET=Socket RANK=$rank WORLD_SIZE=2 NCCL_HOSTID=host$rank timeout 120 python3 "$here/collectives.py" "$@" \
        >"$logs/$name.$rank" 2>&1 &
    else
      NCCL_NET_PLUGIN=weft NCCL_NET=weft LD_LIBRARY_PATH=$folder:${LD_LIBRARY_PATH:-} RANK=$rank WORLD_SIZE=2 NCCL_HOSTID=host$rank \
        timeout 120 python3 "$here/collectives.py" "$@" >"$logs/$name.$rank" 2>&1 &
    fi
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  echo "== $name"
  grep -hE '^rank |MiB all-reduce' "$logs/$name".? || true
  grep -hoE 'Using network .*|NET/weft : at .*|NCCL version .*' "$logs/$name".? | sort -u
  if [ $status -ne 0 ]; then
    failed=1
    echo "FAILED"
    grep -hE 'WARN|Error|error' "$logs/$name".? | head -20
    tail -n 15 "$logs/$name".?
  fi
}

measure() { # turns
  for turn in $(seq "$1"); do
    job measure-udp-$turn "$plugin" measure
    job measure-sockets-$turn sockets measure
    job shared-measure-$turn "$plugin" measure
  done
}
if [ -n "${MEASURE_ONLY:-}" ]; then
  measure "$MEASURE_ONLY"
  exit $failed
fi
job check-udp "$plugin" check
job shared-check "$plugin" check
for folder in "$@"; do job "check-$(basename "$folder")" "$folder" check; done
job check-sockets sockets check
job train-udp "$plugin" train 30
job train-sockets sockets train 30
if [ -n "$(grep -h '^step' "$logs/train-udp.0")" ] && cmp <(grep '^step' "$logs/train-udp.0") <(grep '^step' "$logs/train-sockets.0"); then
  echo "30 losses equal to the last bit: $(grep '^step' "$logs/train-udp.0" | tail -1)"
else
  echo "losses differ"
  failed=1
fi
measure "${TURNS:-3}"
# A path that dies in mid-run: all packets from odd ports vanish for the rest of it.
if command -v nft >/dev/null && nft add table inet weft_test 2>/dev/null; then
  nft add chain inet weft_test out '{ type filter hook output priority 0; }'
  (sleep "${KILL_AFTER:-12}" && nft add rule inet weft_test out oif lo udp sport '&' 1 == 1 counter drop) &
  killer=$!
  job train-paths-killed "$plugin" train 3000
  wait $killer
  nft list table inet weft_test | grep counter
  nft delete table inet weft_test
  cmp <(grep '^step' "$logs/train-paths-killed.0" | head -30) <(grep '^step' "$logs/train-sockets.0") && echo "its first 30 losses are the same"
else
  echo "no nft here: no path is killed"
fi
exit $failed
