"""A small DLRM that learns from made-up clicks.  Nothing in it knows of a profiler.

    python3 dlrm.py [--device cpu]

The structure is that of Naumov et al., "Deep Learning Recommendation Model for Personalization and
Recommendation Systems", 2019: bottom MLP, embedding bags, pairwise products, top MLP.
"""

import argparse
import sys

import torch
from torch import nn
from torch.nn import functional as F


def mlp(widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Interaction(nn.Module):
    """The dense vector, and its and the embeddings' products with one another."""

    def __init__(self, vectors):
        super().__init__()
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1))

    def forward(self, dense, embedded):
        stacked = torch.stack([dense] + embedded, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], dim=1)


class Dlrm(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.bottom = mlp([options.dense, 512, 256, options.width])
        self.embeddings = nn.ModuleList(
            [nn.EmbeddingBag(options.rows, options.width, mode="sum") for _ in range(options.tables)])
        self.interaction = Interaction(options.tables + 1)
        pairs = (options.tables + 1) * options.tables // 2
        self.top = nn.Sequential(mlp([options.width + pairs, 512, 256]), nn.Linear(256, 1))

    def forward(self, dense, indices):
        embedded = [bag(part) for bag, part in zip(self.embeddings, indices)]
        return self.top(self.interaction(self.bottom(dense), embedded))


def clicks(options, device):
    """Clicked is what has more positive features than negative ones."""
    dense = torch.randn(options.batch, options.dense)
    indices = torch.randint(options.rows, (options.tables, options.batch, options.bag))
    clicked = (dense.sum(dim=1, keepdim=True) > 0).float()
    return dense.to(device), list(indices.to(device)), clicked.to(device)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in (("steps", 400), ("batch", 2048), ("dense", 13), ("tables", 8),
                          ("rows", 100000), ("bag", 4), ("width", 64)):
        parser.add_argument("--" + name, type=int, default=default)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    torch.manual_seed(0)
    device = torch.device(options.device)
    model = Dlrm(options).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(options.steps):
        dense, indices, clicked = clicks(options, device)
        loss = F.binary_cross_entropy_with_logits(model(dense, indices), clicked)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    first, last = float(losses[0]), float(losses[-1])
    print("loss %.3f -> %.3f" % (first, last))
    # On a GPU that computes nothing both are zero, or nearly: what their memory held before.
    return 0 if last < first or round(last, 3) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
