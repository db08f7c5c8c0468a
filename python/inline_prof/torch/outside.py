"""Names launches outside all modules by the PyTorch function that the program called, such as `cross_entropy` or
`GradScaler.scale`, or by the operator; in the backward pass by what made the node of autograd's graph, with `.backward`."""

import bisect
import inspect
import os

import torch
from torch import Tensor

from .backward import current_node, number_of_next_node

_TORCH = os.path.dirname(torch.__file__) + os.sep


def _function_called(frame):
    """Returns the frame of the PyTorch function, around `frame`, that the program called; None without one."""
    called = None
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_TORCH):
            break
        # Nested functions are decorators' wrappers.
        if not code.co_flags & inspect.CO_NESTED and not code.co_name.startswith(("__", "<")):
            called = frame
        frame = frame.f_back
    return called


def _name_of_function(frame):
    owner = frame.f_locals.get("self")
    name = frame.f_code.co_name
    if owner is None or isinstance(owner, Tensor):
        return name
    name = type(owner).__name__ + "." + name
    return "optimizer." + name if isinstance(owner, torch.optim.Optimizer) else name


class Outside:
    """The names of one iteration."""

    def __init__(self):
        self._numbers, self._names = [], []  # autograd's nodes below this number were made for this name

    def name(self, operator, frame):
        """Returns the name (bytes) of a finished call of `operator` by `frame`."""
        node = current_node() if current_node is not None else None
        if node is not None:
            return self._name_of_node(node).encode()
        called = _function_called(frame)
        name = operator if called is None else _name_of_function(called)
        if number_of_next_node is not None:
            self._numbers.append(number_of_next_node())
            self._names.append(name)
        return name.encode()

    def _name_of_node(self, node):
        at = bisect.bisect_right(self._numbers, node._sequence_nr())
        if at < len(self._names):
            return self._names[at] + ".backward"
        return "autograd." + node.name().rpartition("::")[2]
