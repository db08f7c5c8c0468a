"""A PyTorch training loop whose blocks of steps are timed; prints what overhead_loop.cu prints.

    overhead_torch.py [--blocks N] [--iterations N] [--toggle | --profiler]

--toggle: in blocks of the pattern off, on, on, off the injected library is told by SIGUSR1 to measure.
--profiler: in the same blocks torch.profiler records, for comparison.
Exit status 77 where there is no PyTorch or no GPU.
"""

import argparse
import contextlib
import signal
import time

from torch_gpu import torch

WARM_UP_STEPS = 30

parser = argparse.ArgumentParser()
parser.add_argument("--blocks", type=int, default=32)
parser.add_argument("--iterations", type=int, default=40)
how = parser.add_mutually_exclusive_group()
how.add_argument("--toggle", action="store_true")
how.add_argument("--profiler", action="store_true")
options = parser.parse_args()

torch.manual_seed(1)
layers = []
for _ in range(8):
    layers += [torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024)]
model = torch.nn.Sequential(*layers).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
inputs = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)


def step():
    optimizer.zero_grad(set_to_none=True)
    model(inputs).float().square().mean().backward()
    optimizer.step()


def recording(is_on):
    if not (options.profiler and is_on):
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                              torch.profiler.ProfilerActivity.CUDA])


for _ in range(WARM_UP_STEPS):
    step()
torch.cuda.synchronize()
# The injected library's handler was put in by a library, so Python does not know it.
was_on = False
for block in range(options.blocks):
    is_on = (options.toggle or options.profiler) and block % 4 in (1, 2)
    if options.toggle and is_on != was_on:
        signal.raise_signal(signal.SIGUSR1)
    was_on = is_on
    with recording(is_on):
        step()
        step()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(options.iterations):
            step()
        torch.cuda.synchronize()
        passed = time.perf_counter() - start
    print(f"{'on' if is_on else 'off'} {passed / options.iterations * 1e6:.3f}", flush=True)
