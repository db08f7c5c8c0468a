"""A DataLoader with workers, pinned memory and a prefetch on a second stream: python3 loader.py [--steps N]."""

import argparse

import steps as loop
import torch
from torch import nn


class Prefetched:
    """Copies the next batch on a stream of its own while this one is worked on."""

    def __init__(self, batches):
        self.batches, self.stream = iter(batches), torch.cuda.Stream()
        self.load()

    def load(self):
        batch = next(self.batches, None)
        with torch.cuda.stream(self.stream):
            self.next = None if batch is None else [part.cuda(non_blocking=True) for part in batch]

    def __iter__(self):
        while self.next is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.next
            for part in batch:
                part.record_stream(torch.cuda.current_stream())
            self.load()
            yield batch


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.arange(32.0 * 64 * steps).view(-1, 64), torch.randn(32 * steps, 1))
    batches = torch.utils.data.DataLoader(data, batch_size=32, num_workers=2, pin_memory=True)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    rows = 0
    for features, target in Prefetched(batches):
        loop.begins()
        nn.functional.mse_loss(model(features), target).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        rows += features.shape[0]
    print(f"{rows} rows, the last begins with {float(features[-1, 0])}")
