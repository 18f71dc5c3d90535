#!/usr/bin/env bash
# --limit wall and memory hold from the first moment: while a million flows begin, at every level of detail, where all
# happens within one window of look-ahead, and where a dead NIC hands a terabyte to others.
#   tests/robust/limits.sh WEFT CLUSTER
set -eu
weft=$1 cluster=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
small=$folder/small.weft.yaml
printf '%s\n' 'version: 1' 'servers: {kind: hgx-h100, count: 4}' \
  'fabric: {kind: rail-optimized, scalable_unit: 4, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m}}' >"$small"
fail() { echo "$*"; cat "$folder/text"; exit 1; }

expect() { # limit, most seconds, options of weft sim
  local limit=$1 most=$2 code=0 before=$SECONDS
  shift 2
  timeout 60 "$weft" sim "$@" --limit "$limit" --links 1 >"$folder/text" 2>&1 || code=$?
  [ "$code" = 4 ] || fail "$*: exit $code"
  grep -q "limit $limit reached: the result is partial" "$folder/text" || fail "$*: the limit is not named"
  [ $((SECONDS - before)) -le "$most" ] || fail "$*: took $((SECONDS - before)) s"
}

for fidelity in packet flow message; do expect wall=1s 20 "$cluster" --fidelity "$fidelity"; done
expect wall=200ms 10 "$small" --pattern ring --size 1B --arrivals paced --duration 100us --load 50%
expect wall=1s 10 "$small" --set fabric.link.cable=100km --pattern all-to-all --size 1GB
expect wall=1s 10 "$small" --set fabric.link.cable=2km --pattern all-to-all --gpus 3 --size 1B --arrivals poisson --duration 20us --load 90%
# What waits inside a server grows without an end here, and its lists double: the limit is kept all the same.
peak() { # MiB, options of weft sim
  python3 -c 'import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024 if code == 4 else f"exit {code}")' "$weft" sim "$small" "${@:2}" --limit "memory=${1}MiB"
}
if command -v python3 >/dev/null; then
  most=$(peak 96 --pattern one --size 1TiB --fault leaf0)
  [ "$most" -le 100 ] || fail "--limit memory=96MiB: $most"
fi
# A terabyte whose NIC is dead moves part by part, not as a whole: a limit of memory is not jumped over.
ulimit -v 1500000
expect wall=5s 20 "$small" --pattern one --size 1TiB --fault leaf0
echo "limits hold from the first moment"
