#!/usr/bin/env bash
# A rank of Open MPI that is killed ends the job with an error, and nothing of it is left: killed.sh FOLDER_WITH_THE_PROVIDER
set -euo pipefail
command -v mpicc >/dev/null && command -v mpirun >/dev/null || { echo "no Open MPI here"; exit 77; }
. "$(dirname "$0")/lib.sh"
cat >"$work/loop.c" <<'C'
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 1 << 30; i++) {
    if (rank == 1 && i == 300) kill(getpid(), SIGKILL);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
C
mpicc "$work/loop.c" -o "$work/loop"
before=$(ls /dev/shm | sort)
for shared in 0 1; do
  export FI_WEFT_SHM=$shared
  status=0
  run_mpi 3 "$work/loop" || status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] || { tail -20 "$work/out"; echo "status $status: the job went on"; exit 1; }
  grep -q 'signal 9' "$work/out" || { tail -20 "$work/out"; echo "nobody says that a rank was killed"; exit 1; }
done
[ "$(ls /dev/shm | grep -i weft || true)" = "$(echo "$before" | grep -i weft || true)" ] || { echo "left behind in /dev/shm"; exit 1; }
echo "a killed rank ends the job"
