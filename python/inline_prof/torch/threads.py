"""Keeps the open modules of each thread, and the layer that the library sees there."""

import itertools
import threading

from ..abi import address_of

_ids = itertools.count(1)


class Path:
    """The name of a layer, in memory that the library reads; empty for no layer."""

    __slots__ = ("text", "address", "_characters")

    def __init__(self, text):
        self.text = text
        self._characters = text.encode("utf-8", "replace")
        self.address = address_of(self._characters) if text else 0


class Thread:
    """One thread's open modules and its path.

    The library reads the path's address from `word`; `path` keeps the Path alive.  Code that changes the path of a thread
    that has one writes both."""

    __slots__ = ("word", "path", "stack", "base", "in_backward", "notes_nodes", "steps", "_abi", "_id", "_last")

    def __init__(self, abi):
        self._abi = abi
        self._id = next(_ids)
        self._last = None  # `word` still points to it after end()
        self.word = abi.layer_word()
        self.path = None  # a Path; None: the library does not follow
        self.stack = []  # open Places, outermost first
        self.base = None  # the path around the outermost open module
        self.in_backward = False
        self.notes_nodes = False  # entries and exits of modules go to Spans
        self.steps = []  # open steps of optimizers, outermost first

    def __del__(self):
        try:
            self._abi.layer_end(self._id)
        except Exception:  # the interpreter is ending
            pass

    def set(self, path):
        """Sets this thread's path, a Path; None for no layer."""
        if path is None:
            self.end()
        else:
            self.word[0] = path.address
            if self.path is None:
                self._abi.layer_follow(self._id, self.word)
            self.path = path

    def end(self):
        """Leaves the thread without a layer.  May be called by any thread."""
        self._abi.layer_end(self._id)
        # Not freed yet: the thread may be reading it.
        self._last, self.path = self.path, None


class Rest:
    """Whether hooks stay in their places and do nothing: the library knows the names for now."""

    __slots__ = ("is_on",)

    def __init__(self):
        self.is_on = False


class Threads(threading.local):
    """`.mine` is the calling thread's."""

    def __init__(self, abi):
        super().__init__()
        self.mine = Thread(abi)
