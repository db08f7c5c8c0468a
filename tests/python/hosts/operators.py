"""Calls of PyTorch's operators on the GPU, each in an NVTX range with its name."""

import torch
from torch.nn import functional as F

from odd_kinds import run_steps, twice

x, y = (torch.ones(256, 1000, device="cuda") for _ in range(2))
row, column = torch.ones(1000, device="cuda"), torch.ones(256, 1, device="cuda")
mask = torch.ones(256, 1000, device="cuda", dtype=torch.bool)
table = torch.ones(5000, 64, device="cuda")
places = torch.ones(100, device="cuda", dtype=torch.int64)
sparse = torch.sparse_coo_tensor(torch.zeros(1, 4, dtype=torch.int64), torch.ones(4), (8,)).cuda()
turning = torch.ones(64, 64, device="cuda", dtype=torch.complex64)


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
    "one_row": lambda: x + row,
    "expanded": lambda: x * column.expand(256, 1000),
    "twice_the_same": lambda: x * x,
    "cast": lambda: x.to(torch.bfloat16),
    "transposed": lambda: x.t().contiguous(),
    "in_place": lambda: x.add_(1),
    "filled": lambda: x.fill_(3),
    "sum": lambda: x.sum(1),
    "softmax": lambda: F.softmax(x, 1),
    "where": lambda: torch.where(mask, x, y),
    "together": lambda: torch.cat([x, y]),
    "embedding": lambda: F.embedding(places, table),
    "every_second": lambda: x[:, ::2] * 2,
    "dropout": lambda: F.dropout(x, 0.5, True),
    "layer_norm": lambda: F.layer_norm(x, (1000,), row, row),
    "lists": lambda: torch._foreach_mul_([x, y, row], 2.0),
    "complex": lambda: turning * turning,
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
