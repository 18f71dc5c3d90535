#!/usr/bin/env bash
# libfabric's own fi_pingpong over the provider, all its sizes, contents checked: pingpong.sh FOLDER_WITH_THE_PROVIDER
set -euo pipefail
command -v fi_pingpong >/dev/null || { echo "no fi_pingpong here (libfabric-bin)"; exit 77; }
. "$(dirname "$0")/lib.sh"
pingpong() { timeout 60 fi_pingpong -p weft -e rdm -m $mode -I 20 -c "$@" >>"$work/out" 2>&1; }
for shared in 0 1; do
  export FI_WEFT_SHM=$shared
  for mode in msg tagged; do
    : >"$work/out"
    port=$((20000 + RANDOM % 20000))
    pingpong -B $port &
    server=$!
    for _ in $(seq 50); do
      sleep 0.1
      pingpong -P $port 127.0.0.1 && break
      kill -0 $server 2>/dev/null || { cat "$work/out"; echo "the server is gone"; exit 1; }
    done
    wait $server
    # Messages of 64 B to 1 MiB, 20 of each size, from both.
    carried 2 $((2 * 20 * 1048576))
  done
done
