"""Checks what newer versions of PyTorch 2 do, on made-up tables and calls: hooks that are called after a forward that raised, the warning about global hooks, and torch.compile's tracing."""

import collections
import contextlib
import itertools
import re
import unittest
import unittest.mock
import warnings

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn
from torch.utils.hooks import RemovableHandle
from torch.nn.modules import module as module_globals

import inline_prof.torch as hooks
from fake_abi import hooked
from inline_prof.torch import compiling, forward, optimizers, shapes

# As PyTorch 2.8 says it.
GLOBAL_HOOKS = ("Using `torch.compile(module)` when there are global hooks on modules (e.g., from "
                "`register_module_forward_hook`); this will cause the hooks to fire an extra time")


class Tables:
    """The global hooks of a PyTorch that has `always_call`, and its call of a module."""

    def __init__(self):
        self.before = collections.OrderedDict()
        self.after = collections.OrderedDict()
        self.always = {}

    def _added(self, table, hook):
        handle = RemovableHandle(table)
        table[handle.id] = hook
        return handle

    def register_before(self, hook):
        return self._added(self.before, hook)

    def register_after(self, hook, *, with_kwargs=False, always_call=False):
        handle = self._added(self.after, hook)
        self.always[handle.id] = always_call
        return handle

    def module_call(self):
        """nn.Module.__call__ that uses these hooks."""
        tables = self

        def call(self, *args):
            for hook in list(tables.before.values()):
                assert hook(self, args) is None
            try:
                result = self.forward(*args)
            except Exception:
                for key, hook in list(tables.after.items()):
                    if tables.always[key]:
                        hook(self, args, None)
                raise
            for hook in list(tables.after.values()):
                assert hook(self, args, result) is None
            return result

        return call

    def has_any(self):
        return bool(self.before or self.after)


class NewerTorch(unittest.TestCase):
    def setUp(self):
        self.tables = tables = Tables()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for name, value in (("register_module_forward_pre_hook", tables.register_before),
                            ("register_module_forward_hook", tables.register_after),
                            ("_has_any_global_hook", tables.has_any)):
            stack.enter_context(
                unittest.mock.patch.object(module_globals, name, value, create=True))
        call = tables.module_call()
        stack.enter_context(unittest.mock.patch.object(nn.Module, "__call__", call))
        stack.enter_context(unittest.mock.patch.object(forward, "_CALL", call.__code__))
        stack.enter_context(warnings.catch_warnings())
        self.hooked = stack

    def start(self):
        return self.hooked.enter_context(hooked())

    def test_an_exception_that_a_forward_catches_leaves_no_path(self):
        abi = self.start()
        seen = []

        class Raises(nn.Module):
            def forward(self, x):
                raise ValueError("mine")

        class Catches(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(Raises())

            def forward(self, x):
                with contextlib.suppress(ValueError):
                    self.inner(x)
                seen.append(abi.path())
                return x

        Catches()(torch.ones(1))
        self.assertEqual(seen, ["Catches"])
        with self.assertRaisesRegex(ValueError, "mine"):
            nn.Sequential(Raises())(torch.ones(1))
        self.assertEqual(abi.path(), "")

    def test_nothing_stays_registered(self):
        self.start()
        self.assertTrue(self.tables.has_any())
        hooks.remove()
        self.assertFalse(self.tables.has_any())

    def compiled_call(self):
        """As OptimizedModule.__call__ begins."""
        if self.tables.has_any():
            warnings.warn(GLOBAL_HOOKS, stacklevel=2)

    def test_the_warning_about_global_hooks_is_not_for_ours(self):
        warnings.simplefilter("error")
        before = list(warnings.filters)
        self.start()
        self.compiled_call()
        with self.assertRaises(UserWarning):
            warnings.warn("another one")
        hooks.remove()
        self.assertEqual(warnings.filters, before)

    def test_the_warning_about_the_programs_own_hooks_stays(self):
        warnings.simplefilter("error")
        self.tables.register_before(lambda module, args: None)
        self.start()
        with self.assertRaisesRegex(UserWarning, re.escape(GLOBAL_HOOKS[:40])):
            self.compiled_call()


class Tracing(unittest.TestCase):
    """torch.compile runs hooks with is_compiling() true and writes down what they do."""

    def setUp(self):
        self.is_compiling = False
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for module in (forward, optimizers, shapes):
            stack.enter_context(unittest.mock.patch.object(module, "is_compiling",
                                                           lambda: self.is_compiling))
        self.abi = stack.enter_context(hooked())
        self.paths = []
        self.abi.on_path = self.paths.append

    def test_nothing_of_ours_is_traced(self):
        model = nn.Sequential(nn.LayerNorm(4), nn.Embedding(3, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.is_compiling = True
        result = model[0](torch.ones(2, 4, requires_grad=True))
        self.assertNotIn("inline_prof", result.grad_fn.metadata)
        result.sum().backward()
        model[1](torch.zeros(2, dtype=torch.long))
        optimizer.step()
        self.assertEqual((self.paths, self.abi.labels, self.abi.iterations), ([], [], 0))

    def test_a_compiled_module_is_one_piece_with_its_name(self):
        test = self

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.second = nn.Linear(4, 4)

            def forward(self, x):
                return self.second(self.first(x))

        class OptimizedModule(nn.Module):  # as torch.compile's
            def __init__(self, module):
                super().__init__()
                self._orig_mod = module

            def forward(self, x):
                test.is_compiling = True  # the inner calls are traced
                try:
                    return self._orig_mod(x)
                finally:
                    test.is_compiling = False

        OptimizedModule(Net())(torch.ones(1, 4)).sum().backward()
        self.assertEqual(self.paths, ["Net", "", "Net.backward", ""])

    def test_a_trace_that_begins_inside_a_call_leaves_its_path_alone(self):
        inner = nn.Linear(4, 4)
        model = nn.Sequential(inner, nn.ReLU())

        def forward_of(x):
            self.is_compiling = True
            y = inner(x)
            self.is_compiling = False
            return model[1](y)

        model.forward = forward_of
        model(torch.ones(1, 4))
        paths = [path for path, _ in itertools.groupby(self.paths)]
        self.assertEqual(paths, ["Sequential", "Sequential.1", "Sequential", ""])

    def test_the_word_for_it_is_pytorchs(self):
        word = getattr(getattr(torch, "compiler", None), "is_compiling", None)
        if word is not None:
            self.assertIs(compiling.is_compiling, word)
            self.assertFalse(word())
        else:
            self.assertIn(getattr(compiling.is_compiling, "__module__", None),
                          (None, "torch._utils"))


if __name__ == "__main__":
    unittest.main()
