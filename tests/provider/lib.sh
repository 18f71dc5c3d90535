# For tests that run other people's programs over the provider. Sets `work`, a folder that is removed, and run_mpi.
export FI_PROVIDER_PATH=$1 FI_PROVIDER=weft FI_WEFT_IFACE=lo FI_LOG_LEVEL=info FI_LOG_SUBSYS=ep_ctrl
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# run_mpi RANKS PROGRAM...: over the provider and nothing else; its output is in $work/out.
run_mpi() {
  local ranks=$1
  shift
  timeout 100 mpirun --allow-run-as-root --oversubscribe --mca pml cm --mca mtl ofi --mca btl self --mca osc pt2pt \
    -x FI_WEFT_SHM -n "$ranks" "$@" >"$work/out" 2>&1
}

# carried RANKS BYTES: every rank's endpoint says at its end what it carried: at least so much, by UDP where FI_WEFT_SHM=0 and by
# memory otherwise, and nothing by the other way.
carried() {
  local ends udp memory
  ends=$(grep -c 'closed: ' "$work/out" || true)
  udp=$(grep -o 'closed: [0-9]* datagrams sent.*' "$work/out" | awk '{ bytes += $7 } END { printf "%d\n", bytes }')
  memory=$(grep -o 'by shared memory [0-9]*' "$work/out" | awk '{ bytes += $4 } END { printf "%d\n", bytes }')
  echo "$ends endpoints, $udp bytes by UDP, $memory by shared memory"
  [ "$ends" -ge "$1" ] || { echo "not every rank used the provider"; return 1; }
  if [ "${FI_WEFT_SHM:-1}" = 0 ]; then set -- "$2" "$udp" "$memory"; else set -- "$2" "$memory" "$udp"; fi
  [ "$2" -ge "$1" ] || { echo "only $2 of $1 bytes went over weft"; return 1; }
  [ "$3" -eq 0 ] || { echo "$3 bytes went the other way"; return 1; }
}
