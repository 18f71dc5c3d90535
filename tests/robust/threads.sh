#!/usr/bin/env bash
# Where threads cannot be started (a container's limit, ulimit), weft says so and exits 3, or works with those it gets.
#   tests/robust/threads.sh WEFT CLUSTER
set -eu
weft=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cluster=$folder/small.weft.yaml
printf '%s\n' 'version: 1' 'servers: {kind: hgx-h100, count: 4}' \
  'fabric: {kind: rail-optimized, scalable_unit: 4, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m}}' >"$cluster"
fail() { echo "$*"; cat "$folder/err"; exit 1; }
ulimit -s 1125899906842624 # no stack of that size can be had, so no thread

code=0
"$weft" sim "$cluster" --threads 2 >"$folder/out" 2>"$folder/err" || code=$?
[ "$code" = 3 ] || fail "sim --threads 2 without threads: exit $code"
grep -q 'cannot start a thread: Resource temporarily unavailable; --threads 1 starts none' "$folder/err" || fail "sim: why?"
"$weft" sim "$cluster" --threads 1 >"$folder/out" 2>"$folder/err" || fail "sim --threads 1 needs no thread"

"$weft" sweep "$cluster" --over servers.nics=2,8 --threads 2 >"$folder/out" 2>"$folder/err" || fail "sweep gives up"
grep -q '1 thread instead of 2: Resource temporarily unavailable' "$folder/err" || fail "sweep: does not say so"
echo "without threads weft says so, or goes on alone"
