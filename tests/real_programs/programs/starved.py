"""A loop whose GPU runs dry: it waits 20 ms for its data in every step: python3 starved.py [--steps N]."""

import argparse
import time

import steps as loop
import torch
from torch import nn

SECONDS = 0.02

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(steps):
        loop.begins()
        time.sleep(SECONDS)
        model(torch.zeros(256, 1024).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print(f"{steps} steps")
