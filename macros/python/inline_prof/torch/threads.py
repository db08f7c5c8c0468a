"""What is at work on a thread."""

import itertools
import threading

from ..abi import layer_key

_ids = itertools.count(1)


class Thread:
    """One thread's open modules and the path that the library was told last."""

    __slots__ = ("id", "stack", "path", "base", "in_backward", "steps")

    def __init__(self):
        self.id = layer_key(next(_ids))
        self.stack = []  # open Places, outermost first
        self.path = None
        self.base = None  # the path around the outermost open module
        self.in_backward = False
        self.steps = []  # open steps: (id() of the optimizer, path before)


class Threads(threading.local):
    """`.mine` is the calling thread's."""

    def __init__(self):
        super().__init__()
        self.mine = Thread()
