#!/usr/bin/env bash
# How many instructions a packet costs per link, everything included: SRD, digest, ports, queues. Counted by
# callgrind, so the answer does not depend on the machine's load. Two runs of different length: the difference
# leaves out loading and printing.
#   hop_cost.sh WEFT LIMIT [OPTION...]
set -euo pipefail
weft=$1 limit=$2
shift 2
options=("$@")
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
cat > "$dir/tree.topo" <<'T'
Nodes 64
Tiers 3
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
T
count() { # seeds
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$weft" sim "$dir/tree.topo" --size 500kB --seeds "$1" "${options[@]}" --json 2>&1 >"$dir/out.$1" |
    sed -n 's/.*Collected : //p'
}
one=$(count 1)
three=$(count 3)
hops=$(tail -n 2 "$dir/out.3" | sed -n 's/.*"packet_hops":\([0-9]*\).*/\1/p' | awk "{s += \$1} END {print s}")
each=$(((three - one) / hops))
echo "$each instructions per packet and link, limit $limit"
[ "$each" -le "$limit" ]
