#!/usr/bin/env bash
# Open MPI over the provider: mpi.sh FOLDER_WITH_THE_PROVIDER SOURCE. Exits 77 where Open MPI is not installed.
set -euo pipefail
command -v mpicc >/dev/null && command -v mpirun >/dev/null || { echo "no Open MPI here"; exit 77; }
export FI_PROVIDER_PATH=$1 FI_PROVIDER=weft FI_WEFT_IFACE=lo FI_LOG_LEVEL=info FI_LOG_SUBSYS=ep_ctrl
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mpicc -O1 "$2" -o "$work/mpi"
timeout 60 mpirun --allow-run-as-root --oversubscribe --mca pml cm --mca mtl ofi --mca btl self -n 3 "$work/mpi" >"$work/out" 2>&1 ||
  { tail -30 "$work/out"; exit 1; }
grep -v libfabric: "$work/out"
# Its bytes went over weft: each rank's endpoint says how many when it closes. Three ranks send 1 + 8 + ... + 8^6 bytes in the rings and
# 50,000 integers to each of two others: at least that much, and how much more depends on copies.
payload=$((3 * ((8 ** 7 - 1) / 7 + 2 * 50000 * 4)))
sent=$(grep -o 'closed: [0-9]* datagrams sent.*' "$work/out" | awk '{ bytes += $7 } END { printf "%d\n", bytes }')
[ "$(grep -c 'closed: ' "$work/out")" -eq 3 ] || { echo "not every rank used the provider"; exit 1; }
[ "$sent" -ge "$payload" ] || { echo "only $sent of $payload bytes went over weft"; exit 1; }
