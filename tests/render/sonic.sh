#!/usr/bin/env bash
# SONiC's own YANG models judge the rendered config_db.json of every switch. They are other people's and not part of the
# project: WEFT_SONIC_YANG names a folder with src/sonic-yang-models/yang-models of a release, and the templates beside
# them (docs/render.md says how to get it).
#   WEFT_SONIC_YANG=DIR tests/render/sonic.sh WEFT CLUSTER_FILE [weft's options]
set -euo pipefail
command -v yanglint >/dev/null || { echo "skipped: yanglint is not installed (package libyang-tools)"; exit 77; }
[ -n "${WEFT_SONIC_YANG:-}" ] || { echo "skipped: WEFT_SONIC_YANG names no folder with SONiC's models"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
weft=$1
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$weft" render sonic "$@" -o "$out" 2>/dev/null
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
