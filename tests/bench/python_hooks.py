"""Measures PyTorch's module hooks: the same calls with hooks and without, side by side.

    prof-run -- python3 tests/bench/python_hooks.py      (PYTHONPATH=python)

Prints microseconds of this thread's time a module call, the least of many short turns with hooks and
without, so that other programs on the machine have little say.  The library must be preloaded, and is
called as in a warm-up; no GPU is needed.
"""

import sys
import time

import torch
from torch import nn

import inline_prof.torch as hooks

ROUNDS = 60


def seconds(work, prepare, times):
    """This thread's time for one `work(prepare())`, without the preparation: the least of `times`."""
    least = float("inf")
    for _ in range(times):
        given = prepare()
        start = time.thread_time()
        work(given)
        least = min(least, time.thread_time() - start)
    return least


def compare(name, work, calls, times, prepare=lambda: None):
    """A line on `work`, which calls modules `calls` times."""
    on, off = [], []
    for round_number in range(ROUNDS):
        for is_on in ((True, False), (False, True))[round_number % 2]:
            if is_on:
                hooks.install()
            work(prepare())
            (on if is_on else off).append(seconds(work, prepare, times) / calls * 1e6)
            hooks.remove()
    print("%-42s %8.2f %8.2f %8.2f" % (name, min(off), min(on), min(on) - min(off)))


def main():
    if not hooks.install():
        print("the library is not preloaded: start this by prof-run", file=sys.stderr)
        return 1
    hooks.remove()
    torch.set_num_threads(1)
    print("%-42s %8s %8s %8s" % ("us a module call", "off", "on", "added"))

    chain = nn.Sequential(*[nn.Identity() for _ in range(50)])
    x = torch.ones(4)
    compare("51 modules that do nothing", lambda _: chain(x), 51, 20)

    class Doubles(nn.Module):
        def forward(self, x):
            return x * 2.0

    products = nn.Sequential(*[Doubles() for _ in range(50)])
    leaf = torch.ones(4, requires_grad=True)
    compare("51 that multiply, without gradients", lambda _: products(x), 51, 10)
    compare("51 that multiply, forward", lambda _: products(leaf), 51, 10)
    compare("their backward pass", lambda output: output.backward(x), 51, 10,
            prepare=lambda: products(leaf))
    return 0


if __name__ == "__main__":
    sys.exit(main())
