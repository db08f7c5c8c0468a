"""A training that dies in the middle of a step: python3 dying.py exception|signal [--steps N]."""

import argparse
import os
import signal

import gpt
import torch

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=("exception", "signal"))
    parser.add_argument("--steps", type=int, default=120)
    arguments = parser.parse_args()
    options, model = gpt.prepare(eager=False)
    gpt.train(arguments.steps, model, options, torch.optim.AdamW(model.parameters(), fused=True))
    print(f"dies after {arguments.steps} steps", flush=True)
    gpt.loss_of(model, *gpt.example.sequences(options, "cuda"))
    if arguments.way == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
    raise RuntimeError("as it was asked to")
