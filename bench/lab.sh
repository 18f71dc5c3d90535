#!/usr/bin/env bash
# How long `weft lab up` takes until every session is up and every device has its planned paths, against its limits; and what
# `weft lab metrics` takes of a core on a lab of 64 links, and how often it looks at queues.
#   bench/lab.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
out=$(mktemp -d) metrics=0
end() {
  [ $metrics = 0 ] || kill $metrics 2>/dev/null || true
  "$weft" lab down --lab bench$$ >/dev/null 2>&1 || true
  rm -r "$out"
}
trap end EXIT
missed=0
up() { # servers, units' servers, spines, nics, Gb/s of an uplink
  cat >"$out/c.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: $1, nics: $4}
fabric: {kind: rail-optimized, scalable_unit: $2, spines: $3, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m},
         spine_link: {rate: ${5}Gbps, cable: 20m}}
YAML
  "$weft" lab up "$out/c.weft.yaml" --lab bench$$ --timeout 180 2>"$out/said" || { cat "$out/said"; exit 1; }
}
measure() { # name, limit in seconds, as above
  local began ended took
  began=$(date +%s%N)
  up "${@:3}"
  ended=$(date +%s%N)
  "$weft" lab down --lab bench$$ 2>/dev/null
  took=$(((ended - began) / 100000000))
  printf '%-44s %4d.%d s  (limit %d s, down after %s s)\n' "$1" $((took / 10)) $((took % 10)) "$2" \
    "$((($(date +%s%N) - ended) / 1000000000))"
  [ "$took" -le $(($2 * 10)) ] || missed=1
}
measure '2 leaves x 4 spines x 4 servers' 15 4 2 4 1 200
measure '8 leaves x 8 spines x 32 servers, 2 rails' 90 32 8 8 2 400

seconds=10 port=$((20000 + $$ % 20000))
up 16 8 8 2 400 # 32 NICs, 4 leaves with 8 spines
"$weft" lab metrics --lab bench$$ --listen 127.0.0.1:$port 2>/dev/null &
metrics=$!
sleep 2
ticks() { awk '{print $14 + $15}' /proc/$metrics/stat; }
before=$(ticks)
for _ in $(seq $seconds); do
  sleep 1
  curl -s "http://127.0.0.1:$port/metrics" >"$out/page"
done
percent=$((($(ticks) - before) * 100 / $(getconf CLK_TCK) / seconds))
printf '%-44s %4d %% of a core (limit 25), every %s s, scraped each second\n' 'metrics of 64 links, 28 devices' $percent \
  "$(sed -n 's/^weft_lab_sample_interval_seconds //p' "$out/page")"
[ $percent -le 25 ] || missed=1
exit $missed
