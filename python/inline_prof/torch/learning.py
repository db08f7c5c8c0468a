"""Learns what each launch computes, by a dispatch mode that sees every call of an ATen operator for one iteration of the
warm-up, also in autograd's threads.

The mode lies below all others: the program's own modes are entered and left as without it, and it sees what they make of a
call.  It passes each call on once, unchanged, and looks at the results.
"""

import sys
import threading

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import operators
from .compiling import has_compiled
from .outside import Outside
from ..abi import WANTS_LAYERS

_push = getattr(torch._C, "_push_on_torch_dispatch_stack", None)
_pop = getattr(torch._C, "_pop_torch_dispatch_stack", None)
_count = getattr(torch._C, "_len_torch_dispatch_stack", None)
_at = getattr(torch._C, "_get_dispatch_stack_at", None)
_disable_tracer = getattr(torch, "_disable_dynamo", lambda function, **_: function)
_OVERLOAD = torch._ops.OpOverload
_OWN_DISPATCH = Tensor.__torch_dispatch__  # the default

is_possible = None not in (_push, _pop, _count, _at)


class _Mode(TorchDispatchMode):
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # True would put two more functions around each call, also in programs that compile nothing

    @classmethod
    def ignore_compile_internals(cls):
        return True  # the tracer goes on as without us

    def __init__(self, abi, threads, guard):
        super().__init__()
        self.abi, self.threads, self.guard = abi, threads, guard
        self.outside = Outside()
        self.entries = {}  # operator -> operators.Entry
        self.works = {}  # signature of a call -> [operators.Work]
        self.is_on = True

    def entry_of(self, func):
        try:
            entry = operators.Entry(func)
        except Exception:  # no operator, but one of higher order
            entry = operators.Unlisted(func)
        self.entries[func] = entry
        return entry

    def works_of(self, entry, args, kwargs, result):
        if entry.rule is None:
            return []
        try:
            key = operators.signature(entry, args, kwargs, result)
            works = self.works.get(key)
        except Exception:  # tensors without strides, arguments without a hash
            return operators.works_of(entry, args, kwargs, result)
        if works is None:
            works = self.works[key] = operators.works_of(entry, args, kwargs, result)
        return works

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for kind in types:
            if kind.__torch_dispatch__ is not _OWN_DISPATCH:
                return NotImplemented  # DTensor and others make plain calls of it, which come here again
        kwargs = kwargs or {}
        if not self.is_on:
            return func(*args, **kwargs)
        abi = self.abi
        call = func._op if type(func) is _OVERLOAD else func  # what its __call__ calls
        abi.call_open()
        try:
            result = call(*args, **kwargs)
        except BaseException:
            if abi.call_launches() > 0:
                abi.call_close(b"", None, ())
            raise
        if abi.call_launches() > 0:
            self.describe(func, args, kwargs, result)
        return result

    def describe(self, func, args, kwargs, result):
        """Ends a call that has launched something."""
        entry = self.entries.get(func) or self.entry_of(func)
        layer, works = None, ()
        try:
            path = self.threads.mine.path
            if path is None or not path.address:
                layer = self.outside.name(entry.plain_name, sys._getframe(1).f_back)
            works = self.works_of(entry, args, kwargs, result)
        except Exception as error:
            self.guard(error)
        self.abi.call_close(entry.name, layer, works)


class _ModeBesideCompiled(_Mode):
    """The mode for programs with compiled parts: the tracer leaves its frames alone."""

    __torch_dispatch__ = _disable_tracer(_Mode.__torch_dispatch__, recursive=True)


def _rebuild(change):
    """Replaces all modes on this thread's stack by what `change` makes of them."""
    modes = [_pop(None) for _ in range(_count())][::-1]
    for mode in change(modes):
        _push(mode)


class Learning:
    """Sets the mode while the library wants operators, on the thread that makes the steps."""

    def __init__(self, abi, threads, guard, end_rest):
        self._abi, self._threads, self._guard, self._end_rest = abi, threads, guard, end_rest
        self._mode = None
        self._thread = 0
        self._is_of_capture = False

    def follow(self, is_wanted):
        """Called at the end of each iteration."""
        if self._is_of_capture:
            return
        if is_wanted and self._mode is None and is_possible:
            self._begin()
        elif self._mode is not None and not is_wanted:
            self.end()

    def capture_begins(self):
        """Sets the mode for a capture: a replay calls no operators, and no modules."""
        self._end_rest()
        if self._mode is None and is_possible and self._abi.wants() & WANTS_LAYERS:
            self._begin()
            self._is_of_capture = self._mode is not None

    def capture_ends(self):
        if self._is_of_capture:
            self.end()

    def _begin(self):
        kind = _ModeBesideCompiled if has_compiled() else _Mode
        mode = kind(self._abi, self._threads, self._guard)
        _rebuild(lambda modes: [mode, *modes])
        self._mode, self._thread = mode, threading.get_ident()

    def end(self):
        mode = self._mode
        if mode is None:
            return
        mode.is_on = False
        # Another thread's stack is out of reach: there the mode stays, and does nothing, until that thread calls this.
        if threading.get_ident() == self._thread:
            _rebuild(lambda modes: [each for each in modes if each is not mode])
            self._mode = None
            self._is_of_capture = False
