"""Fails in the middle, or on a driver that is too old: python3 bad_inputs.py {unsimulated,old_driver} [--steps N]."""

import argparse
import warnings

import steps as loop
import torch
from torch import nn


def unsimulated(steps):
    """A function that is not simulated, once: the program gets the library's error and goes on."""
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    inputs = torch.zeros(64, 256, device="cuda")
    for step in range(steps):
        loop.begins()
        if step == steps // 2:
            try:
                torch.fft.rfft(inputs)
            except RuntimeError as error:
                print(error)
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print(f"{steps} steps")


def old_driver(_):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        print("available:", torch.cuda.is_available())
    try:
        torch.zeros(1).cuda()
    except RuntimeError as error:
        print(str(error).split("Please", maxsplit=1)[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["unsimulated", "old_driver"])
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    {"unsimulated": unsimulated, "old_driver": old_driver}[options.what](options.steps)
