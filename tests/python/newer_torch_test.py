"""Checks what torch.compile's tracing makes of hooks, on made-up calls."""

import contextlib
import itertools
import unittest
import unittest.mock

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn

from fake_abi import hooked
from inline_prof.torch import compiling, optimizers, shapes, tables


class Tracing(unittest.TestCase):
    """torch.compile runs hooks with is_compiling() true and writes down what they do."""

    def setUp(self):
        self.is_compiling = False
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for module in (optimizers, shapes, tables):
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
