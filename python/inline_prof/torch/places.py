"""Gives modules the paths that their launches get.

A module called while no other one is open is a root, named by its class.  Modules that it calls are named by the attributes
on the way: `GPT.blocks.0.attention`.  A place is one module as called by one caller, so a module with two callers has two.
Nothing is written on modules, and nothing here keeps one alive.
"""

import weakref

from .descriptions import plain_class
from .threads import Path

# Wrappers that are not layers of the model: a run with one of them has the names of a run without.
_WRAPPERS = {
    "DataParallel": ("module",),
    "DistributedDataParallel": ("module",),
    "FullyShardedDataParallel": ("_fsdp_wrapped_module", "module"),
    "OptimizedModule": ("_orig_mod",),
    "CheckpointWrapper": ("_checkpoint_wrapped_module",),
}
_WRAPPER_NAMES = frozenset(("_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"))


class Place(Path):
    """One module as called by one caller."""

    __slots__ = ("key", "backward", "children", "module", "carrier", "shape", "__weakref__")

    def __init__(self, key, text):
        super().__init__(text)
        self.key = key  # id() of the module
        self.backward = Path(text + ".backward" if text else "")
        self.children = {}  # id() of a module -> Place
        self.module = None  # a weak reference
        self.carrier = None  # backward.py's
        self.shape = None  # shapes.py's


def _inner(module):
    """Returns the module inside a wrapper, None for other modules."""
    for name in _WRAPPERS.get(type(module).__name__, ()):
        inner = module._modules.get(name)
        if inner is not None:
            return inner
    return None


def _class_name(module):
    inner = _inner(module)
    for _ in range(8):  # wrappers in wrappers
        if inner is None:
            break
        module, inner = inner, _inner(inner)
    name = plain_class(module).__name__
    # A scripted module keeps its former name.
    return module.original_name if name == "RecursiveScriptModule" else name


def _name_below(owner, module):
    """Returns `module`'s name as seen from `owner`, without wrappers; None if it is not below."""
    for name, below in owner.named_modules():
        if below is not module or not name:
            continue
        words = []
        here = owner
        for word in name.split("."):
            below = here._modules[word]
            if word not in _WRAPPER_NAMES and below is not _inner(here):
                words.append(word)
            here = below
        return ".".join(words)
    return None


class Places:
    """All places of the process."""

    def __init__(self, describe=None):
        self.roots = {}  # id() of a module -> Place
        self._by_module = {}  # id() of a module -> its Place below a root
        self._root_names = {}  # name -> a weak reference to the module that has it
        self._describe = describe or (lambda module: None)

    def _make(self, module, text, siblings):
        key = id(module)
        place = Place(key, text)
        place.shape = self._describe(module)

        def forget(_, key=key, place=weakref.ref(place), siblings=siblings):
            if siblings.get(key) is place():
                siblings.pop(key, None)
            if self._by_module.get(key) is place():
                self._by_module.pop(key, None)

        place.module = weakref.ref(module, forget)
        siblings[key] = place
        return place

    def root(self, module):
        """Returns the place of a module called while no other one is open on its thread."""
        key = id(module)
        # A part of a model that is called by itself, as by activation checkpointing, keeps its name in the model.
        known = self.roots.get(key) or self._by_module.get(key)
        if known is not None:
            return known
        wanted = _class_name(module)
        name = wanted
        number = 1
        while not self._is_free(name):
            number += 1
            name = "%s_%d" % (wanted, number)
        self._root_names[name] = weakref.ref(module)
        return self._make(module, name, self.roots)

    def _is_free(self, name):
        owner = self._root_names.get(name)
        return owner is None or owner() is None

    def child(self, stack, module):
        """Returns the place of a module called by the innermost one of `stack`."""
        caller = stack[-1]
        text = None
        for place in reversed(stack):
            owner = place.module()
            name = None if owner is None else _name_below(owner, module)
            if name is not None:
                text = ".".join(filter(None, (place.text, name)))
                break
        if text is None:
            # Not registered: named by its class, under its caller.
            text = caller.text + "." + _class_name(module)
        place = self._make(module, text, caller.children)
        self._by_module[place.key] = place
        return place
