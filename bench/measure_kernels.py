#!/usr/bin/env python3
"""Measures GPU kernels for src/compute with PyTorch on the GPU of this machine.

    bench/measure_kernels.py OUT [PART...]    writes OUT/*.csv; takes about three minutes on an H200

Each row is the median of replays of a CUDA graph that holds the kernel often enough to last milliseconds, after the GPU
has run it for a tenth of a second, so that clocks are those of steady work. Operands are random (matrix products of zeros
are faster) and rotate through more memory than the L2 cache has. Whole steps run eagerly, as people write them.
"""
import csv
import datetime
import itertools
import math
import os
import random
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

out_dir = sys.argv[1]
os.makedirs(out_dir, exist_ok=True)
began = time.time()
draw = random.Random(18)
torch.manual_seed(18)
device = torch.device("cuda")
bf16 = torch.bfloat16
props = torch.cuda.get_device_properties(0)
stream = torch.cuda.Stream()

HEADER = [
    f"# measured by bench/measure_kernels.py on {datetime.date.today()}: one {props.name}, {props.multi_processor_count} SMs",
    f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}; random operands; "
    "median of CUDA graph replays under steady load",
]


class Table:
    def __init__(self, name, columns, *notes):
        self.file = open(os.path.join(out_dir, name), "w", newline="")
        for line in HEADER + [f"# {note}" for note in notes]:
            self.file.write(line + "\n")
        self.columns = columns
        self.rows = csv.writer(self.file, lineterminator="\n")
        self.rows.writerow(columns)

    def add(self, **values):
        self.rows.writerow([values.get(column, "") for column in self.columns])
        self.file.flush()


POOL = torch.randn(1 << 30, device=device, dtype=bf16)
offset = 0


def operand(*shape):
    """Random bf16 values; successive operands lie at successive places of a pool of 2 GiB."""
    global offset
    count = math.prod(shape)
    if count > POOL.numel():
        return torch.randn(*shape, device=device, dtype=bf16)
    if offset + count > POOL.numel():
        offset = 0
    view = POOL[offset:offset + count].view(*shape)
    offset += (count + 127) // 128 * 128
    return view


def sets_for(bytes_moved):
    return max(1, min(16, math.ceil((256 << 20) / max(1, bytes_moved))))


