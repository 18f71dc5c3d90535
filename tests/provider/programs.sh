#!/usr/bin/env bash
# Programs that nobody here wrote, over the provider: mpi4py's own benchmark, NetPIPE. programs.sh FOLDER_WITH_THE_PROVIDER
# One that is not installed is skipped by name; exits 77 where none is.
set -euo pipefail
command -v mpirun >/dev/null || { echo "no Open MPI here"; exit 77; }
. "$(dirname "$0")/lib.sh"
ran=0
for shared in 0 1; do
  export FI_WEFT_SHM=$shared
  # Debian's, which is Open MPI's here.
  if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    run_mpi 3 /usr/bin/python3 -m mpi4py.bench ringtest -n 65536 -l 20 || { tail -30 "$work/out"; exit 1; }
    grep 'time for' "$work/out"
    carried 3 $((20 * 3 * 65536))
    ran=1
  else
    echo "no mpi4py here"
  fi
  if command -v NPopenmpi >/dev/null; then
    # Every message is checked (-i), which takes no time.
    (cd "$work" && run_mpi 2 NPopenmpi -i -u 262144 -p 0 -n 4 -o np) || { tail -30 "$work/out"; exit 1; }
    grep -vi 'libfabric' "$work/out" | tail -1
    carried 2 262144
    ran=1
  else
    echo "no NetPIPE here"
  fi
done
[ $ran = 1 ] || exit 77
