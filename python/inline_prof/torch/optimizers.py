"""Sets the path of optimizers' steps, and finds the ends of iterations.

An iteration ends with the step after which every optimizer in use has made a step since the last end.  With one optimizer
that is each of its steps, however many backward passes it accumulates.  With a generator's and a discriminator's it is when
both have stepped, also if one makes five steps to the other's one.  The program's first round says which of them is the last.
"""

import sys
import weakref

import torch

from .captures import Captures
from .compiling import is_compiling
from .tables import STEP
from .threads import Path

# An optimizer that made no step during this many steps of others is no longer in use: 64, or 4 rounds of more than 16 optimizers.
_FORGOTTEN_AFTER = 64
_FORGOTTEN_AFTER_ROUNDS = 4


class Iterations:
    """Finds ends of iterations from optimizers' steps."""

    def __init__(self):
        self._last_step = {}  # id() of an optimizer -> number of its last step
        self._alive = {}  # id() -> weak reference
        self._steps = 0
        self._end = 0  # number of the step that ended the last iteration
        self._most = 1  # optimizers that were in use at once

    def step(self, optimizer):
        """Called after a step.  Returns whether it ends the iteration."""
        self._steps += 1
        key = id(optimizer)
        if key not in self._alive:
            self._alive[key] = weakref.ref(optimizer, lambda _, key=key: self._forget(key))
        self._last_step[key] = self._steps
        in_use = len(self._last_step)
        if in_use > self._most:
            # One more than before: the round ends here, or with a further one.
            self._most = in_use
            self._end = self._steps
            return False
        forgotten_after = max(_FORGOTTEN_AFTER, _FORGOTTEN_AFTER_ROUNDS * in_use)
        for other, last in list(self._last_step.items()):
            if last <= self._end and self._steps - last <= forgotten_after:
                return False
            if self._steps - last > forgotten_after:
                self._forget(other)
        self._end = self._steps
        return True

    def _forget(self, key):
        self._alive.pop(key, None)
        self._last_step.pop(key, None)


class _Step:
    """An open step.  It has its path and label except while the program's closure runs, which is forward and backward pass."""

    __slots__ = ("key", "optimizer", "path", "path_before", "shapes", "has_label")

    def __init__(self, optimizer, path, path_before, shapes):
        self.key = id(optimizer)
        self.optimizer = weakref.ref(optimizer)  # an exception may leave this object behind
        self.path, self.path_before = path, path_before
        self.shapes = shapes  # None inside another optimizer's step
        self.has_label = False

    def begin(self, thread):
        thread.set(self.path)
        if self.shapes is not None:
            self.shapes.enter_step(self.optimizer())
            self.has_label = True

    def end(self, thread):
        if self.has_label:
            self.shapes.leave_step(self.optimizer())
            self.has_label = False
        thread.set(self.path_before)


def _first_left_behind(steps, frame):
    """Returns the index of the first step that an exception has ended: its call is no longer open.  `frame` is inside the call of
    one more."""
    at_work = set()
    while frame is not None:
        if frame.f_code is STEP:
            at_work.add(id(frame.f_locals.get("self")))
        frame = frame.f_back
    return next((i for i, step in enumerate(steps) if step.key not in at_work), len(steps))


class _Closure:
    """Wraps the program's closure, and looks like it to the optimizer."""

    def __init__(self, closure, threads, step, guard):
        self.__wrapped__ = closure
        self._inline_prof = threads, step, guard

    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)

    def __call__(self, *args, **kwargs):
        threads, step, guard = self._inline_prof
        try:
            thread = threads.mine
            step.end(thread)
        except Exception as error:
            guard(error)
        result = self.__wrapped__(*args, **kwargs)
        try:
            if step in thread.steps:
                step.begin(thread)
        except Exception as error:
            guard(error)
        return result


class Optimizers:
    """Hooks on every optimizer's step."""

    def __init__(self, threads, tables, shapes, guard, on_step, learning):
        self._threads = threads
        self._tables = tables
        self._shapes = shapes
        self._guard = guard
        self._on_step = on_step
        self._iterations = Iterations()
        self._captures = Captures(guard, self._replayed, learning)
        self._paths = {}  # class name -> path

    def install(self):
        self._captures.install()
        self._tables.set_step_hooks(self._before, self._after)

    def sleep(self):
        """Leaves steps and replays alone until wake()."""
        self._tables.drop_step_hooks()
        self._captures.ignore_replays()

    def wake(self):
        """May be called anywhere, also inside a step."""
        self._tables.set_step_hooks(self._before, self._after)
        self._captures.follow_replays()

    def remove(self):
        self._captures.remove()

    def _before(self, optimizer, args, kwargs):
        if is_compiling is not None and is_compiling():
            return None
        try:
            thread = self._threads.mine
            steps = thread.steps
            path_before = thread.path
            while any(each.key == id(optimizer) for each in steps):
                path_before = steps.pop().path_before  # left by an exception
            if steps:
                left = _first_left_behind(steps, sys._getframe(1))
                if left < len(steps):
                    path_before = steps[left].path_before
                    del steps[left:]
            name = type(optimizer).__name__
            path = self._paths.get(name)
            if path is None:
                path = self._paths[name] = Path("optimizer." + name)
            step = _Step(optimizer, path, path_before, None if steps else self._shapes)
            steps.append(step)
            # step(closure), by position behind the optimizer itself or by name
            closure = args[1] if len(args) > 1 else kwargs.get("closure")
            if not callable(closure):
                step.begin(thread)
                return None
            thread.set(path)  # the label begins after the closure
            closure = _Closure(closure, self._threads, step, self._guard)
            if len(args) > 1:
                return (args[0], closure, *args[2:]), kwargs
            return args, {**kwargs, "closure": closure}
        except Exception as error:
            self._guard(error)
            return None

    def _after(self, optimizer, args, kwargs):
        if is_compiling is not None and is_compiling():
            return
        try:
            thread = self._threads.mine
            steps = thread.steps
            if any(each.key == id(optimizer) for each in steps):
                # An exception has left the steps above it.
                while steps[-1].key != id(optimizer):
                    steps.pop()
                steps.pop().end(thread)
            if steps:
                return  # a part of another optimizer's step
            if not self._captures.takes_step(optimizer):
                self._on_step(self._iterations.step(optimizer))
        except Exception as error:
            self._guard(error)

    def _replayed(self, optimizers):
        ends = [self._iterations.step(optimizer) for optimizer in optimizers]
        self._on_step(any(ends))
