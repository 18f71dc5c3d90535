#!/usr/bin/env python3
"""One rank of a PyTorch job over NCCL: checks every collective, trains a little, or measures. tests/nccl/gpu.sh starts it.

  collectives.py check    every number of every collective is compared; prints "rank R: N checks, 0 wrong"
  collectives.py train    DistributedDataParallel; rank 0 prints the losses to the last bit
  collectives.py measure  rank 0 prints the median time of an all-reduce by size, in ms
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:" + os.environ["MASTER_PORT"], rank=rank, world_size=ranks)


def mine(count, r=rank):
    return (torch.arange(count, device="cuda", dtype=torch.int64) * 7 + r * 1000003) % 65521


def check():
    wrong = checks = 0

    def expect(got, wanted):
        nonlocal wrong, checks
        checks += 1
        wrong += int(not torch.equal(got, wanted))

    for count in (1, 7, 1000, 65536, 1000003, 6000000):
        total = sum(mine(count, r) for r in range(ranks))
        got = mine(count)
        dist.all_reduce(got)
        expect(got, total)

        got = torch.empty(count * ranks, device="cuda", dtype=torch.int64)
        dist.all_gather_into_tensor(got, mine(count))
        expect(got, torch.cat([mine(count, r) for r in range(ranks)]))

        got = torch.empty(count, device="cuda", dtype=torch.int64)
        dist.reduce_scatter_tensor(got, mine(count * ranks))
        expect(got, sum(mine(count * ranks, r) for r in range(ranks)).chunk(ranks)[rank])

        got = torch.empty(count * ranks, device="cuda", dtype=torch.int64)
        dist.all_to_all_single(got, mine(count * ranks))
        expect(got, torch.cat([mine(count * ranks, r).chunk(ranks)[rank] for r in range(ranks)]))

        got = torch.empty(count, device="cuda", dtype=torch.int64)
        out = mine(count)
        jobs = dist.batch_isend_irecv([dist.P2POp(dist.isend, out, (rank + 1) % ranks),
                                       dist.P2POp(dist.irecv, got, (rank - 1) % ranks)])
        for job in jobs:
            job.wait()
        expect(got, mine(count, (rank - 1) % ranks))

        got = mine(count)
        dist.broadcast(got, 0)
        expect(got, mine(count, 0))
    torch.cuda.synchronize()
    print(f"rank {rank}: {checks} checks, {wrong} wrong", flush=True)
    return wrong


def train(steps):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU(),
                                torch.nn.Linear(2048, 10)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(100 + rank)
    for step in range(steps):
        x = torch.randn(64, 512, device="cuda")
        loss = torch.nn.functional.cross_entropy(model(x), x[:, :10].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.detach().clone()
        dist.all_reduce(value)
        if rank == 0:
            print(f"step {step} loss {(value / ranks).item().hex()}", flush=True)
    return 0


def measure(runs):
    for mebibytes in (1, 8, 64):
        x = torch.ones(mebibytes << 18, device="cuda")
        times = []
        for i in range(runs + 3):
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            dist.all_reduce(x)
            torch.cuda.synchronize()
            if i >= 3:
                times.append((time.perf_counter() - begin) * 1e3)
            x.fill_(1)
        if rank == 0:
            print(f"{mebibytes} MiB all-reduce: median {statistics.median(times):.2f} ms, least {min(times):.2f}, "
                  f"most {max(times):.2f}, {runs} runs", flush=True)
    return 0


what = sys.argv[1]
number = int(sys.argv[2]) if len(sys.argv) > 2 else 20
status = check() if what == "check" else train(number) if what == "train" else measure(number)
dist.destroy_process_group()
sys.exit(status != 0)
