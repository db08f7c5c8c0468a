"""Sets and removes the hooks of a process."""

import sys
import threading

import torch

from .. import abi as words
from ..importing import call_after_import
from .backward import Backward
from .descriptions import of_module
from .forward import make_hooks, modules_at_work
from .inductor import Inductor
from .learning import Learning
from .optimizers import Optimizers
from .places import Places
from .shapes import Shapes
from .tables import Tables
from .threads import Rest, Threads

# After this many calls of roots the library is asked what it still wants, if no optimizer makes steps.
_ROOT_CALLS = 64


class Session:
    """Sets every hook when created, and removes them when the library wants nothing more."""

    def __init__(self, abi, on_end, say):
        self._abi = abi
        self._on_end = on_end
        self._say = say
        self._is_over = False
        self._marks_by_hand = False
        self._root_calls = 0
        self._has_steps = False  # steps tell iterations apart
        self._named = ""  # what iterations are found by
        self._is_noted = False  # that modules are named
        threads = Threads(abi)
        self._rest = Rest()
        self._shapes = Shapes(abi, self._fail, self._rest)
        self._backward = Backward(threads, self._fail)
        self._backward.refill()
        self._places = Places(of_module)
        enter, leave = make_hooks(threads, self._places, self._backward, self._shapes, self._fail,
                                  self._on_root)
        self._tables = Tables()
        self._learning = Learning(abi, threads, self._fail, self._end_rest)
        self._inductor = Inductor(abi, threads, self._fail, self._rest)
        self._stop_waiting = call_after_import("torch._inductor.compile_fx", self._inductor.look)
        self._optimizers = Optimizers(threads, self._tables, self._shapes, self._fail, self._on_step, self._learning)
        self._names_modules = True
        self._name_hooks = (enter, leave)
        try:
            self._optimizers.install()
            self._tables.set_module_hooks(enter, leave)
        except Exception:
            self._take_away()
            raise

    def iteration(self):
        """Begins an iteration for the application, which marks them by hand."""
        self._marks_by_hand = True
        self._note_step()
        self._abi.iteration()
        self._look()

    def end(self):
        """Removes every hook."""
        if self._is_over:
            return
        self._is_over = True
        self._abi.wake(None)
        self._take_away()
        self._on_end()

    def _take_away(self):
        self._tables.drop_all()
        self._optimizers.remove()
        self._shapes.remove()
        self._backward.remove()
        self._learning.end()
        self._stop_waiting()
        self._inductor.remove()

    def _fail(self, error):
        """Ends the hooks after a fault of ours: the application loses its names, not its run."""
        if not self._is_over:
            self._say("module names end here: %s: %s" % (type(error).__name__, error))
            self.end()

    def _on_step(self, iteration_ends):
        self._note_step()
        self._backward.end()
        if iteration_ends and not self._marks_by_hand:
            self._abi.iteration()
        self._look()

    def _note_step(self):
        if not self._has_steps and threading.current_thread() is threading.main_thread():
            # Only the main thread can be woken.
            self._abi.wake(self._wake)
        self._has_steps = True

    def _wake(self):
        if self._is_over:
            return
        try:
            self._optimizers.wake()  # the next step looks what is wanted
        except Exception as error:
            self._fail(error)

    def _on_root(self):
        self._root_calls += 1
        if not self._is_noted:
            # Not before the first launch: the library takes no facts until then.
            self._is_noted = self._abi.record_fact("torch", torch.__version__)
        if self._root_calls == 1:
            # Not earlier: by now the program has imported and scripted its functions.
            self._shapes.patch_functions()
        if self._root_calls % _ROOT_CALLS == 0:
            self._look()
        elif not self._has_steps:
            self._learning.follow(self._abi.wants() & words.WANTS_OPERATORS)

    def _end_rest(self):
        if self._rest.is_on:
            self._rest.is_on = False
            self._tables.set_module_hooks(*self._name_hooks)
            for module in reversed(modules_at_work(sys._getframe())):
                self._name_hooks[0](module, ())

    def _look(self):
        wants = self._abi.wants()
        if wants == 0:
            return self.end()
        self._rest.is_on = bool(wants & words.WANTS_LAYERS_LATER)
        if self._rest.is_on:
            self._tables.silence_module_hooks()
            self._backward.spans.clear()
            return self._learning.follow(False)
        wants_layers = bool(wants & words.WANTS_LAYERS)
        # A program without steps asks again through the hooks of its labels.
        wants_labels = bool(wants & words.WANTS_LABELS) or not self._has_steps
        self._learning.follow(wants & words.WANTS_OPERATORS and wants_layers)
        if not self._names_modules and wants_layers:
            # The program launches something else now: the library looks for new events.
            self._inductor.resume()
            self._names_modules = True
            self._shapes.resume()
            self._backward.resume()
        elif not wants_layers:
            self._inductor.pause()
        if self._names_modules and not wants_layers:
            # Events have their layers.  Marks are left, and labels if there are any.
            self._names_modules = False
            self._shapes.describes = False
            self._backward.stop()
            if self._shapes.are_met() and wants_labels:
                self._tables.set_module_hooks(*self._shapes.label_hooks(self._look))
            else:
                self._tables.drop_module_hooks()
            if not wants_labels:
                # The library tells labels by their launches.
                self._shapes.remove()
        if self._names_modules:
            self._tables.set_module_hooks(*self._name_hooks)
            self._inductor.look()
            self._backward.refill()
        may_sleep = bool(wants & words.WANTS_TO_WAKE)
        if self._has_steps and not self._marks_by_hand:
            stays = "" if wants_layers or may_sleep else ", whose hook stays: no launch tells it"
            self._name_iterations("optimizer step" + stays)
        if may_sleep:
            self._optimizers.sleep()
        return None

    def _name_iterations(self, found_by):
        # The library counts calls, whoever makes them.
        if self._named != found_by and self._abi.record_fact("iterations", found_by):
            self._named = found_by
