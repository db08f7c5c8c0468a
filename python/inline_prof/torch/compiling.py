"""Keeps our hooks out of what torch.compile traces.

A hook begins with `if is_compiling is not None and is_compiling(): return`.  The tracer takes that for a constant, and
leaves the hook out of the graph.  torch.compiler.disable would break the graph in two at every module.
"""

import sys

import torch

# A function that the tracer knows; None in a PyTorch without one.
is_compiling = (getattr(getattr(torch, "compiler", None), "is_compiling", None)  # 2.3
                or getattr(getattr(torch, "_utils", None), "is_compiling", None))  # 2.1

_tracer = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
# Sets the function that this thread compiles frames by, None for none, and returns the one before.
set_tracer = getattr(_tracer, "set_eval_frame", lambda _: None)


def has_compiled():
    """Returns whether a part of the program is compiled.  PyTorch guards it by the functions that it calls: when ours come or go
    in their place, it is compiled again, and launches other kernels."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None) or {}
    return counters.get("frames", {}).get("total", 0) > 0


def skip_in_tracer(function):
    """Lets the tracer begin inside what `function` calls, as without it."""
    if hasattr(_tracer, "set_code_exec_strategy"):  # 2.8
        skips = _tracer._FrameExecStrategy(_tracer._FrameAction.SKIP, _tracer._FrameAction.DEFAULT)
        _tracer.set_code_exec_strategy(function.__code__, skips)
    elif hasattr(_tracer, "skip_code"):
        _tracer.skip_code(function.__code__)


def show_call_to_tracer(before, after):
    """Lets the tracer take `after` for nn.Module's own _call_impl: it then goes on in `forward` at once, and sets no guard on it."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        known = sys.modules.get(name)
        if getattr(known, "unpatched_nn_module_call_impl", None) is before:
            known.unpatched_nn_module_call_impl = after
