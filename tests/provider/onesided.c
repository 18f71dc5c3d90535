/* One-sided MPI: puts, gets and accumulates between all ranks, with fences and with locks; then a rank that computes while the
   others exchange. Prints "N ranks, 0 wrong"; argument: seconds to compute. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kCount = 20000 };

int main(int argc, char **argv) {
  int rank, ranks, wrong = 0, all = 0, seconds = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *window = calloc(kCount * (size_t)ranks + 1, sizeof(int)), *mine = malloc(sizeof(int) * kCount);
  MPI_Win win;
  MPI_Win_create(window, sizeof(int) * (kCount * (size_t)ranks + 1), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < kCount; i++) mine[i] = rank * 1000003 + i;
  MPI_Win_fence(0, win);
  for (int to = 0; to < ranks; to++) MPI_Put(mine, kCount, MPI_INT, to, rank * kCount, kCount, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int from = 0; from < ranks; from++)
    for (int i = 0; i < kCount; i++) wrong += window[from * kCount + i] != from * 1000003 + i;
  int next = (rank + 1) % ranks;
  MPI_Get(mine, kCount, MPI_INT, next, next * kCount, kCount, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kCount; i++) wrong += mine[i] != next * 1000003 + i;
  for (int i = 0; i < 10; i++) {
    int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, kCount * ranks, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) wrong += window[kCount * ranks] != 10 * ranks;
  MPI_Win_free(&win);

  /* Rank 0 makes no call of MPI for a while; its neighbour sends to it meanwhile, and the others go on. */
  char *big = malloc(4 << 20), *other = malloc(4 << 20);
  for (int i = 0; i < 4 << 20; i++) big[i] = (char)(i * 7 + rank);
  if (rank == 0) {
    time_t end = time(NULL) + seconds;
    volatile double x = 1;
    while (time(NULL) < end) {
      struct timespec pause = {0, 1000000};
      for (int i = 0; i < 1000; i++) x = x * 1.0000001;
      nanosleep(&pause, NULL); /* there are tests beside this one */
    }
    for (int from = 1; from < ranks; from++) {
      MPI_Recv(other, 4 << 20, MPI_CHAR, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < 4 << 20; i++) wrong += other[i] != (char)(i * 7 + from);
    }
  } else {
    MPI_Send(big, 4 << 20, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong\n", ranks, all);
  MPI_Finalize();
  return all != 0;
}
