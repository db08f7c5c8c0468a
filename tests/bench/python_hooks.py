"""What PyTorch's module hooks cost: the same calls with hooks and without, side by side.

    prof-run -- python3 tests/bench/python_hooks.py      (PYTHONPATH=macros/python)

Prints microseconds a module call, medians of interleaved rounds.  The library must be preloaded,
and is called as in a warm-up; no GPU is needed.
"""

import pathlib
import statistics
import sys
import time

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import inline_prof.torch as hooks
import models

ROUNDS = 40


def seconds(work, times):
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def compare(name, work, calls, times):
    """A line on `work`, which calls modules `calls` times."""
    on, off = [], []
    for round_number in range(ROUNDS):
        for is_on in ((True, False), (False, True))[round_number % 2]:
            if is_on:
                hooks.install()
            work()
            (on if is_on else off).append(seconds(work, times) / calls * 1e6)
            hooks.remove()
    added = statistics.median(a - b for a, b in zip(on, off))
    print("%-42s %8.2f %8.2f %8.2f" % (name, statistics.median(off), statistics.median(on), added))
    return added


def main():
    if not hooks.install():
        print("the library is not preloaded: start this by prof-run", file=sys.stderr)
        return 1
    hooks.remove()
    torch.set_num_threads(1)
    print("%-42s %8s %8s %8s" % ("us a module call", "off", "on", "added"))

    chain = nn.Sequential(*[nn.Identity() for _ in range(50)])
    x = torch.ones(4)
    compare("51 modules that do nothing", lambda: chain(x), 51, 20)

    model = models.Gpt()
    calls = sum(1 for module in model.modules() if not isinstance(module, nn.ModuleList))
    inputs, target = models.gpt_batch()

    def evaluate():
        with torch.no_grad():
            model(*inputs)

    def train():
        models.gpt_loss(model(*inputs), target).backward()

    compare("GPT, %d modules, forward only" % calls, evaluate, calls, 3)
    compare("GPT, %d modules, forward and backward" % calls, train, calls, 3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
