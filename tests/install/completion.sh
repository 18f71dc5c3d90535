#!/usr/bin/env bash
# What the bash completion offers, asked as the shell asks it.
#   tests/install/completion.sh WEFT
weft=$1
source <("$weft" completion bash)
offered() { # the line so far
  COMP_LINE=$1 COMP_POINT=${#1}
  # The shell cuts words at "=", too.
  read -ra COMP_WORDS <<<"${1//=/ = }"
  [[ $1 != *[[:space:]] ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _weft 2>/dev/null
  echo " ${COMPREPLY[*]} "
}
failed=0
expect() { # line, word that must be offered
  local got
  got=$(offered "$1")
  [[ $got == *" $2 "* ]] || { echo "weft completion: '$1' does not offer '$2' but$got"; failed=1; }
}
cd "$(dirname "$0")/../../examples/01-acp-2-nics"
expect "weft co" compare
expect "weft help s" sim
expect "weft check c" cluster.weft.yaml
expect "weft plan c" cluster.weft.yaml
expect "weft why c" cluster.weft.yaml
expect "weft sim --collective all_" all_reduce
expect "weft sim --fidelity p" packet
expect "weft sim --stack e" efa
expect "weft sim --fault spine0,kind=bl" blackhole
expect "weft sim --set transport.ki" transport.kind=
expect "weft sim --set transport.kind=s" srd
expect "weft sweep --over servers.co" servers.count=
expect "weft show fabric --as s" svg
expect "weft explain E010" E0107
exit $failed
