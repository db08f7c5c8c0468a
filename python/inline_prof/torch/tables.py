"""Sets our hooks on modules' calls and optimizers' steps, and removes them safely.

Modules have ours around nn.Module._call_impl. PyTorch's tables of global hooks would be simpler, but torch.compile guards its
code by their lengths, and compiles again when hooks come or go.

PyTorch calls the hooks of steps while it iterates over their table, and raises in the application if an entry is removed
meanwhile.  So a hook is first replaced by one that does nothing.  Its entry is removed once no thread is inside a table: at
once in nearly every program, else at a later call of a module.
"""

import functools
import importlib
import sys

import torch
from torch.nn import Module

from .compiling import is_compiling, set_tracer, show_call_to_tracer, skip_in_tracer

# The code that calls the hooks around an optimizer's step.
STEP = torch.optim.Optimizer.profile_hook_step(lambda optimizer: None).__code__


def _open_calls():
    """Yields (code, code that it calls or None) of every open call, on all threads."""
    for frame in sys._current_frames().values():
        called = None
        while frame is not None:
            yield frame.f_code, called
            frame, called = frame.f_back, frame.f_code


def _nothing(*_):
    pass


class Tables:
    """The hooks of modules and of optimizers' steps, while they are set and until they are gone."""

    def __init__(self):
        self._enter = self._leave = _nothing  # around each call of a module
        self._original = Module._call_impl
        self._ours = self._around(self._original)
        self._places = [name for name in ("_call_impl", "__call__") if vars(Module)[name] is self._original]  # both in PyTorch 2.0
        self._steps = []  # handles of an optimizer's
        self._step_hooks = ()  # code of ours

    def _around(self, original):
        @functools.wraps(original)
        def _call_impl(self, /, *args, **kwargs):
            # The tracer takes that for a constant.
            if is_compiling is not None and is_compiling():
                return original(self, *args, **kwargs)
            tracer = set_tracer(None)
            tables._enter(self, args)
            set_tracer(tracer)
            result = None
            try:
                result = original(self, *args, **kwargs)
            finally:
                tracer = set_tracer(None)
                tables._leave(self, args, result)
                set_tracer(tracer)
            return result

        tables = self
        skip_in_tracer(_call_impl)
        return _call_impl

    def set_module_hooks(self, enter, leave):
        """Sets the hooks, or replaces those set before."""
        self._enter, self._leave = enter, leave
        self._replace_call(self._original, self._ours)

    def silence_module_hooks(self):
        """Leaves functions in their place that do nothing: a module that is at work now may be left with hooks."""
        self._enter = self._leave = _nothing

    def drop_module_hooks(self):
        self.silence_module_hooks()
        self._replace_call(self._ours, self._original)

    def _replace_call(self, before, after):
        for name in self._places:
            if vars(Module)[name] is before:
                setattr(Module, name, after)
        show_call_to_tracer(before, after)

    def set_step_hooks(self, before, after):
        if self._steps:
            return self._replace_steps(before, after)
        module = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it
        if (module._global_optimizer_pre_hooks or module._global_optimizer_post_hooks) and self._is_step_at_work():
            # A loop over somebody else's hooks raises if ours come.
            def set_later(*_):
                self.drop_module_hooks()
                self.set_step_hooks(before, after)

            return self.set_module_hooks(set_later, _nothing)
        self._step_hooks = (before.__code__, after.__code__)
        self._steps = [module.register_optimizer_step_pre_hook(before),
                       module.register_optimizer_step_post_hook(after)]
        return None

    def drop_step_hooks(self):
        """Takes them away; while a step is at work, leaves functions in their place that do nothing."""
        self._replace_steps(_nothing, _nothing)
        if not self._is_step_at_work():
            for handle in self._steps:
                handle.remove()
            self._steps.clear()

    def drop_all(self, *_):
        self.drop_step_hooks()
        if self._steps:
            return self.set_module_hooks(self.drop_all, _nothing)
        return self.drop_module_hooks()

    def _replace_steps(self, *hooks):
        for handle, hook in zip(self._steps, hooks):
            table = handle.hooks_dict_ref()
            if table is not None and handle.id in table:
                table[handle.id] = hook

    def _is_step_at_work(self):
        # A loop at the last entry does not read its table again.
        safe = self._step_hooks if all(self._is_last(handle) for handle in self._steps) else ()
        return any(code is STEP and called not in safe for code, called in _open_calls())

    @staticmethod
    def _is_last(handle):
        table = handle.hooks_dict_ref()
        return not table or next(reversed(table)) == handle.id
