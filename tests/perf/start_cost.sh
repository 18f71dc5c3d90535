#!/usr/bin/env bash
# How many instructions a run takes that sends one packet over a .topo file: the start. Counted by callgrind.
#   start_cost.sh WEFT LIMIT
set -euo pipefail
weft=$1 limit=$2
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
cat > "$dir/leaf.topo" <<'T'
Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 1
Downlink_Latency_ns 500
Tier 1
Downlink_speed_Gbps 100
Radix_Down 1
Downlink_Latency_ns 500
T
printf 'Nodes 4\nConnections 1\n0->3 start 0us size 1000\n' > "$dir/one.cm"
cost=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$weft" sim "$dir/leaf.topo" --matrix "$dir/one.cm" 2>&1 >/dev/null |
       sed -n 's/.*Collected : //p')
echo "$cost instructions, limit $limit"
[ "$cost" -le "$limit" ]
