#!/usr/bin/env bash
# libfabric's own fi_pingpong over the provider, all its sizes, contents checked: pingpong.sh FOLDER_WITH_THE_PROVIDER
set -euo pipefail
command -v fi_pingpong >/dev/null || { echo "no fi_pingpong here (libfabric-bin)"; exit 77; }
export FI_PROVIDER_PATH=$1 FI_PROVIDER=weft FI_WEFT_IFACE=lo
for mode in msg tagged; do
  port=$((20000 + RANDOM % 20000))
  timeout 60 fi_pingpong -p weft -e rdm -m $mode -I 20 -c -B $port >/dev/null 2>&1 &
  server=$!
  for _ in $(seq 50); do
    sleep 0.1
    timeout 60 fi_pingpong -p weft -e rdm -m $mode -I 20 -c -P $port 127.0.0.1 && break
    kill -0 $server 2>/dev/null || { echo "the server is gone"; exit 1; }
  done
  wait $server
done
