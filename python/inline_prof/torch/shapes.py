"""Sets labels (PROFILE_RECORD, PROFILE_OP) around calls whose kernels do not show their shape.

Only work on a GPU has labels.  A label lies around the call, and around the one autograd node that is its backward pass.
"""

import functools
import itertools

import torch

from . import descriptions
from .compiling import has_compiled, is_compiling


def stream_of(value):
    """Returns the (stream, device) of work on a tensor, None if it is on no GPU."""
    if not isinstance(value, torch.Tensor) or not value.is_cuda:
        return None
    index = value.get_device()
    return torch._C._cuda_getCurrentRawStream(index), index


def function_of(node):
    """Returns the name of an autograd node; of one that C++ made, the function's: torch::autograd::CppNode<NAME>."""
    return node.name().rpartition("CppNode<")[2]


def _unseen(work):
    """Lets the program's modes and subclasses of Tensor see nothing of what `work` asks tensors."""

    @functools.wraps(work)
    def ours(*args):
        with torch._C.DisableTorchFunction():
            return work(*args)

    return ours


# Never freed: modules may have imported one by name, and torch.jit.script knows functions by address.
_functions_of_ours = []


_LABELS = 64  # after this many labels the library is asked what it still wants


class Shapes:
    """Describes operations while the library looks for events; later only marks their starts and stops."""

    def __init__(self, abi, guard, rest):
        self._abi = abi
        self._rest = rest
        self._guard = guard
        self._patched = []  # (namespace, name, original or None, ours)
        self._is_met = False
        self.is_on = True
        self.describes = True

    def are_met(self):
        """Returns whether there is any label."""
        return self._is_met

    def label_hooks(self, on_labels):
        """Returns the two module hooks for when paths are no longer wanted: for most modules they only look at the class.
        `on_labels` is called after every few labels, for programs whose optimizers make no steps."""
        known = {}  # class -> Description or None
        labels = itertools.count(1)

        def description_of(module):
            kind = type(module)
            if kind not in known:
                known[kind] = descriptions.of_class(module)
            return known[kind]

        def enter(module, args):
            description = description_of(module)
            if description is not None and descriptions.fits(description, module):
                self._guarded(self.enter, description, module, args)

        def leave(module, args, result):
            description = description_of(module)
            if description is not None and descriptions.fits(description, module):
                self._guarded(self.leave, description, module, args, result)
                if next(labels) % _LABELS == 0:
                    self._guarded(on_labels)

        return enter, leave

    # --- one call

    @_unseen
    def enter(self, description, owner, args):
        """Called before a module, or a function, whose owner is None."""
        where = stream_of(args[0]) if args and self.is_on else None
        if where is None:
            return
        if self.describes:
            try:
                attributes = description.forward(owner, args)
            except Exception:  # unusual arguments: a label without a description
                attributes = None
            if attributes is not None:
                self._abi.op(description.label, description.kind, attributes)
        self._is_met = True
        self._abi.record(None, description.start, where[0], where[1], 1, None)

    @_unseen
    def leave(self, description, owner, args, result):
        """Called after it."""
        where = stream_of(args[0]) if args and self.is_on else None
        if where is None:
            return
        self._abi.record(None, description.stop, where[0], where[1], 1, None)
        self._watch_backward(description, owner, args, result)

    # --- its backward pass

    def _watch_backward(self, description, owner, args, result):
        if not description.node:
            return
        first = result[0] if isinstance(result, (tuple, list)) and result else result
        node = getattr(first, "grad_fn", None)
        if node is None or not function_of(node).startswith(description.node):
            return
        attributes = None
        if self.describes:
            try:
                attributes = description.forward(owner, args)
                attributes = attributes and description.backward(owner, attributes)
            except Exception:  # as above
                attributes = None
        node.register_prehook(functools.partial(self._backward_starts, description, attributes))
        node.register_hook(functools.partial(self._backward_stops, description))

    def _backward_starts(self, description, attributes, gradients):
        self._record_backward(gradients, description.backward_start, description, attributes)

    def _backward_stops(self, description, _, gradients):
        self._record_backward(gradients, description.backward_stop)

    @_unseen
    def _record_backward(self, gradients, label, description=None, attributes=None):
        try:
            if not self.is_on:
                return
            where = next(filter(None, map(stream_of, gradients)), None)
            if where is None:
                return
            if self.describes and attributes:
                self._abi.op(description.backward_label, description.kind, attributes)
            self._abi.record(None, label, where[0], where[1], 1, None)
        except Exception as error:
            self._guard(error)

    # --- an optimizer's step

    @_unseen
    def _step(self, optimizer, label, describe):
        if not self.is_on or self._rest.is_on:
            return
        groups = optimizer.param_groups
        where = stream_of(groups[0]["params"][0]) if groups and groups[0]["params"] else None
        if where is None:
            return
        if describe and self.describes:
            attributes = descriptions.of_step(optimizer)
            if attributes is not None:
                self._abi.op(b"optimizer.step", "memory", attributes)
        self._is_met = True
        self._abi.record(None, label, where[0], where[1], 1, None)

    def enter_step(self, optimizer):
        self._step(optimizer, b"optimizer.step.start", True)

    def leave_step(self, optimizer):
        self._step(optimizer, b"optimizer.step.stop", False)

    # --- functions that belong to no module

    def patch_functions(self):
        """Puts ours in the place of functions that modules call by their full name, but for compiled programs."""
        if has_compiled():
            return
        for namespace, name, parameters, description in descriptions.functions():
            original = getattr(namespace, name, None)
            if original is None:
                continue
            ours = self._around(original, parameters, description)
            # A class may have it from another one, and gets it back from there.
            is_own = name in vars(namespace)
            setattr(namespace, name, ours)
            self._patched.append((namespace, name, original if is_own else None, ours))

    def _around(self, original, parameters, description):
        @functools.wraps(original)
        def ours(*args, **kwargs):
            if (is_compiling is not None and is_compiling()) or not self.is_on or self._rest.is_on:
                return original(*args, **kwargs)
            known = self._guarded(self._bind, parameters, args, kwargs) or ()
            self._guarded(self.enter, description, None, known)
            result = original(*args, **kwargs)
            self._guarded(self.leave, description, None, known, result)
            return result

        _functions_of_ours.append(ours)
        # A built-in operator of torch.jit.script stays one.
        builtins = getattr(torch.jit, "_builtins", None)
        if builtins is not None:
            operator = builtins._find_builtin(original)
            if operator is not None:
                builtins._register_builtin(ours, operator)
        return ours

    @staticmethod
    def _bind(parameters, args, kwargs):
        bound = list(args)
        for name in parameters[len(args):]:
            bound.append(kwargs.get(name))
        return bound

    def _guarded(self, work, *args):
        try:
            return work(*args)
        except Exception as error:
            self._guard(error)
            return None

    def resume(self):
        """Describes operations again."""
        self.describes = True
        if not self.is_on:
            self.is_on = True
            self.patch_functions()

    def remove(self):
        self.is_on = False
        patched, self._patched = self._patched, []
        for namespace, name, original, ours in patched:
            if getattr(namespace, name, None) is not ours:
                continue
            if original is None:
                delattr(namespace, name)
            else:
                setattr(namespace, name, original)
