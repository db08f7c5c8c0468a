"""Sets our hooks in PyTorch's global tables, and removes them safely.

PyTorch calls hooks while it iterates over their table, and raises in the application if an entry is removed meanwhile.  So a
hook is first replaced by one that does nothing.  Its entry is removed once no thread is inside a table: at once in nearly
every program, else at a later call of a module.
"""

import importlib
import sys

import torch

from .compiling import is_compiling, silence_warning

_CALL = torch.nn.Module._call_impl.__code__
# Its part that iterates over copies, in a PyTorch that has one.
_ON_COPIES = [each for each in _CALL.co_consts if getattr(each, "co_name", None) == "inner"]


# The code that calls the hooks around an optimizer's step.
_STEP = torch.optim.Optimizer.profile_hook_step(lambda optimizer: None).__code__


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
        self._modules = []  # handles: before a call, after it
        self._steps = []  # of an optimizer
        self._on_copies = set(_ON_COPIES)
        self._step_hooks = ()  # code of ours
        self._take_back_silence = lambda: None

    def set_module_hooks(self, enter, leave):
        """Sets the hooks, or replaces those set before."""
        self._on_copies.add(enter.__code__)  # in every PyTorch
        if not self._modules:
            self._take_back_silence = silence_warning()
            modules = torch.nn.modules.module
            # After a forward that raised, too.
            self._modules = [modules.register_module_forward_pre_hook(enter),
                             modules.register_module_forward_hook(leave, always_call=True)]
        else:
            self._replace(self._modules, enter, leave)

    def set_step_hooks(self, before, after):
        if self._steps:
            return self._replace(self._steps, before, after)
        module = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it
        self._step_hooks = (before.__code__, after.__code__)
        self._steps = [module.register_optimizer_step_pre_hook(before),
                       module.register_optimizer_step_post_hook(after)]
        return None

    def silence_step_hooks(self):
        """Leaves functions in their place that do nothing: set_step_hooks() may come at any time, also inside a step."""
        self._replace(self._steps, _nothing, _nothing)

    def drop_module_hooks(self):
        self._silence_modules(self._settle_modules)
        self._settle_modules()

    def drop_all(self):
        self.silence_step_hooks()
        self._silence_modules(self._settle)
        self._settle()

    def _silence_modules(self, settle):
        def enter(module, args):
            if is_compiling is not None and is_compiling():
                return
            settle()

        self._on_copies.add(enter.__code__)
        self._replace(self._modules, enter, _nothing)

    @staticmethod
    def _replace(handles, *hooks):
        for handle, hook in zip(handles, hooks):
            table = handle.hooks_dict_ref()
            if table is not None and handle.id in table:
                table[handle.id] = hook

    def _settle(self):
        # Steps first: calls of modules, which try again, end with the modules' hooks.
        if self._steps and not self._is_step_at_work():
            self._remove(self._steps)
        if not self._steps:
            self._settle_modules()

    def _settle_modules(self):
        if self._modules and not any(code is _CALL and called not in self._on_copies
                                     for code, called in _open_calls()):
            self._remove(self._modules)
            self._take_back_silence()

    def _is_step_at_work(self):
        # A loop at the last entry does not read its table again.
        safe = self._step_hooks if all(self._is_last(handle) for handle in self._steps) else ()
        return any(code is _STEP and called not in safe for code, called in _open_calls())

    @staticmethod
    def _is_last(handle):
        table = handle.hooks_dict_ref()
        return not table or next(reversed(table)) == handle.id

    @staticmethod
    def _remove(handles):
        for handle in handles:
            handle.remove()
        handles.clear()
