#!/usr/bin/env python3
"""Writes pipeline.goal and step.0.et to step.15.et, which lie beside it.

The bytes of Chakra's traces are written here one by one, as protobuf has them, so that nothing needs to be installed."""

RANKS = 16


def pipeline(micro_batches=8, compute_ns=200_000, size=16 * 2**20):
    """Every rank is a stage: it takes a micro-batch from the one before, computes, and hands it on."""
    lines = [f"num_ranks {RANKS}"]
    for rank in range(RANKS):
        lines.append(f"rank {rank} {{")
        for i in range(micro_batches):
            if rank > 0:
                lines.append(f"r{i}: recv {size}b from {rank - 1} tag {i}")
            lines.append(f"c{i}: calc {compute_ns}")
            if rank > 0:
                lines.append(f"c{i} requires r{i}")
            if rank < RANKS - 1:
                lines.append(f"s{i}: send {size}b to {rank + 1} tag {i}")
                lines.append(f"s{i} requires c{i}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([0x80 | value & 0x7F])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def message(value):
    return varint(len(value)) + value


def attribute(name, value):
    return data(10, data(1, name) + number(9, value))


def node(identity, name, kind, needs=(), micros=0, attributes=b""):
    out = number(1, identity) + data(2, name) + number(3, kind)
    out += b"".join(number(5, each) for each in needs)
    return message(out + (number(7, micros) if micros else b"") + attributes)


def step(layers=4, forward_us=600, backward_us=300, size=64 * 2**20, optimizer_us=100):
    """A forward pass, layers backwards with an all-reduce each, and the optimizer when all are there."""
    out = message(data(1, b"1.0.0"))  # GlobalMetadata
    out += node(0, b"forward", 4, (), forward_us)
    reduced = []
    for layer in range(layers):
        before = 0 if layer == 0 else 2 * layer - 1
        out += node(2 * layer + 1, b"backward", 4, (before,), backward_us)
        out += node(2 * layer + 2, b"all_reduce", 7, (2 * layer + 1,), 0,
                    attribute(b"comm_type", 0) + attribute(b"comm_size", size))
        reduced.append(2 * layer + 2)
    return out + node(2 * layers + 1, b"optimizer", 4, reduced, optimizer_us)


if __name__ == "__main__":
    with open("pipeline.goal", "w") as out:
        out.write(pipeline())
    for rank in range(RANKS):
        with open(f"step.{rank}.et", "wb") as out:
            out.write(step())
