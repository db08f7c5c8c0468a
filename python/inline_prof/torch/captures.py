"""Finds optimizers' steps inside CUDA graphs: they are called during the capture, and each replay makes them again."""

import functools
import threading
import weakref

import torch


class Captures:
    """Knows which graphs hold a step, by replacing three methods of torch.cuda.CUDAGraph."""

    def __init__(self, guard, on_replayed_steps, learning):
        self._guard = guard
        self._learning = learning
        self._on_replayed_steps = on_replayed_steps
        self._open = {}  # id of a thread that captures -> weak references to optimizers
        self._steps = weakref.WeakKeyDictionary()  # graph -> the same
        self._replaced = {}  # name -> (original, ours)

    def install(self):
        self._replace("capture_begin", self._around_begin)
        self._replace("capture_end", self._around_end)
        self.follow_replays()

    def follow_replays(self):
        self._replace("replay", self._around_replay)

    def ignore_replays(self):
        self._restore("replay")

    def remove(self):
        for name in list(self._replaced):
            self._restore(name)

    def _replace(self, name, around):
        original = vars(torch.cuda.CUDAGraph).get(name)
        if original is None or name in self._replaced:  # a PyTorch without CUDA
            return
        ours = functools.wraps(original)(around(original))
        setattr(torch.cuda.CUDAGraph, name, ours)
        self._replaced[name] = original, ours

    def _restore(self, name):
        original, ours = self._replaced.pop(name, (None, None))
        if ours is not None and vars(torch.cuda.CUDAGraph).get(name) is ours:
            setattr(torch.cuda.CUDAGraph, name, original)

    def takes_step(self, optimizer):
        """Returns whether this step is being captured: only replays make it."""
        steps = self._open.get(threading.get_ident())
        if steps is None:
            return False
        steps.append(weakref.ref(optimizer))
        return True

    def _guarded(self, work):
        try:
            work()
        except Exception as error:
            self._guard(error)

    def _around_begin(self, original):
        def capture_begin(graph, *args, **kwargs):
            result = original(graph, *args, **kwargs)
            self._open[threading.get_ident()] = []
            self._guarded(self._learning.capture_begins)
            return result

        return capture_begin

    def _around_end(self, original):
        def capture_end(graph):
            self._guarded(self._learning.capture_ends)
            steps = self._open.pop(threading.get_ident(), None)
            self._steps.pop(graph, None)
            if steps:
                self._steps[graph] = steps
            return original(graph)

        return capture_end

    def _around_replay(self, original):
        def replay(graph):
            result = original(graph)
            # The program may have kept this method while replays are ignored.
            steps = self._steps.get(graph) if "replay" in self._replaced else None
            if steps:
                try:
                    # The graph stands in for an optimizer that is gone.
                    self._on_replayed_steps([step() or graph for step in steps])
                except Exception as error:
                    self._guard(error)
            return result

        return replay
