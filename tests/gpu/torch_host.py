"""A PyTorch host for census.py: training steps of a linear and of a convolution model (cuBLAS,
cuDNN), then replays of a captured graph.

    torch_host.py [--nccl] [--compile]

--nccl: also all-reduces, in a group of one rank.  --compile: torch.compile of the linear model, whose
kernels are Triton's, in place of everything else.

Exit status 77 where there is no PyTorch or no GPU.
"""

import sys
import tempfile

from iteration_mark import iteration_mark
from torch_gpu import torch

STEPS = 20


mark_iteration = iteration_mark()


def linear_model():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.LayerNorm(512),
                                torch.nn.Linear(512, 8))
    return model.cuda().half(), torch.randn(128, 256, device="cuda", dtype=torch.half)


def convolution_model():
    model = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(),
                                torch.nn.Conv2d(32, 32, 3))
    return model.cuda().half(), torch.randn(8, 16, 32, 32, device="cuda", dtype=torch.half)


def train(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        mark_iteration()
        optimizer.zero_grad()
        model(inputs).float().square().mean().backward()
        optimizer.step()


def replay(model, inputs):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        model(inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        model(inputs)
    for _ in range(STEPS):
        graph.replay()


def all_reduce():
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/rendezvous",
                                             rank=0, world_size=1)
        values = torch.ones(1 << 20, device="cuda")
        for _ in range(STEPS):
            torch.distributed.all_reduce(values)
        torch.cuda.synchronize()
        torch.distributed.destroy_process_group()


torch.manual_seed(1)
if "--compile" in sys.argv[1:]:
    compiled, inputs = linear_model()
    train(torch.compile(compiled), inputs)
    torch.cuda.synchronize()
    sys.exit(0)
for model_and_inputs in (linear_model(), convolution_model()):
    train(*model_and_inputs)
    replay(*model_and_inputs)
if "--nccl" in sys.argv[1:]:
    all_reduce()
torch.cuda.synchronize()
