#!/usr/bin/env bash
# Open MPI over the provider: mpi.sh FOLDER_WITH_THE_PROVIDER SOURCES. Exits 77 where Open MPI is not installed.
set -euo pipefail
command -v mpicc >/dev/null && command -v mpirun >/dev/null || { echo "no Open MPI here"; exit 77; }
. "$(dirname "$0")/lib.sh"
mpicc -O1 "$2/mpi.c" -o "$work/mpi"
mpicc -O1 "$2/onesided.c" -o "$work/onesided"
# Three ranks send 1 + 8 + ... + 8^6 bytes in the rings and 50,000 integers to each of two others.
messages=$((3 * ((8 ** 7 - 1) / 7 + 2 * 50000 * 4)))
# 20,000 integers to each of two others and back, and 4 MiB from two of them.
windows=$((3 * 2 * 20000 * 4 + 2 * 4 * 1048576))
for shared in 0 1; do
  export FI_WEFT_SHM=$shared
  run_mpi 3 "$work/mpi" || { tail -30 "$work/out"; exit 1; }
  grep wrong "$work/out"
  carried 3 $messages
  # A rank that computes for 20 s without a call of MPI.
  run_mpi 3 "$work/onesided" 20 || { tail -30 "$work/out"; exit 1; }
  grep wrong "$work/out"
  carried 3 $windows
done
