"""A dispatch mode, a tensor subclass and an operator of a program's own; and the loop of programs whose calls have ranges."""

import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    """A dispatch mode that notes the operators it sees."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func._schema.name)
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    """A subclass with its own dispatch, like DTensor."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [each.inner if isinstance(each, Wrapped) else each for each in args]
        return Wrapped(func(*plain, **(kwargs or {})))


@torch.library.custom_op("house::twice", mutates_args=())
def twice(given: torch.Tensor) -> torch.Tensor:
    return given * 2


class _Net(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self):
        results = {}
        for name, call in self.calls.items():
            torch.cuda.nvtx.range_push(name)
            results[name] = call()
            torch.cuda.nvtx.range_pop()
        return results


_Net.__name__ = "Net"


def run_steps(calls, behind=lambda: None):
    """Makes each of the calls in an NVTX range with its name, then `behind` and an optimizer's step, for as many steps as the
    first argument says.  Returns the results of the last step."""
    weight = torch.nn.Parameter(torch.ones(8, device="cuda"))
    weight.grad = torch.ones(8, device="cuda")
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    net = _Net(calls)
    for _ in range(int(sys.argv[1])):
        results = net()
        behind()
        optimizer.step()
    torch.cuda.synchronize()
    return results
