#!/usr/bin/env bash
# Short runs of SRD over real sockets in a lab of four spines: with loss on one, with one that dies silently, and 48 endpoints into one.
# Every byte is compared where it arrives; how fast it was is bench/wire's business.
#   tests/lab/wire.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
for tool in vtysh /usr/lib/frr/bgpd ip tc nft python3; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (frr iproute2 nftables python3)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
exec "$(dirname "$0")/../../bench/wire" --weft "$weft" --quick --row loss --row death --row incast
