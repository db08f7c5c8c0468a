"""Trains two layers with tinygrad, whose steps become a graph that it makes node by node: tinygrad_loop.py [--steps N]."""

import argparse
import os

os.environ.update(DEV="CUDA", TRAINING="1", CACHELEVEL="0", PARALLEL="0")
from tinygrad import Tensor, TinyJit, nn  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60)

layers = [nn.Linear(256, 512), Tensor.relu, nn.Linear(512, 10)]
optimizer = nn.optim.SGD(nn.state.get_parameters(layers), lr=0.1)
x, y = Tensor.rand(64, 256).realize(), Tensor.randint(64, high=10).realize()


@TinyJit
def step():
    optimizer.zero_grad()
    loss = x.sequential(layers).sparse_categorical_crossentropy(y).backward()
    optimizer.step()
    return loss.realize()


for _ in range(parser.parse_args().steps):
    step().item()
print("done")
