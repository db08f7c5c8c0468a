"""Keeps our hooks out of what torch.compile traces.

A hook begins with `if is_compiling is not None and is_compiling(): return`.  The tracer takes that for a constant, and
leaves the hook out of the graph.  torch.compiler.disable would break the graph in two at every module.
"""

import sys
import warnings

import torch

# A function that the tracer knows; None in a PyTorch without one.
is_compiling = (getattr(getattr(torch, "compiler", None), "is_compiling", None)  # 2.3
                or getattr(getattr(torch, "_utils", None), "is_compiling", None))  # 2.1

# The warning of PyTorch 2.8 and later for a compiled module with global hooks: they run for the wrapper as
# well, which is no layer here.
_ABOUT_GLOBAL_HOOKS = r"Using `torch\.compile\(module\)` when there are global hooks"


def has_compiled():
    """Returns whether a part of the program is compiled.  PyTorch guards it by the tables of global hooks: when ours come or
    go, it is compiled again, and launches other kernels."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None) or {}
    return counters.get("frames", {}).get("total", 0) > 0


def silence_warning():
    """Silences PyTorch's warning about our hooks: the program may turn warnings into errors.  Returns a function that takes
    this back."""
    has_any = getattr(torch.nn.modules.module, "_has_any_global_hook", None)
    if has_any is None or has_any():  # the program's own hooks: the warning is for it
        return lambda: None
    warnings.filterwarnings("ignore", message=_ABOUT_GLOBAL_HOOKS)
    ours = warnings.filters[0]

    def take_back():
        if ours in warnings.filters:
            warnings.filters.remove(ours)

    return take_back
