#!/usr/bin/env bash
# How many instructions an acknowledgement and what it lets out cost, with 64 peers that are being sent to and with 4,096,
# of which the logarithm is twice as large: the second may be at most LIMIT percent of the first. Counted by callgrind; two
# runs of different length leave out the start.
#   peers_cost.sh PROGRAM LIMIT
set -euo pipefail
program=$1 limit=$2
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
count() { # peers acknowledgements
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}
few=$((($(count 64 3000) - $(count 64 1000)) / 2000))
many=$((($(count 4096 3000) - $(count 4096 1000)) / 2000))
echo "$few instructions with 64 peers, $many with 4096, limit $limit percent"
[ $((many * 100)) -le $((few * limit)) ]
