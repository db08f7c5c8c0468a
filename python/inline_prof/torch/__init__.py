"""Module names for the launches of a PyTorch program.

`import inline_prof.torch` is all there is to do; `prof-run` with INLINE_PROF_TORCH=1 does it for a
program that does not.  Nothing happens where libinline_prof.so is not preloaded.

    install()    sets the hooks; the import has called it
    remove()     takes them away, before the library has all it wants
    is_active()  whether they are set
"""

import os
import sys

from .. import abi as _abi

# A notebook may reload this module, whose hooks stay set.
_is_reloaded = "_active" in globals()
if not _is_reloaded:
    _active = None  # the session.Session
    _said = {}  # samples and tokens of an iteration, as the library knows them
    _forked = False


def install():
    """Sets the hooks, once.  Returns whether they are set."""
    global _active
    if _active is not None:
        return True
    if _forked:
        return False
    try:
        abi = _abi.find()
    except _abi.AbiError as error:
        _say(error)
        return False
    if abi is None or abi.wants() == 0:
        return False
    try:
        from . import session  # needs PyTorch

        _active = session.Session(abi, on_end=_forget, say=_say)
    except Exception as error:  # no PyTorch, or one that the hooks do not know
        _say("no module names: %s: %s" % (type(error).__name__, error))
        return False
    return True


def remove():
    """Takes the hooks away."""
    if _active is not None:
        _active.end()


def is_active():
    """Returns whether the hooks are set."""
    return _active is not None


def iteration(samples=None, tokens=None):
    """Begins an iteration.  From the first call on, optimizers' steps no longer do.

    `samples` and `tokens` are what one iteration works through on this rank: reports show them by the second."""
    try:
        abi = _abi.find() if _active is None or samples or tokens else None
    except _abi.AbiError:
        abi = None
    for name, count in (("samples", samples), ("tokens", tokens)):
        if abi is not None and count and _said.get(name) != count and abi.record_fact(name, count):
            _said[name] = count
    if _active is not None:
        _active.iteration()
    elif abi is not None:
        abi.iteration()


def _forget():
    global _active
    _active = None


def _say(words):
    try:
        sys.stderr.write("inline_prof: %s\n" % (words,))
    except Exception:  # stderr is closed
        pass


def _stop_in_child():
    """Ends the hooks in a forked child, such as a worker of a DataLoader: it is not measured."""
    global _forked
    _forked = True
    remove()


if not _is_reloaded:
    os.register_at_fork(after_in_child=_stop_in_child)

install()
