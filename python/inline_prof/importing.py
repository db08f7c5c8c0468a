"""Hooks PyTorch when the program has imported it, and never imports it itself."""

import sys

from . import abi


class _Loader:
    """Wraps a module's own loader, and calls a function after it."""

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
            self._finder.work()
        except Exception as error:
            _say(error)


class _Finder:
    """First in sys.meta_path until the module `name` has been imported; then `work` is called."""

    def __init__(self, name, work):
        self.name, self.work = name, work
        self._is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self._is_asking:
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


def call_after_import(name, work):
    """Calls `work` once the program has imported the module `name`.  Returns a function that takes this back."""
    if name in sys.modules:
        work()
        return lambda: None
    finder = _Finder(name, work)
    sys.meta_path.insert(0, finder)
    return finder.leave


def _set_hooks():
    import inline_prof.torch  # noqa: F401, sets the hooks


def hook_torch_when_imported():
    """Sets the hooks once PyTorch is imported.  Does nothing without the preloaded library."""
    try:
        found = abi.find()
    except abi.AbiError as error:
        return _say(error)
    if found is None:
        return None
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        call_after_import("torch", _set_hooks)
    return None
