#!/usr/bin/env bash
# How long `weft lab up` takes until every session is up and every device has its planned paths, against its limits.
#   bench/lab.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
out=$(mktemp -d)
trap '"$weft" lab down --lab bench$$ >/dev/null 2>&1 || true; rm -r "$out"' EXIT
missed=0
measure() { # name, limit in seconds, servers, units' servers, spines, nics, Gb/s of an uplink
  cat >"$out/c.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: $3, nics: $6}
fabric: {kind: rail-optimized, scalable_unit: $4, spines: $5, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m},
         spine_link: {rate: ${7}Gbps, cable: 20m}}
YAML
  local began ended took
  began=$(date +%s%N)
  "$weft" lab up "$out/c.weft.yaml" --lab bench$$ --timeout 180 2>"$out/said" || { cat "$out/said"; exit 1; }
  ended=$(date +%s%N)
  "$weft" lab down --lab bench$$ 2>/dev/null
  took=$(((ended - began) / 100000000))
  printf '%-44s %4d.%d s  (limit %d s, down after %s s)\n' "$1" $((took / 10)) $((took % 10)) "$2" \
    "$((($(date +%s%N) - ended) / 1000000000))"
  [ "$took" -le $(($2 * 10)) ] || missed=1
}
measure '2 leaves x 4 spines x 4 servers' 15 4 2 4 1 200
measure '8 leaves x 8 spines x 32 servers, 2 rails' 90 32 8 8 2 400
exit $missed
