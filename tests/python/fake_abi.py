"""A library that only notes what it is told, for tests of the hooks."""

import contextlib
import ctypes
import unittest

import inline_prof.abi
from inline_prof.abi import WANTS_ITERATIONS, WANTS_LABELS, WANTS_LAYERS

EVERYTHING = WANTS_LAYERS | WANTS_LABELS | WANTS_ITERATIONS


class LibraryCall:
    """Abi.layer_word(), which tells the FakeAbi of each write."""

    def __init__(self, abi):
        self._abi = abi
        self.address = 0

    def __setitem__(self, index, address):
        assert index == 0
        self.address = address
        self._abi.on_write(self)


class FakeAbi:
    """The members of inline_prof.abi.Abi."""

    def __init__(self):
        self.wanted = EVERYTHING
        self.iterations = 0
        self.work_of_wake = None
        self.labels = []
        self.ops = []
        self.facts = {}
        self.calls = []
        self.layers_of_calls = []  # where no module is
        self.open_calls = 0
        self.launches_of_a_call = 1
        self._words = {}  # id of a layer -> the Word that is followed
        self.on_path = lambda path: None

    def wants(self):
        return self.wanted

    def wake(self, work):
        self.work_of_wake = work

    def iteration(self):
        self.iterations += 1

    def record(self, site, label, stream, device, in_graph, extra):
        self.labels.append(label.decode())

    def record_fact(self, name, value):
        self.facts[name] = value
        return True

    def op(self, label, kind, attributes):
        self.ops.append((label.decode(), kind, attributes))

    def call_open(self):
        self.open_calls += 1

    def call_launches(self):
        if self.launches_of_a_call == 0:
            self.open_calls -= 1
        return self.launches_of_a_call

    def call_close(self, name, layer, works):
        self.open_calls -= 1
        self.calls.append((name.decode(), works))
        self.layers_of_calls.append(layer)

    def forget_calls(self):
        del self.calls[:], self.layers_of_calls[:]

    def layer_word(self):
        return LibraryCall(self)

    def layer_follow(self, key, word):
        self._words[key] = word
        self.on_path(self.path())

    def layer_end(self, key):
        if self._words.pop(key, None) is not None:
            self.on_path(self.path())

    def on_write(self, word):
        if word in list(self._words.values()):
            self.on_path(self.path())

    def open_paths(self):
        """Returns the paths of all threads that have one."""
        return [ctypes.string_at(word.address).decode() for word in list(self._words.values())
                if word.address]

    def path(self):
        """Returns the path of a process with one busy thread."""
        return next(iter(self.open_paths()), "")


@contextlib.contextmanager
def hooked():
    """Sets the hooks of inline_prof.torch on a FakeAbi, and yields it."""
    import inline_prof.torch as hooks

    fake = FakeAbi()
    real_find, inline_prof.abi.find = inline_prof.abi.find, lambda: fake
    try:
        assert hooks.install()
        yield fake
    finally:
        hooks.remove()
        inline_prof.abi.find = real_find


class HookedTest(unittest.TestCase):
    """A test with the hooks on a FakeAbi, self.abi."""

    def setUp(self):
        context = hooked()
        self.abi = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
