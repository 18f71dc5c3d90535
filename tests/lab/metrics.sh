#!/usr/bin/env bash
# Debian's Prometheus scrapes a lab by the rendered configuration, and fires the rendered alert when a link dies.
#   tests/lab/metrics.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
for tool in vtysh /usr/lib/frr/bgpd ip tc nft prometheus promtool curl ping iperf3; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (frr nftables prometheus curl iputils-ping iperf3)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root for namespaces of its own"; exit 77; }
unshare -n true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }

lab=metrics$$ port=$((20000 + $$ % 20000)) pids=()
out=$(mktemp -d)
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  "$weft" lab down --lab $lab >/dev/null 2>&1 || true
  rm -r "$out"
}
trap end EXIT
fail() { echo "$*"; exit 1; }
until_true() { # seconds, command; long, for the machine may be busy with other things
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || fail "not within $1 s: ${*:2}"
    sleep 0.2
  done
}
cat >"$out/c.weft.yaml" <<YAML
version: 1
servers: {kind: hgx-h100, count: 2, nics: 1}
fabric: {kind: single-chassis, switch: tomahawk-4}
YAML
"$weft" lab up "$out/c.weft.yaml" --lab $lab --timeout 120
"$weft" render prometheus "$out/c.weft.yaml" -o "$out" 2>/dev/null
"$weft" lab metrics --lab $lab --listen 127.0.0.1:$port --targets "$out/prometheus/lab-targets.json" 2>"$out/said" &
pids+=($!)
metric() { curl -s --max-time 2 "http://127.0.0.1:$port/metrics" | sed -n "s/^$1 //p"; }
serves() { [ -n "$(metric weft_lab_sample_interval_seconds)" ]; }
until_true 30 serves
awk -v s="$(metric weft_lab_sample_interval_seconds)" 'BEGIN {exit !(s >= 0.01 && s < 1)}' || fail "no sampling interval"

# What waited in a queue between two scrapes is told at the second one, and then forgotten.
peak() { metric 'weft_queue_peak_bytes{node="s0",tier="server",interface="pf1"}'; }
"$weft" lab traffic --lab $lab s0 s1 --time 1 --with iperf3 >/dev/null
[ "$(peak)" -gt 9000 ] || fail "a full queue left no peak"
[ "$(peak)" -lt 9000 ] || fail "a peak is told twice"
# SRD's paths, as weft run tells them.
"$weft" lab traffic --lab $lab s0 s1 --time 1 --with srd >/dev/null
paths() { curl -s --max-time 5 "http://127.0.0.1:$port/metrics" | grep -c '^weft_run_path_bytes_total{node="s0",peer="s1",.*} [1-9]'; }
told() { [ "$(paths)" -gt 8 ]; }
until_true 20 told
curl -s --max-time 5 "http://127.0.0.1:$port/metrics" | promtool check metrics >"$out/said" 2>&1 || true
if grep -i 'error while parsing\|parsing error\|second' "$out/said"; then fail "Prometheus cannot read the metrics"; fi

# As rendered, but judged every second: the alert's own `for: 10s` stays.
sed -i 's/evaluation_interval: 15s/evaluation_interval: 1s/' "$out/prometheus/prometheus.yml"
(cd "$out/prometheus" && exec prometheus --config.file prometheus.yml --storage.tsdb.path "$out/tsdb" \
  --web.listen-address 127.0.0.1:$((port + 1)) >"$out/prometheus.log" 2>&1) &
pids+=($!)
ask() { curl -s --max-time 2 "http://127.0.0.1:$((port + 1))/api/v1/$1" || true; }
scraped() { ask 'query?query=weft_bgp_session_up' | grep -q '"interface":"pf1"'; }
firing() { ask alerts | grep -o '"alertname":"BgpSessionDown"[^}]*"node":"s0"[^}]*}[^}]*}[^}]*"state":"firing"' >/dev/null; }
until_true 60 scraped
firing && fail "the alert fires although all is well"

"$weft" lab fail --lab $lab nic s1/pf1 loss 30% 2>/dev/null
lossy() { # with pings, so that the last second had packets
  "$weft" lab exec --lab $lab s0 -- ping -q -i 0.005 -c 100 -W 1 s1-pf1 >/dev/null 2>&1 || true
  awk -v s="$(metric 'weft_path_loss_ratio{node="s1",tier="server",interface="pf1"}')" 'BEGIN {exit !(s > 0.1 && s < 0.6)}'
}
until_true 40 lossy
"$weft" lab heal --lab $lab 2>/dev/null

"$weft" lab fail --lab $lab link s0:leaf0
until_true 90 firing
echo "Prometheus scraped the lab and fired the alert"
