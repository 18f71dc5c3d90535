#!/usr/bin/env bash
# Every path that CONTRIBUTING.md names in backticks is there: with a folder where it says, a bare file name somewhere.
# Words in capitals stand for something else.
#   contributing.sh SOURCE_DIR
set -euo pipefail
cd "$1"
seen=0 missing=0
while read -r name; do
  seen=$((seen + 1))
  case $name in
    */*) [ -e "$name" ] && continue ;;
    *) [ -n "$(find src tests examples -name "$name" -print -quit)" ] && continue ;;
  esac
  echo "CONTRIBUTING.md names $name, which is not there"
  missing=1
done < <(grep -o '`[^`]*`' CONTRIBUTING.md | tr -d '`' | grep -xE '[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?' |
  grep -E '/|\.(cpp|hpp|sh|txt|md|yaml|csv)$' | grep -vE '[A-Z][A-Z]' | sort -u)
[ "$seen" -ge 20 ] || { echo "only $seen paths found: has the page another form?"; exit 1; }
exit $missing
