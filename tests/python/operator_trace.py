"""An independent account of which module each operator call belongs to.

PyTorch's own profiler writes operators down, with the number that ties a node of the backward pass
to the operator that made it.  Which module was at work is written beside them by functions put
around the modules' `forward`, not by hooks.
"""

import contextlib
import re
from collections import Counter

import torch
from torch.autograd.profiler import profile, record_function

_TRUTH = "truth:"
_OURS = "ours:"
# record_function itself calls these for each mark.
_OF_MARKS = frozenset(("aten::empty", "aten::zeros", "aten::zero_"))
_NODE = re.compile(r"(autograd::engine::evaluate_function: )?\w*Backward\d*$")


@contextlib.contextmanager
def _told_by_forward(model):
    root = type(model).__name__
    modules = [(".".join(filter(None, (root, name))), module)
               for name, module in model.named_modules()]

    def around(path, forward):
        def told(*args, **kwargs):
            with record_function(_TRUTH + path):
                return forward(*args, **kwargs)
        return told

    for path, module in modules:
        module.forward = around(path, module.forward)
    try:
        yield
    finally:
        for _, module in modules:
            del module.forward


def operator_calls(model, step, abi):
    """[(pass, operator, true path, path that the library was told)] of `step()`."""
    def told(path):
        with record_function(_OURS + path):
            pass

    abi.on_path = told
    with _told_by_forward(model), profile() as trace:
        step()
    abi.on_path = lambda path: None
    events = sorted(trace.function_events, key=lambda e: (e.time_range.start, -e.time_range.end))

    module_of_node = {}  # sequence number -> path
    calls = []
    ours = ""
    enclosing = []  # (end, kind, path) of what is open
    for event in events:
        start, end = event.time_range.start, event.time_range.end
        while enclosing and enclosing[-1][0] <= start:
            enclosing.pop()
        kind, path = enclosing[-1][1:] if enclosing else ("forward", "")
        name = event.name
        if name.startswith(_OURS):
            ours = name[len(_OURS):]
        elif name.startswith(_TRUTH):
            enclosing.append((end, "forward", name[len(_TRUTH):]))
        elif event.sequence_nr >= 0 and _NODE.match(name):
            path = module_of_node.get(event.sequence_nr)
            enclosing.append((end, "backward", path))
        elif name.startswith("aten::") and not (kind == "forward" and name in _OF_MARKS):
            if kind == "forward" and event.sequence_nr >= 0:
                # The last one with this number made the node.
                module_of_node[event.sequence_nr] = path
            calls.append((kind, name, path, ours))
    return calls


def right_share(calls, kind):
    """(share of calls with the right path, number of calls, wrong ones counted)

    Left out is what no module made: the loss, and the sums of gradients into parameters, which
    autograd does whenever one is ready."""
    suffix = ".backward" if kind == "backward" else ""
    counted = [(name, path + suffix, ours) for each, name, path, ours in calls
               if each == kind and path]
    wrong = Counter(call for call in counted if call[1] != call[2])
    return 1 - sum(wrong.values()) / max(len(counted), 1), len(counted), wrong


def train_step(model, inputs, target, loss):
    loss(model(*inputs), target).backward()
    model.zero_grad()
    torch.manual_seed(0)
