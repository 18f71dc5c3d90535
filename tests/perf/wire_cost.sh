#!/usr/bin/env bash
# How many instructions a packet of 1500 bytes costs the host, the kernel's share aside: to send it (with its checksum), to take it (checked
# and put in place), and to acknowledge it (both ends). Counted by callgrind, so the answer does not depend on the machine's load; and how
# many system calls a megabyte takes.
#   wire_cost.sh WIRE_COST SENT RECEIVED ACKNOWLEDGED CALLS       limits
set -euo pipefail
program=$1 most_sent=$2 most_received=$3 most_acknowledged=$4 most_calls=$5
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
valgrind --tool=callgrind --callgrind-out-file="$dir/out" "$program" --alone --datagram 1472 --messages 300 >"$dir/said" 2>"$dir/valgrind" ||
  { cat "$dir/said" "$dir/valgrind"; exit 1; }
callgrind_annotate --inclusive=yes --threshold=100 --show-percs=no "$dir/out" >"$dir/functions"
cost() { # of a function and all that it calls
  local found
  found=$(grep -F ":$1" "$dir/functions" | head -1 | awk '{gsub(",", "", $1); print $1}')
  [ -n "$found" ] || { echo "no function $1 in what callgrind says" >&2; exit 1; }
  echo "$found"
}
send=$(cost 'weft::net::Node::send_data()')
take=$(cost 'weft::net::Inbox::take(')
ack=$(cost 'weft::transport::Srd::handle_ack(')
say=$(cost 'weft::net::Node::send_acks()')
packets=$(sed -n 's/^sender.* out \([0-9]*\) packets, [0-9]* acks, \([0-9]*\) again.*/\1 \2/p' "$dir/said" | awk '{print $1 + $2}')
calls=$(awk '/^sender|^receiver/ {s += $2} END {printf "%d", s}' "$dir/said")
sent=$((send / packets)) received=$(((take - ack) / packets)) acknowledged=$(((ack + say) / packets))
cat "$dir/said"
echo "instructions per packet: $sent to send (limit $most_sent), $received to take ($most_received), $acknowledged to acknowledge ($most_acknowledged)"
echo "system calls per MB, both ends: $calls (limit $most_calls)"
[ "$sent" -le "$most_sent" ] && [ "$received" -le "$most_received" ] && [ "$acknowledged" -le "$most_acknowledged" ] && [ "$calls" -le "$most_calls" ]
