"""Finds the module of each launch, forward and backward, by functions around `forward` and hooks on autograd's nodes, and the bytes
of element-wise operators, by a dispatch mode during a few calls of the model. Knows nothing of the profiler."""

import atexit
import bisect
import ctypes
import functools
import math
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

FIRST_CALL, LAST_CALL = 2, 10  # of the model: element-wise operators from the one to the other are written down


class ElementWise(TorchDispatchMode):
    """Lines "OPERATOR READ WRITTEN", in bytes of different elements on the GPU."""

    def __init__(self):
        super().__init__()
        self.lines = set()

    @staticmethod
    def _bytes(values):
        tensors = [each for each in values if isinstance(each, torch.Tensor) and each.is_cuda]
        different = {(each.data_ptr(), each.shape, each.stride()): each for each in tensors}
        return sum(each.element_size() * math.prod(size for size, stride in zip(each.shape, each.stride()) if stride)
                   for each in different.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if torch.Tag.pointwise in func.tags:
            given = [value for name, value in (kwargs or {}).items() if name != "out"]
            self.lines.add(f"{func._schema.name} {self._bytes(tree_leaves((args, given)))} {self._bytes(tree_leaves(result))}")
        return result

    def around(self, forward):
        calls = 0

        @functools.wraps(forward)
        def wrapped(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == FIRST_CALL:
                self.__enter__()
            elif calls == LAST_CALL:
                self.__exit__(None, None, None)
            return forward(*args, **kwargs)

        return wrapped


class Truth:
    """Lines "NUMBER PATH": from this launch of the process on, it was in there. PATH is empty outside all modules."""

    def __init__(self):
        self._count = ctypes.CDLL("libcuda.so.1").simgpu_launch_count
        self._count.restype = ctypes.c_uint64
        self.lines = []
        self._modules = [""]  # innermost last; the first is where autograd is
        self._numbers, self._paths = [], []  # from this number of autograd's nodes on, they were made in there

    def write_down(self):
        self.lines.append(f"{self._count()} {self._modules[-1]}")

    def _note_nodes(self):
        self._numbers.append(torch.autograd._get_sequence_nr())
        self._paths.append(self._modules[-1])

    def around(self, forward, path=None):
        """`path`: None for a module that is registered nowhere, which counts as a part of its caller."""
        @functools.wraps(forward)  # transformers looks at the names of its arguments
        def wrapped(*args, **kwargs):
            self._modules.append(path or f"{self._modules[-1]}.{type(args[0]).__name__}")
            self._note_nodes()
            self.write_down()
            try:
                return forward(*args, **kwargs)
            finally:
                self._modules.pop()
                self._note_nodes()
                self.write_down()

        return wrapped

    def _go_to(self, node_path):
        self._modules[0] = node_path
        self.write_down()

    def around_backward(self, backward):
        def wrapped(loss, *args, **kwargs):
            seen, left, hooks = set(), [loss.grad_fn], []
            while left:
                node = left.pop()
                if node is None or node in seen:
                    continue
                seen.add(node)
                left.extend(each for each, _ in node.next_functions)
                if node.name() == "torch::autograd::AccumulateGrad":  # whenever a gradient is ready
                    path = ""
                else:
                    path = self._paths[bisect.bisect_right(self._numbers, node._sequence_nr()) - 1]
                hooks.append(node.register_prehook(lambda _, path=path: self._go_to(path and path + ".backward")))
                hooks.append(node.register_hook(lambda _, __: self._go_to("")))
            del seen, left, node
            try:
                return backward(loss, *args, **kwargs)
            finally:
                for hook in hooks:  # nodes that are a parameter's come again in the next pass
                    hook.remove()

        return wrapped


def put_around(model, method="forward"):
    """Writes the lines to the file "REAL_PROGRAMS_NAMES.PROCESS", and to "element_wise.PROCESS" beside it, when the program ends. `method`: what counts as the module's;
    `_call_impl` is `forward` with all hooks."""
    file = os.environ.get("REAL_PROGRAMS_NAMES")
    if not file:
        return
    truth = Truth()
    truth._note_nodes()
    root = type(model).__name__
    for name, module in model.named_modules():
        setattr(module, method, truth.around(getattr(module, method), f"{root}.{name}" if name else root))
    element_wise = ElementWise()
    model.forward = element_wise.around(model.forward)
    torch.nn.CrossEntropyLoss.forward = truth.around(torch.nn.CrossEntropyLoss.forward)  # made at each call
    torch.Tensor.backward = truth.around_backward(torch.Tensor.backward)

    def write():
        truth.write_down()
        with open(f"{file}.{os.getpid()}", "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in truth.lines)
            out.write("end\n")
        with open(os.path.join(os.path.dirname(file), f"element_wise.{os.getpid()}"), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in sorted(element_wise.lines))

    atexit.register(write)
