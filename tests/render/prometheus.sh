#!/usr/bin/env bash
# Prometheus' own checker reads the rendered configuration and rules, and tries the rules on series that break them.
#   tests/render/prometheus.sh WEFT CLUSTER_FILE
set -euo pipefail
command -v promtool >/dev/null || { echo "skipped: promtool is not installed (package prometheus)"; exit 77; }
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$1" render prometheus "$2" -o "$out" 2>/dev/null
cd "$out/prometheus"
promtool check config prometheus.yml
promtool check rules --lint-fatal rules.yml
# A session that goes down and a leaf that loses one of its planned paths must raise their alerts.
planned=$(sed -n 's/.*weft_ecmp_paths{tier="leaf"} < \([0-9]*\).*/\1/p' rules.yml)
said=$(sed -n 's/.*description: "\(Planned: .*\)"/\1/p' rules.yml)
cat >test.yml <<TEST
rule_files: [rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {series: 'frr_bgp_peer_state{node="leaf0",tier="leaf",peer="Ethernet0",peer_group="SERVERS"}', values: '1 1 0 0 0 0 0'}
      - {series: 'weft_tenant_drops_total{node="s0",tenant="a"}', values: '0 0 5 9 14 20 26 30 35 40'}
    alert_rule_test:
      - {eval_time: 15s, alertname: BgpSessionDown, exp_alerts: []}
      - eval_time: 1m30s
        alertname: BgpSessionDown
        exp_alerts:
          - exp_labels: {severity: critical, node: leaf0, tier: leaf, peer: Ethernet0, interface: Ethernet0, peer_group: SERVERS}
            exp_annotations:
              summary: "leaf0 Ethernet0: no BGP session"
              description: "The cable, the neighbour or its bgpd is down. hosts/cables.csv says what hangs there."
      - eval_time: 2m15s
        alertname: TenantDrops
        exp_alerts:
          - exp_labels: {severity: warning, node: s0, tenant: a}
            exp_annotations:
              summary: "s0: packets of tenant a are dropped"
              description: "A pod of this tenant talks to another tenant's, or with an address that is not its own."
  - interval: 15s
    input_series:
$(for i in $(seq 1 "$planned"); do
  echo "      - {series: 'frr_bgp_peer_state{node=\"leaf0\",tier=\"leaf\",peer=\"Ethernet$((i * 8))\",peer_group=\"ABOVE\"}', values: '1 1 1 $([ "$i" = 1 ] && echo '0 0 0 0 0 0' || echo '1 1 1 1 1 1')'}"
done)
    alert_rule_test:
      - {eval_time: 30s, alertname: EcmpNarrow, exp_alerts: []}
      - eval_time: 2m
        alertname: EcmpNarrow
        exp_alerts:
          - exp_labels: {severity: warning, node: leaf0, tier: leaf}
            exp_annotations:
              summary: "leaf0 has $((planned - 1)) equal paths upwards"
              description: "$said"
TEST
promtool test rules test.yml
