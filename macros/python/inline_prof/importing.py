"""Hooks PyTorch at the moment when the program has imported it.

Importing PyTorch is the program's affair: whether, when, and which one.
"""

import sys

from . import abi


class _Loader:
    """A module's own loader, with one thing to do after it."""

    def __init__(self, loader, finder):
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # From here on the module knows its own loader only.
        if getattr(module, "__spec__", None) is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finder.leave()
        try:
            import inline_prof.torch  # sets the hooks
        except Exception as error:
            _say(error)


class _Finder:
    """First in sys.meta_path until PyTorch has been imported."""

    def __init__(self):
        self._is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self._is_asking:
            return None
        self._is_asking = True
        try:
            for finder in sys.meta_path:
                find_spec = getattr(finder, "find_spec", None)
                spec = None if find_spec is None else find_spec(name, path, target)
                if spec is not None:
                    break
            else:
                return None
        finally:
            self._is_asking = False
        if hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "create_module"):
            spec.loader = _Loader(spec.loader, self)
        return spec

    def leave(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def _say(error):
    try:
        sys.stderr.write("inline_prof: no module names: %s: %s\n" % (type(error).__name__, error))
    except Exception:  # stderr is closed
        pass


def hook_torch_when_imported():
    """Does nothing where the library is not preloaded."""
    try:
        found = abi.find()
    except abi.AbiError as error:
        return _say(error)
    if found is None:
        return None
    if "torch" in sys.modules:
        import inline_prof.torch  # noqa: F401, sets the hooks
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    return None
