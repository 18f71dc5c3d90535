#!/usr/bin/env bash
# The rendered config_db.json of every switch keeps to the rules that SONiC documents for its tables (sonic_rules.py), and a file
# with one thing wrong does not. Where WEFT_SONIC_YANG names a folder with SONiC's own YANG models, yanglint judges by them as well:
# they are other people's, in no package, and not part of the project (docs/render.md says how to get them).
#   [WEFT_SONIC_YANG=DIR] tests/render/sonic.sh WEFT CLUSTER_FILE [weft's options]
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
weft=$1
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$weft" render sonic "$@" -o "$out" 2>/dev/null
"$here/sonic_rules.py" "$out"/*/config_db.json

# One thing wrong at a time: (what of it, by what).
first=$(grep -l "PORT_QOS_MAP" "$out"/*/config_db.json | xargs grep -l "PREFIX_SET" | head -n 1) # a leaf of the fabric
wrong=0
while IFS='~' read -r from to; do
  sed "0,/$from/s//$to/" "$first" >"$out/wrong.json"
  cmp -s "$first" "$out/wrong.json" && { echo "nothing in $first is '$from'"; exit 1; }
  if "$here/sonic_rules.py" "$out/wrong.json" >"$out/said" 2>"$out/crash"; then echo "'$to' instead of '$from' is taken"; exit 1; fi
  [ ! -s "$out/crash" ] || { cat "$out/crash"; exit 1; }
  wrong=$((wrong + 1))
done <<'WRONG'
"speed": "[0-9]*"~"speed": "1000000"
"speed": "[0-9]*",~
"lanes": "1,~"lanes": "9,
"mtu": "9100"~"mtu": "9300"
"PORT": {~"PORTS": {
"peer_group_name": "[A-Z]*"~"peer_group_name": "NOBODY"
"profile": "ingress_lossy_profile"~"profile": "ingress_lossy"
"xoff": "[1-9][0-9]*"~"xoff": "1"
"pfc_enable": "3"~"pfc_enable": "4"
"pool": "ingress_pool"~"pool": "egress_lossless_pool"
"weight": "90"~"weight": "95"
"green_min_threshold": "~"green_min_threshold": "9
"detection_time": "[0-9]*"~"detection_time": "50"
"action": "permit"~"action": "allow"
"router_id": "10~"router_id": "310
WRONG
echo "and $wrong files with one thing wrong do not"

[ -n "${WEFT_SONIC_YANG:-}" ] || { echo "not judged by SONiC's own models: WEFT_SONIC_YANG names no folder with them"; exit 0; }
command -v yanglint >/dev/null || { echo "yanglint is not installed (package libyang-tools)"; exit 1; }
checked=0
for file in "$out"/*/config_db.json; do
  python3 "$here/sonic_yang.py" "$WEFT_SONIC_YANG" "$file" >"$out/data.xml" 2>"$out/modules" || { cat "$out/modules"; exit 1; }
  # shellcheck disable=SC2046
  yanglint -p "$WEFT_SONIC_YANG" -p /usr/share/yang/modules/libyang -t config -f xml $(sed "s|.*|$WEFT_SONIC_YANG/&.yang|" "$out/modules") "$out/data.xml" >/dev/null 2>"$out/said" ||
    { grep -v 'libyang warn' "$out/said"; echo "SONiC's models do not take $file"; exit 1; }
  checked=$((checked + 1))
done
echo "$checked switches are as SONiC's models want them"
[ "$checked" -gt 0 ]
