"""A library that only writes down what it is told, for tests of the hooks."""

import contextlib

import inline_prof.abi
from inline_prof.abi import WANTS_ITERATIONS, WANTS_LABELS, WANTS_LAYERS

EVERYTHING = WANTS_LAYERS | WANTS_LABELS | WANTS_ITERATIONS


class FakeAbi:
    """What inline_prof.abi.Abi has."""

    def __init__(self):
        self.wanted = EVERYTHING
        self.iterations = 0
        self.labels = []
        self.ops = []
        self.paths = {}  # id -> path
        self.on_path = lambda path: None

    def wants(self):
        return self.wanted

    def iteration(self):
        self.iterations += 1

    def record(self, site, label, stream, device, in_graph, extra):
        self.labels.append(label.decode())

    def op(self, label, kind, attributes):
        self.ops.append((label.decode(), kind, attributes))

    def layer_set(self, key, path):
        self.paths[key.value] = path
        self.on_path(self.path())

    def layer_end(self, key):
        self.paths.pop(key.value, None)
        self.on_path(self.path())

    def path(self):
        """The path of a process with one thread at work."""
        open_paths = [path.decode() for path in self.paths.values() if path]
        return open_paths[0] if open_paths else ""


@contextlib.contextmanager
def hooked():
    """The hooks of inline_prof.torch on a FakeAbi, which is given."""
    import inline_prof.torch as hooks

    fake = FakeAbi()
    real_find, inline_prof.abi.find = inline_prof.abi.find, lambda: fake
    try:
        assert hooks.install()
        yield fake
    finally:
        hooks.remove()
        inline_prof.abi.find = real_find
