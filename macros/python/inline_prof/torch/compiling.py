"""torch.compile traces what modules call, hooks as well, and must not see ours: a compiled part has the
name of its outermost module."""

import torch

# A function, or None where PyTorch has none.
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
