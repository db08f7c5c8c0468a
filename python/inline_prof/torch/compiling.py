"""torch.compile: what is traced, hooks as well, must not see ours.

A hook begins with `if is_compiling is not None and is_compiling(): return`, which the tracer takes for
a constant.  So it is left out of the graph, which torch.compiler.disable would break in two at every
module.
"""

import sys
import warnings

import torch

# A function that the tracer knows; None in a PyTorch without one.
is_compiling = (getattr(getattr(torch, "compiler", None), "is_compiling", None)  # 2.3
                or getattr(getattr(torch, "_utils", None), "is_compiling", None))  # 2.1

# What PyTorch 2.8 and later say where a compiled module is called while there are global hooks: that
# they run for the wrapper as well, which is no layer here.
_ABOUT_GLOBAL_HOOKS = r"Using `torch\.compile\(module\)` when there are global hooks"


def has_compiled():
    """Whether a part of the program is compiled.  PyTorch guards that by the tables of global hooks: once ours come or go, it is
    compiled again, and launches other kernels."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None) or {}
    return counters.get("frames", {}).get("total", 0) > 0


def silence_warning():
    """Keeps PyTorch's warning about our hooks from a program that may have made its warnings errors.
    Gives the function that takes this back."""
    has_any = getattr(torch.nn.modules.module, "_has_any_global_hook", None)
    if has_any is None or has_any():  # the program's own hooks: the warning is for it
        return lambda: None
    warnings.filterwarnings("ignore", message=_ABOUT_GLOBAL_HOOKS)
    ours = warnings.filters[0]

    def take_back():
        if ours in warnings.filters:
            warnings.filters.remove(ours)

    return take_back