def timed(calls):
    """Microseconds of one call, of several that do the same on other operands; and the spread of replays in per cent."""
    with torch.cuda.stream(stream):
        for call in calls[:2] * 2:
            call()
        stream.synchronize()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record(stream)
        for call in calls:
            call()
        last.record(stream)
        stream.synchronize()
        guess = first.elapsed_time(last) / len(calls)  # ms
        repeats = len(calls) * max(1, min(40, round(4 / max(guess, 0.004) / len(calls))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for index in range(repeats):
                calls[index % len(calls)]()
        graph.replay()
        stream.synchronize()
        until = time.time() + 0.1
        while time.time() < until:
            for _ in range(4):
                graph.replay()
            stream.synchronize()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(12)]
        for mark in marks:
            mark.record(stream)
            graph.replay()
        stream.synchronize()
        times = sorted(a.elapsed_time(b) / repeats * 1000 for a, b in zip(marks, marks[1:]))
        return times[len(times) // 2], (times[-2] - times[1]) / times[len(times) // 2] * 100


def measure(table, calls, **values):
    try:
        us, spread = timed(calls)
    except Exception as fault:  # a shape that a kernel does not take is said, not measured
        print("not measured:", values, str(fault).splitlines()[0][:120])
        torch.cuda.synchronize()
        return
    table.add(**values, time_us=f"{us:.3f}", spread_pct=f"{spread:.1f}", at_s=f"{time.time() - began:.1f}")


def measure_gemms():
    table = Table("h200_gemm.csv",
                  ["kernel", "layout", "precision", "m", "n", "k", "groups", "time_us", "spread_pct", "at_s"],
                  "C[m,n] = A[m,k] B[k,n]; layout: forward (B transposed), dgrad (both as they are), wgrad (A transposed)")
    sizes = [256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 11008, 12288, 14336, 16384, 28672]
    known = [(8192, 6144, 4096), (8192, 4096, 4096), (8192, 28672, 4096), (8192, 4096, 14336), (2048, 4608, 12288),
             (2048, 12288, 1536), (4096, 128256, 4096), (8192, 2048, 2048), (16384, 11264, 2048), (16384, 2048, 5632)]
    shapes = [(shape, layout) for shape in known for layout in ("forward", "dgrad", "wgrad")]
    while len(shapes) < 100:
        m, n, k = (draw.choice(sizes) for _ in range(3))
        if 1e9 < 2 * m * n * k < 4e12:
            shapes.append(((m, n, k), draw.choice(("forward", "dgrad", "wgrad"))))
    for (m, n, k), layout in shapes:
        calls = []
        for _ in range(sets_for(2 * (m * n + m * k + k * n))):
            a = operand(k, m).t() if layout == "wgrad" else operand(m, k)
            b = operand(n, k).t() if layout == "forward" else operand(k, n)
            calls.append(lambda a=a, b=b: torch.mm(a, b))
        measure(table, calls, kernel="gemm", layout=layout, precision="bf16", m=m, n=n, k=k, groups=1)
    for m, n, k in [shape for shape, layout in shapes if layout == "forward"][:30]:
        calls = []
        one = torch.ones((), device=device)
        for _ in range(sets_for(m * n * 2 + m * k + k * n)):
            a = operand(m, k).to(torch.float8_e4m3fn)
            b = operand(n, k).to(torch.float8_e4m3fn)
            calls.append(lambda a=a, b=b: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=bf16))
        measure(table, calls, kernel="gemm", layout="forward", precision="fp8", m=m, n=n, k=k, groups=1)
    widths = [(2048, 2048), (4096, 7168), (7168, 2048), (14336, 4096), (4096, 14336), (2880, 2880), (1536, 4096), (4096, 1536)]
    grouped = set()
    while len(grouped) < 48:
        groups, rows = draw.choice((4, 8, 16, 32, 64)), draw.choice((128, 256, 512, 1024, 2048, 4096))
        n, k = draw.choice(widths)
        if 4e9 < 2 * groups * rows * n * k < 8e12 and groups * n * k < 2**31:
            grouped.add((groups, rows, n, k))
    for groups, m, n, k in sorted(grouped):
        ends = torch.arange(1, groups + 1, device=device, dtype=torch.int32) * m
        a, b = operand(groups * m, k), operand(groups, n, k)
        measure(table, [lambda: torch._grouped_mm(a, b.transpose(1, 2), offs=ends)], kernel="grouped", layout="forward",
                precision="bf16", m=m, n=n, k=k, groups=groups)
        if draw.random() < 0.5:  # weight gradients: the sum runs over the rows of a group
            da = operand(groups * m, n)
            measure(table, [lambda: torch._grouped_mm(da.t(), a, offs=ends)], kernel="grouped", layout="wgrad",
                    precision="bf16", m=n, n=k, k=m, groups=groups)
    for groups, m, n, k in [(64, 2048, 2048, 128), (32, 4096, 4096, 128), (64, 2048, 128, 2048), (32, 4096, 128, 4096),
                            (96, 2048, 2048, 128), (16, 8192, 8192, 128)]:  # scores of attention that is not fused
        calls = [lambda a=operand(groups, m, k), b=operand(groups, k, n): torch.bmm(a, b)]
        measure(table, calls, kernel="batched", layout="dgrad", precision="bf16", m=m, n=n, k=k, groups=groups)


def measure_attention():
    table = Table("h200_attention.csv",
                  ["kernel", "direction", "batch", "heads", "kv_heads", "queries", "keys", "head_dim", "value_dim", "causal",
                   "time_us", "spread_pct", "at_s"],
                  "scaled_dot_product_attention of PyTorch: its FlashAttention-2 and cuDNN's; backward is by itself")
    shapes = [(8192 // s, 32, 8, s, 128, True) for s in (512, 1024, 2048, 4096, 8192)]
    shapes += [(1, 16, 16, 16384, 128, True), (1, 8, 1, 32768, 128, True), (2, 12, 12, 2048, 128, True)]
    shapes += [(1, 8, 8, s, 128, True) for s in (2048, 4096, 8192)]
    shapes += [(4, 16, 16, s, 128, False) for s in (512, 1024, 2048, 4096)] + [(1, 32, 32, 8192, 128, False)]
    shapes += [(8192 // s, 32, 32, s, 64, True) for s in (512, 1024, 2048, 4096, 8192)]
    shapes += [(2, 16, 16, s, 64, False) for s in (1024, 2048, 4096, 8192)] + [(1, 16, 4, 16384, 64, True)]
    shapes += [(4, 24, 24, 2048, 96, True), (1, 16, 16, 4096, 256, True), (1, 40, 40, 4096, 128, True), (4, 8, 2, 4096, 128, True)]
    for (batch, heads, kv, s, dim, causal), (name, backend) in itertools.product(
            shapes, (("flash2", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))):
        shape = dict(kernel=name, batch=batch, heads=heads, kv_heads=kv, queries=s, keys=s, head_dim=dim, value_dim=dim,
                     causal=int(causal))
        forwards, backwards = [], []
        try:
            with torch.cuda.stream(stream), sdpa_kernel(backend):
                for _ in range(sets_for(2 * batch * s * dim * (2 * heads + 2 * kv)) if s < 2048 else 2):
                    q = operand(batch, heads, s, dim).detach().requires_grad_()
                    k, v = (operand(batch, kv, s, dim).detach().requires_grad_() for _ in range(2))
                    attend = lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv != heads)
                    o, do = attend(), operand(batch, heads, s, dim)
                    forwards.append(attend)
                    backwards.append(lambda o=o, do=do, of=(q, k, v): torch.autograd.grad(o, of, do, retain_graph=True))
                stream.synchronize()
        except Exception as fault:
            print("not measured:", shape, str(fault).splitlines()[0][:120])
            continue
        with sdpa_kernel(backend):
            measure(table, forwards, direction="forward", **shape)
            measure(table, backwards, direction="backward", **shape)


def grad_calls(count, make):
    """Backward calls of functions of fresh operands."""
    calls = []
    with torch.cuda.stream(stream):
        for _ in range(count):
            result, of, grad = make()
            calls.append(lambda result=result, of=of, grad=grad: torch.autograd.grad(result, of, grad, retain_graph=True))
    stream.synchronize()
    return calls


def leaf(*shape):
    return operand(*shape).detach().requires_grad_()


@torch.compile(dynamic=True)
def quantise_rows(x):
    scale = x.abs().amax(dim=-1, keepdim=True).float().clamp(min=1e-12) / 448.0
    return (x.float() / scale).to(torch.float8_e4m3fn), scale


@torch.compile(dynamic=True)
def quantise_blocks(x):
    blocks = x.view(-1, 32)
    scale = torch.exp2(torch.ceil(torch.log2(blocks.abs().amax(dim=-1, keepdim=True).float().clamp(min=1e-12) / 448.0)))
    return (blocks.float() / scale).to(torch.float8_e4m3fn), scale


@torch.compile(dynamic=True)
def swiglu(gate, up):
    return F.silu(gate) * up


@torch.compile(dynamic=True)
def swiglu_backward(grad, gate, up):
    gate32, s = gate.float(), torch.sigmoid(gate.float())
    return (grad * up.float() * (s * (1 + gate32 * (1 - s)))).to(gate.dtype), (grad * gate32 * s).to(gate.dtype)


def measure_memory():
    table = Table("h200_memory.csv", ["kernel", "rows", "columns", "bytes", "time_us", "spread_pct", "at_s"],
                  "bytes: the fewest that must be read and written; fused_: compiled by TorchInductor, others are PyTorch's own kernels")
    shapes = [(512, 1024), (2048, 2048), (2048, 4096), (8192, 1024), (8192, 4096), (4096, 12288), (8192, 8192), (16384, 14336)]
    for rows, columns in shapes:
        count = rows * columns

        def add(name, bytes_per_element, make):
            moved = count * bytes_per_element
            calls = []
            for _ in range(sets_for(moved)):
                calls.append(make())
            measure(table, calls, kernel=name, rows=rows, columns=columns, bytes=moved)

        def add_backward(name, bytes_per_element, make):
            moved = count * bytes_per_element
            measure(table, grad_calls(sets_for(moved), make), kernel=name, rows=rows, columns=columns, bytes=moved)

        def of_one(function):
            return lambda: (lambda x=operand(rows, columns): function(x))

        def of_two(function):
            return lambda: (lambda x=operand(rows, columns), y=operand(rows, columns): function(x, y))

        gain = operand(columns).detach().requires_grad_()
        shift = operand(columns).detach().requires_grad_()
        add("copy", 4, of_one(torch.clone))
        add("add", 6, of_two(torch.add))
        add("multiply", 6, of_two(torch.mul))
        add("silu", 4, of_one(F.silu))
        add("gelu", 4, of_one(F.gelu))
        add("to_fp32", 6, of_one(lambda x: x.float()))
        add("to_fp8", 3, of_one(lambda x: x.to(torch.float8_e4m3fn)))
        add("largest", 2, of_one(torch.amax))
        add("rms_norm", 4, of_one(lambda x: F.rms_norm(x, (columns,), gain.detach())))
        add("layer_norm", 4, of_one(lambda x: F.layer_norm(x, (columns,), gain.detach(), shift.detach())))
        add("softmax", 4, of_one(lambda x: torch.softmax(x, -1)))
        add("dropout", 5, of_one(lambda x: torch.native_dropout(x, 0.1, True)))
        add_backward("silu_backward", 6, lambda: (lambda x: (F.silu(x), (x,), operand(rows, columns)))(leaf(rows, columns)))
        add_backward("gelu_backward", 6, lambda: (lambda x: (F.gelu(x), (x,), operand(rows, columns)))(leaf(rows, columns)))
        add_backward("rms_norm_backward", 6, lambda: (
            lambda x: (F.rms_norm(x, (columns,), gain), (x, gain), operand(rows, columns)))(leaf(rows, columns)))
        add_backward("layer_norm_backward", 6, lambda: (
            lambda x: (F.layer_norm(x, (columns,), gain, shift), (x, gain, shift), operand(rows, columns)))(leaf(rows, columns)))
        add_backward("softmax_backward", 6, lambda: (
            lambda x: (torch.softmax(x, -1), (x,), operand(rows, columns)))(leaf(rows, columns)))
        order = torch.randperm(rows, device=device)
        add("permute_rows", 4, of_one(lambda x: torch.index_select(x, 0, order)))
        add("fused_swiglu", 6, of_two(swiglu))
        add("fused_swiglu_backward", 10, lambda: (
            lambda g=operand(rows, columns), x=operand(rows, columns), y=operand(rows, columns): swiglu_backward(g, x, y)))
        add("fused_quantise_rows", 3, of_one(quantise_rows))
        add("fused_quantise_blocks", 3, of_one(quantise_blocks))


def measure_optimizers():
    table = Table("h200_optimizer.csv", ["kernel", "parameters", "tensors", "bytes", "time_us", "spread_pct", "at_s"],
                  "fused optimizers of PyTorch on 32-bit parameters, gradients and moments; bytes read and written")

    def timed_eagerly(call):
        for _ in range(5):
            call()
        times = []
        for _ in range(9):
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            torch.cuda._sleep(4_000_000)  # the host queues meanwhile
            first.record()
            call()
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last) * 1000)
        times.sort()
        return times[4], (times[-2] - times[1]) / times[4] * 100

    for tensors, each in [(1, 1 << 22), (1, 1 << 25), (16, 1 << 20), (16, 1 << 22), (16, 1 << 24), (64, 1 << 22), (64, 1 << 24),
                          (128, 1 << 20), (128, 1 << 22), (200, 1 << 23), (256, 1 << 16), (40, 3 << 23)]:
        weights = [torch.randn(each, device=device).requires_grad_() for _ in range(tensors)]
        for weight in weights:
            weight.grad = torch.randn(each, device=device)
        count = tensors * each
        for name, optimizer, per_parameter in [
                ("adam", torch.optim.AdamW(weights, fused=True), 28), ("sgd", torch.optim.SGD(weights, lr=0.1, momentum=0.9, fused=True), 20),
                ("sgd_plain", torch.optim.SGD(weights, lr=0.1, fused=True), 12)]:
            us, spread = timed_eagerly(optimizer.step)
            table.add(kernel=name, parameters=count, tensors=tensors, bytes=count * per_parameter, time_us=f"{us:.3f}",
                      spread_pct=f"{spread:.1f}", at_s=f"{time.time() - began:.1f}")
            optimizer.state.clear()
        gradients = [weight.grad for weight in weights]
        us, spread = timed_eagerly(lambda: torch.nn.utils.get_total_norm(gradients, foreach=True))
        table.add(kernel="norm", parameters=count, tensors=tensors, bytes=count * 4, time_us=f"{us:.3f}", spread_pct=f"{spread:.1f}",
                  at_s=f"{time.time() - began:.1f}")
        del weights, gradients
        torch.cuda.empty_cache()


class Block(torch.nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, width // heads
        self.norm1, self.norm2 = (torch.nn.Parameter(torch.ones(width)) for _ in range(2))
        linear = lambda i, o: torch.nn.Linear(i, o, bias=False)
        self.qkv = linear(width, (heads + 2 * kv_heads) * self.dim)
        self.out, self.gate_up, self.down = linear(width, width), linear(width, 2 * hidden), linear(hidden, width)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        h = F.rms_norm(x, (width,), self.norm1)
        q, k, v = self.qkv(h).view(batch, length, -1, self.dim).transpose(1, 2).split((self.heads, self.kv_heads, self.kv_heads), 1)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            h = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        x = x + self.out(h.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(F.rms_norm(x, (width,), self.norm2)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Model(torch.nn.Module):
    def __init__(self, layers, width, heads, kv_heads, hidden, vocabulary):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = torch.nn.Parameter(torch.ones(width))
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, cos, sin):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(F.rms_norm(x, (x.shape[-1],), self.norm))


def measure_steps():
    steps = Table("h200_steps.csv",
                  ["model", "layers", "width", "heads", "kv_heads", "hidden", "vocabulary", "batch", "sequence", "parameters",
                   "step_ms", "spread_pct", "busy_ms", "forward_ms", "backward_ms", "optimizer_ms", "at_s"],
                  "one training step, eager: bf16 model, FlashAttention-2, 32-bit cross entropy, fused AdamW on 32-bit masters, "
                  "gradients cast to them and parameters copied back; busy: all kernels of a step by the profiler")
    kernels = Table("h200_step_kernels.csv", ["model", "kernel", "calls", "total_us"], "kernels of one step, by the profiler")
    models = [("small", dict(layers=16, width=1024, heads=16, kv_heads=16, hidden=2816, vocabulary=32000), 8, 2048),
              ("medium", dict(layers=16, width=2048, heads=32, kv_heads=8, hidden=8192, vocabulary=128256), 4, 4096),
              ("large", dict(layers=8, width=4096, heads=32, kv_heads=8, hidden=14336, vocabulary=32000), 2, 8192)]
    for name, shape, batch, length in models:
        torch.cuda.empty_cache()
        with torch.device(device):
            model = Model(**shape).to(bf16)
        weights = list(model.parameters())
        masters = [weight.detach().float().requires_grad_() for weight in weights]
        for master in masters:
            master.grad = torch.zeros_like(master)
        optimizer = torch.optim.AdamW(masters, lr=1e-4, fused=True)
        dim = shape["width"] // shape["heads"]
        angles = torch.outer(torch.arange(length, device=device), 1e4 ** (-torch.arange(0, dim, 2, device=device) / dim))
        cos, sin = (f(torch.cat((angles, angles), -1)).to(bf16) for f in (torch.cos, torch.sin))
        tokens = torch.randint(shape["vocabulary"], (batch, length + 1), device=device)
        marks = []

        def mark():
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            marks.append(event)

        def step():
            mark()
            logits = model(tokens[:, :-1], cos, sin)
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), tokens[:, 1:].reshape(-1))
            mark()
            loss.backward()
            mark()
            with torch.no_grad():
                torch._foreach_copy_([master.grad for master in masters], [weight.grad for weight in weights])
                optimizer.step()
                torch._foreach_copy_(weights, masters)
            model.zero_grad(set_to_none=True)
            mark()

        until = time.time() + 3
        while time.time() < until:
            step()
            torch.cuda.synchronize()
        marks.clear()
        for _ in range(12):
            step()
        torch.cuda.synchronize()
        parts = [[marks[4 * i + j].elapsed_time(marks[4 * i + j + 1]) for i in range(12)] for j in range(3)]
        whole = sorted(marks[4 * i].elapsed_time(marks[4 * i + 4]) for i in range(11))
        busy = 0.0
        try:
            from torch.profiler import ProfilerActivity, profile
            with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
                for _ in range(3):
                    step()
                torch.cuda.synchronize()
            for event in sorted(profiler.key_averages(), key=lambda each: -each.self_device_time_total):
                if event.device_type == torch.autograd.DeviceType.CUDA and not event.key.startswith("Optimizer.step#"):
                    busy += event.self_device_time_total / 3
                    kernels.add(model=name, kernel=event.key[:160], calls=round(event.count / 3, 2), total_us=f"{event.self_device_time_total / 3:.1f}")
        except Exception as fault:
            print("no profile:", str(fault)[:200])
        steps.add(model=name, **shape, batch=batch, sequence=length, parameters=sum(weight.numel() for weight in weights),
                  step_ms=f"{whole[5]:.3f}", spread_pct=f"{(whole[-2] - whole[1]) / whole[5] * 100:.1f}", busy_ms=f"{busy / 1000:.3f}",
                  **{f"{part}_ms": f"{sorted(times)[6]:.3f}" for part, times in zip(("forward", "backward", "optimizer"), parts)},
                  at_s=f"{time.time() - began:.1f}")
        del model, weights, masters, optimizer


def measure_launches():
    table = Table("h200_launch.csv", ["what", "kernels", "us_per_kernel"], "host time for a kernel, when kernels are too short to matter")
    x = torch.randn(64, device=device)
    y = torch.randn(64, 64, device=device, dtype=bf16).requires_grad_()

    def per_call(call, count):
        call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count * 1e6

    table.add(what="add in place", kernels=1, us_per_kernel=f"{per_call(lambda: x.add_(1.0), 5000):.2f}")
    with torch.no_grad():
        table.add(what="matrix product", kernels=1, us_per_kernel=f"{per_call(lambda: torch.mm(y, y), 5000):.2f}")
    with torch.device(device):
        model = Model(8, 128, 2, 2, 256, 1024).to(bf16)
    tokens = torch.randint(1024, (1, 65), device=device)
    turn = torch.ones(64, 64, device=device, dtype=bf16)

    def step():
        model(tokens[:, :-1], turn, turn).float().sum().backward()
        model.zero_grad(set_to_none=True)

    for _ in range(5):
        step()
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    count = sum(each.count for each in profiler.key_averages() if each.self_device_time_total > 0)
    table.add(what="forward and backward of a tiny model", kernels=count, us_per_kernel=f"{per_call(step, 40) / max(1, count):.2f}")


def measure_power():
    table = Table("h200_power.csv", ["m", "n", "k", "rested_us", "steady_us", "zeros_us"],
                  "matrix products (forward) of random operands after a pause and under steady load, and of zeros under steady load")
    for m, n, k in [(8192, 6144, 4096), (8192, 28672, 4096), (8192, 4096, 14336), (2048, 4608, 12288), (2048, 12288, 1536),
                    (8192, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192)]:
        a, b = operand(m, k), operand(n, k).t()
        times = []
        for _ in range(8):
            torch.cuda.synchronize()
            time.sleep(0.1)
            torch.cuda._sleep(100_000)
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.mm(a, b)
            first.record()
            torch.mm(a, b)
            torch.mm(a, b)
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last) * 500)
        steady = timed([lambda: torch.mm(a, b)])[0]
        a, b = torch.zeros_like(a), torch.zeros_like(b)
        zeros = timed([lambda: torch.mm(a, b)])[0]
        table.add(m=m, n=n, k=k, rested_us=f"{sorted(times)[4]:.2f}", steady_us=f"{steady:.2f}", zeros_us=f"{zeros:.2f}")


watch = subprocess.Popen(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu", "--format=csv,noheader,nounits",
                          "-lms", "500"], stdout=open(os.path.join(out_dir, "h200_clocks.txt"), "w"))
try:
    for part in (measure_steps, measure_attention, measure_gemms, measure_memory, measure_optimizers, measure_launches, measure_power):
        if sys.argv[2:] and part.__name__ not in sys.argv[2:]:
            continue
        start = time.time()
        try:
            part()
        except Exception as fault:
            print(part.__name__, "failed:", repr(fault)[:400])
        print(f"{part.__name__}: {time.time() - start:.0f} s", flush=True)
        torch.cuda.empty_cache()
finally:
    watch.terminate()
