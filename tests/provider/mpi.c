/* Rings of all sizes, an all-reduce and an all-to-all whose every number is checked: exits with the count of wrong ones. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ring(int rank, int ranks, int size) {
  char *out = malloc(size), *in = malloc(size);
  int wrong = 0, from = (rank + ranks - 1) % ranks;
  memset(out, rank + size % 7, size);
  MPI_Sendrecv(out, size, MPI_CHAR, (rank + 1) % ranks, size, in, size, MPI_CHAR, from, size, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++) wrong += in[i] != (char)(from + size % 7);
  free(out);
  free(in);
  return wrong;
}

static int all_to_all(int rank, int ranks, int each) {
  int *out = malloc(sizeof(int) * each * ranks), *in = malloc(sizeof(int) * each * ranks), wrong = 0;
  for (int i = 0; i < each * ranks; i++) out[i] = rank * 1000003 + i;
  MPI_Alltoall(out, each, MPI_INT, in, each, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; from++)
    for (int i = 0; i < each; i++) wrong += in[from * each + i] != from * 1000003 + rank * each + i;
  free(out);
  free(in);
  return wrong;
}

int main(int argc, char **argv) {
  int rank, ranks, wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int size = 1; size <= 1 << 20; size *= 8) wrong += ring(rank, ranks, size);
  for (int i = 0; i < 100; i++) {
    double mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != ranks * (ranks - 1) / 2;
  }
  wrong += all_to_all(rank, ranks, 50000);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong\n", ranks, all);
  MPI_Finalize();
  return all != 0;
}
