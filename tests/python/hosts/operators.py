"""Calls of PyTorch's operators on the GPU, each in an NVTX range with its name."""

import torch
from torch.nn import functional as F

from odd_kinds import run_steps, twice

x, y = (torch.ones(256, 1000, device="cuda") for _ in range(2))
row = torch.ones(1000, device="cuda")
sparse = torch.sparse_coo_tensor(torch.zeros(1, 4, dtype=torch.int64), torch.ones(4), (8,)).cuda()


def many():
    for each in range(3):
        torch.sub(x, each)


def no_memory():
    try:
        torch.empty(1 << 50, device="cuda")
    except RuntimeError:
        pass


OPERATORS = {
    "two_inputs": lambda: x + y,
    "transposed": lambda: x.t().contiguous(),
    "dropout": lambda: F.dropout(x, 0.5, True),
    "layer_norm": lambda: F.layer_norm(x, (1000,), row, row),
    "custom": lambda: twice(x),
    "sparse": lambda: sparse.coalesce(),
    "views": lambda: x.view(1000, 256).t()[3:],
    "meta": lambda: torch.empty(8, device="meta") + 1,
    "many": many,
    "no_memory": no_memory,
}


def behind():
    F.mse_loss(x, y)
    x @ x.t()


run_steps(OPERATORS, behind)
print("modes", torch._C._len_torch_dispatch_stack())
