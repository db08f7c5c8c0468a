"""Triton alone: vector addition, a softmax in one kernel, a matrix product: python3 triton_kernels.py [--steps N]."""

import argparse

import steps as loop
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(out + places, tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(x + row * columns + places, mask=inside, other=-float("inf"))
    shares = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + places, shares / tl.sum(shares, axis=0), mask=inside)


@triton.jit
def product(a, b, c, m, n, k, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for begin in range(0, k, DEPTH):
        left = tl.load(a + rows[:, None] * k + (begin + depth)[None, :])
        right = tl.load(b + (begin + depth)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    x, y, out = (torch.ones(98432, device="cuda") for _ in range(3))
    table, shares = (torch.ones(1823, 781, device="cuda") for _ in range(2))
    a, b, c = (torch.ones(512, 512, device="cuda", dtype=torch.float16) for _ in range(3))
    for _ in range(steps):
        loop.begins()
        one = add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
        two = softmax[(table.shape[0],)](table, shares, table.shape[1], BLOCK=1024)
        three = product[(512 // 64, 512 // 64)](a, b, c, 512, 512, 512, BLOCK=64, DEPTH=32)
    torch.cuda.synchronize()
    print("registers", [kernel.n_regs for kernel in (one, two, three)],
          "shared memory", [kernel.metadata.shared for kernel in (one, two, three)])
