"""inline_prof: where does an iteration's GPU time go, layer by layer.

    import inline_prof.torch              names the launches of a PyTorch program
    inline_prof.read("prof.json")         a profile as plain dicts
    inline_prof.frame("prof.json")        its events as a pandas.DataFrame
    inline_prof.history("prof.json")      the bins of a watched run as a pandas.DataFrame
    inline_prof.report("prof.json")       the report of prof-analyze
    inline_prof.hugectr                   the functions of HugeCTR's profiling notebook

`python3 -m inline_prof` says what it finds.
"""

__version__ = "0.1.0"
__all__ = ["ProfileError", "ReportError", "frame", "history", "read", "report"]

_PLACES = {"ProfileError": "profiles", "frame": "profiles", "history": "profiles", "read": "profiles",
           "ReportError": "reports", "report": "reports"}


def __getattr__(name):
    # Loaded when they are asked for: a training program pays for what it uses.
    if name not in _PLACES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    import importlib

    return getattr(importlib.import_module("." + _PLACES[name], __name__), name)
