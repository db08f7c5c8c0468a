"""python3 -m inline_prof: reports what is found, and whether PyTorch's modules would be named.

Exit status 0 if they would, else 1."""

import os
import sys

from . import __version__, abi
from .reports import find_analyzer

_PRELOAD = "start the program by prof-run, or with LD_PRELOAD=/path/libinline_prof.so"


def _checks():
    """(state, name, words)"""
    yield "OK", "python", "%d.%d.%d, package %s" % (sys.version_info[:3] + (__version__,))
    library = None
    try:
        library = abi.find()
    except abi.AbiError as error:
        yield "FAIL", "library", str(error)
    else:
        if library is None:
            yield "FAIL", "library", "not in this process: " + _PRELOAD
        elif library.wants() == 0:
            yield "FAIL", "library", "%s: profiling is off" % abi.library_path()
        else:
            yield "OK", "library", str(abi.library_path())
    analyzer = find_analyzer()
    yield ("OK", "prof-analyze", analyzer) if analyzer else \
        ("WARN", "prof-analyze", "neither beside the library nor on PATH: no reports from Python")
    asked = os.environ.get("INLINE_PROF_TORCH")
    yield ("OK", "INLINE_PROF_TORCH", "1") if asked == "1" else \
        ("WARN", "INLINE_PROF_TORCH", "not 1: modules have names only after `import inline_prof.torch`")
    try:
        import torch
    except ImportError as error:
        yield "FAIL", "torch", "cannot be imported: %s" % error
        return
    yield "OK", "torch", torch.__version__
    if library is None:
        return
    from . import torch as hooks

    if hooks.install():
        hooks.remove()
        yield "OK", "hooks", "can be set"
    else:
        yield "FAIL", "hooks", "cannot be set"


def main():
    failed = False
    for state, name, words in _checks():
        failed = failed or state == "FAIL"
        print("%-4s  %-18s %s" % (state, name, words))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
