#!/usr/bin/env bash
# Ctrl-C, a batch system's SIGTERM and a closed terminal's SIGHUP end a run in order: what is done is kept, files are
# whole, exit code 130. Where SIGHUP is ignored (nohup), it stays ignored.
#   tests/robust/signals.sh WEFT CLUSTER
set -eu
weft=$1 cluster=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
fail() { echo "$*"; cat "$folder/err"; exit 1; }

# Runs for minutes unless it is stopped.
start() { # words before weft
  "$@" "$weft" sim "$cluster" --gpus 512 --size 1GB --json --csv "flows=$folder/flows.csv" \
    >"$folder/out" 2>"$folder/err" &
  run=$!
}
# On a busy machine it takes a while until weft hears signals at all: until then they end it, and nothing is lost.
until_it_listens() {
  for _ in $(seq 300); do
    [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$run/status") & 0x4000)) -ne 0 ] && return
    sleep 0.1
  done
  fail "nobody hears SIGTERM"
}
stop_with() { # signal
  until_it_listens
  sleep 2
  kill -s "$1" "$run"
  code=0
  wait "$run" || code=$?
}

for signal in INT TERM HUP; do
  rm -f "$folder/flows.csv"
  start env --default-signal=INT
  stop_with "$signal"
  [ "$code" = 130 ] || fail "SIG$signal: exit $code"
  grep -q 'interrupted: the result is partial' "$folder/err" || fail "SIG$signal: nothing is said"
  grep -q '"stopped_by":"ctrl-c"' "$folder/out" || fail "SIG$signal: no partial record"
  grep -q '^0,' "$folder/flows.csv" || fail "SIG$signal: no table of flows"
  [ "$(ls "$folder")" = "err
flows.csv
out" ] || fail "SIG$signal leaves $(ls "$folder")"
done

# What has no end of its own: seeds of dst.
env --default-signal=INT "$weft" dst --seeds 1000000000 >"$folder/out" 2>"$folder/err" &
run=$!
stop_with INT
[ "$code" = 130 ] || fail "dst: exit $code"
grep -q 'interrupted: the result is of [0-9]* of 1000000000 seeds' "$folder/err" || fail "dst: nothing is said"
grep -q '^[0-9,]* seeds, 0 failed' "$folder/out" || fail "dst: nothing is kept"

# What has an end, but not soon: tables and layouts.
kept() { # seconds, what is said, weft's words
  env --default-signal=INT "$weft" "${@:3}" >"$folder/out" 2>"$folder/err" &
  run=$!
  until_it_listens
  sleep "$1"
  kill -s INT "$run"
  code=0
  wait "$run" || code=$?
  [ "$code" = 130 ] || fail "${*:3}: exit $code"
  grep -q "interrupted: the result is of $2" "$folder/err" || fail "${*:3}: nothing is said"
  [ -s "$folder/out" ] || fail "${*:3}: nothing is kept"
}
examples=$(dirname "$(dirname "$cluster")")
kept 1 '[0-9]* of [0-9]* tables' validate --training "$examples/../truth"
kept 0.1 'the [0-9,]* layouts' plan "$examples/37-a-training-step/cluster.weft.yaml" --training --set servers.count=512 \
  --set run.0.training.model=deepseek-v3 --set run.0.training.global_batch=16384

start env --ignore-signal=HUP
sleep 0.5
kill -s HUP "$run"
stop_with TERM
[ "$code" = 130 ] || fail "a run that ignores SIGHUP: exit $code"
echo "runs that are ended keep what is done"
