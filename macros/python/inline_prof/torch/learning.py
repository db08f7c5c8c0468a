"""Learns what each launch of an iteration computes: a dispatch mode that sees every call of an ATen operator, also in
autograd's threads, for one iteration of the warm-up.

The mode lies below all others, so that one of the program's own is entered and left as without it, and sees what they
make of a call.  It passes each call on once, unchanged, and looks at the results.
"""

import threading

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import operators
from ..abi import WANTS_LAYERS

_push = getattr(torch._C, "_push_on_torch_dispatch_stack", None)
_pop = getattr(torch._C, "_pop_torch_dispatch_stack", None)
_count = getattr(torch._C, "_len_torch_dispatch_stack", None)
_at = getattr(torch._C, "_get_dispatch_stack_at", None)
_OWN_DISPATCH = Tensor.__torch_dispatch__  # of a tensor that has none of its own

is_possible = None not in (_push, _pop, _count, _at)


class _Mode(TorchDispatchMode):
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True  # the tracer goes on as without us

    def __init__(self, abi, guard):
        super().__init__()
        self.abi, self.guard = abi, guard
        self.entries = {}  # operator -> operators.Entry
        self.is_on = True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for kind in types:
            if kind.__torch_dispatch__ is not _OWN_DISPATCH:
                return NotImplemented  # DTensor and others make plain calls of it, which come here again
        if not self.is_on:
            return func(*args, **kwargs)
        abi = self.abi
        abi.call_open()
        try:
            result = func(*args, **kwargs)
        except BaseException:
            abi.call_close(b"", ())
            raise
        if abi.call_launches() == 0:
            abi.call_close(b"", ())
            return result
        name, works = b"", ()
        try:
            entry = self.entries.get(func)
            if entry is None:
                entry = self.entries[func] = operators.Entry(func)
            name = entry.name
            works = operators.works_of(entry, args, kwargs, result)
        except Exception:  # no operator, but one of higher order
            name = str(func).encode()
        try:
            abi.call_close(name, works)
        except Exception as error:
            self.guard(error)
        return result


def _rebuild(change):
    """Takes all modes off this thread's stack, and puts back what `change` makes of them."""
    modes = [_pop(None) for _ in range(_count())][::-1]
    for mode in change(modes):
        _push(mode)


class Learning:
    """Sets the mode while the library wants operators, on the thread that makes the steps."""

    def __init__(self, abi, guard):
        self._abi, self._guard = abi, guard
        self._mode = None
        self._thread = 0
        self._is_of_capture = False

    def follow(self, is_wanted):
        """At the end of each iteration."""
        if self._is_of_capture:
            return
        if is_wanted and self._mode is None and is_possible:
            self._begin()
        elif self._mode is not None and not is_wanted:
            self.end()

    def capture_begins(self):
        """What a graph launches is said while it is captured; a replay says nothing."""
        if self._mode is None and is_possible and self._abi.wants() & WANTS_LAYERS:
            self._begin()
            self._is_of_capture = self._mode is not None

    def capture_ends(self):
        if self._is_of_capture:
            self.end()

    def _begin(self):
        mode = _Mode(self._abi, self._guard)
        _rebuild(lambda modes: [mode, *modes])
        self._mode, self._thread = mode, threading.get_ident()

    def end(self):
        mode = self._mode
        if mode is None:
            return
        mode.is_on = False
        # Another thread's stack is out of reach: there the mode does nothing until that thread comes by.
        if threading.get_ident() == self._thread:
            _rebuild(lambda modes: [each for each in modes if each is not mode])
            self._mode = None
            self._is_of_capture = False
