// All-reduce and all-to-all among all ranks, each number checked; prints milliseconds of each, median and longest.
//   mpi_collectives [bytes of an all-reduce] [bytes to each rank] [times]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static void say(const char* what, double* times, int count, int rank) {
  qsort(times, (size_t)count, sizeof *times, by_value);
  if (rank == 0) printf("%s median %.1f longest %.1f\n", what, 1e3 * times[count / 2], 1e3 * times[count - 1]);
}

static void stop(const char* what) {
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int reduced = (argc > 1 ? atoi(argv[1]) : 4 << 20) / (int)sizeof(int);
  const int each = (argc > 2 ? atoi(argv[2]) : 256 << 10) / (int)sizeof(int);
  const int count = argc > 3 ? atoi(argv[3]) : 20;
  int* mine = malloc(sizeof(int) * (size_t)(reduced > each * ranks ? reduced : each * ranks));
  int* sums = malloc(sizeof(int) * (size_t)(reduced > each * ranks ? reduced : each * ranks));
  double* reduces = malloc(sizeof(double) * (size_t)count);
  double* exchanges = malloc(sizeof(double) * (size_t)count);
  for (int time = 0; time < count; ++time) {
    for (int i = 0; i < reduced; ++i) mine[i] = rank + i + time;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    MPI_Allreduce(mine, sums, reduced, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    reduces[time] = MPI_Wtime() - began;
    for (int i = 0; i < reduced; ++i)
      if (sums[i] != ranks * (ranks - 1) / 2 + ranks * (i + time)) stop("a sum");
    for (int i = 0; i < each * ranks; ++i) mine[i] = rank * 1000 + i / each + i + time;
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    MPI_Alltoall(mine, each, MPI_INT, sums, each, MPI_INT, MPI_COMM_WORLD);
    exchanges[time] = MPI_Wtime() - began;
    for (int i = 0; i < each * ranks; ++i)
      if (sums[i] != i / each * 1000 + rank + (rank * each + i % each) + time) stop("an exchange");
  }
  say("all-reduce", reduces, count, rank);
  say("all-to-all", exchanges, count, rank);
  MPI_Finalize();
  return 0;
}
