"""The path in the backward pass.

Autograd runs the nodes of its graph in the reverse of the order in which they were made, and its numbers grow as nodes are
made.  So it is enough to write down the next number where a module is entered and left: when a backward pass begins, its graph
is gone through once, and a hook is set where nodes of another module begin, which names it.  A hook looks at nothing and
changes nothing.

Numbers are a thread's own.  What other threads than the first one call, and what is computed again in a backward pass, has its
hooks at once: on the nodes that made a module's output and its input, which is where the module's caller goes on.
"""

import bisect
import contextlib
import functools

import torch
import torch.utils._python_dispatch
from torch import Tensor

from .compiling import is_compiling
from .places import Place

MARK = "inline_prof"  # in a node's own dictionary (Node.metadata): it has a hook of ours
_CARRIERS = 1024  # tensors that are made at a time
_MOST_TENSORS = 16  # of one call's arguments or results
_MOST_SPANS = 1 << 17  # entries and exits of modules that are remembered
_NO_NUMBER = 1 << 63  # numbers from here on: sums of gradients into parameters, done whenever one is ready

_disable_current_modes = getattr(torch.utils._python_dispatch, "_disable_current_modes", contextlib.nullcontext)
number_of_next_node = getattr(torch.autograd, "_get_sequence_nr", None)
current_node = getattr(torch._C, "_current_autograd_node", None)


class Spans:
    """Which module the nodes of autograd's graph were made in, by their numbers: those of the first thread that calls modules."""

    def __init__(self):
        self.numbers, self.places = [], []
        self.thread = None
        self.outside = Place(0, "")  # what calls a root has no layer

    def begin(self, thread):
        """`thread` is the first that calls a module."""
        self.thread = thread
        thread.notes_nodes = True

    def clear(self):
        del self.numbers[:], self.places[:]

    def trim(self):
        if len(self.numbers) > _MOST_SPANS:
            del self.numbers[:_MOST_SPANS // 2], self.places[:_MOST_SPANS // 2]

    def nodes_by_place(self, nodes):
        """[(number, place, node)] of `nodes` and what leads to them, in the order in which a backward pass goes."""
        seen, left = set(nodes), list(nodes)
        while left:
            for each, _ in left.pop().next_functions:
                if each is not None and each not in seen:
                    seen.add(each)
                    left.append(each)
        found = []
        for each in seen:
            number = each._sequence_nr()
            if number < _NO_NUMBER:
                at = bisect.bisect_right(self.numbers, number) - 1
                found.append((number, self.places[at] if at >= 0 else self.outside, each))
        found.sort(key=lambda entry: -entry[0])
        return found


class Backward:
    """Sets hooks on autograd's nodes, and ends the paths that they set."""

    def __init__(self, threads, guard):
        self._threads = threads
        self._guard = guard
        self._set_here = []  # Threads with a path that a node's hook set
        self._is_open = False  # somebody waits for the end of this backward pass
        self._carriers = []
        self._passes = []  # an entry for each that is open: what is computed again may begin one
        self.spans = Spans()
        self.is_on = True
        self.mark_node = self._marker(False)
        self._has_tried_carriers = False
        # What torch.autograd.backward() and its relatives call; None: another PyTorch.
        self._original = number_of_next_node and getattr(torch.autograd, "_engine_run_backward", None)
        if self._original is None:
            self.spans.thread = threads.mine  # of nobody: all hooks are set at once
        else:
            self._ours = torch.autograd._engine_run_backward = self._around(self._original)

    # --- hooks.  Node.register_prehook makes an ordered dictionary and a handle for each node;
    # Tensor.register_hook uses a way that lets all nodes of a module share one dictionary.

    @staticmethod
    def _carriers_work():
        """Not before the program's own first pass: a pass starts CUDA and autograd's threads, and a child that is forked behind it
        can have neither."""
        seen = []
        try:
            with _disable_current_modes(), torch.enable_grad():
                carrier = torch.zeros((), device="cpu")
                carrier._backward_hooks = {0: seen.append}
                leaf = torch.ones((), device="cpu", requires_grad=True)
                result = leaf * 2.0
                result.grad_fn._register_hook_dict(carrier)
                torch.autograd.backward(result)
            return len(seen) == 1 and float(leaf.grad) == 2.0
        except Exception:  # another PyTorch: the public way it is
            return False

    def refill(self):
        """Makes carriers, where a few new tensors disturb nobody."""
        if len(self._carriers) < _CARRIERS // 4:
            self._carriers.extend(torch.zeros(_CARRIERS).unbind())
        self.spans.trim()

    def _carrier_of(self, place):
        """None where none is left, until refill()."""
        if place.carrier is None and self._carriers:
            place.carrier = self._carriers.pop()
            place.carrier._backward_hooks = {0: self._entering(place.backward)}
        return place.carrier

    def _marker(self, carriers_work):
        """mark_node(node, place): names a node, which has had no MARK before."""
        carrier_of = self._carrier_of

        def mark_node(node, place):
            carrier = place.carrier
            if carrier is None and carriers_work:
                carrier = carrier_of(place)
            if carrier is not None:
                node._register_hook_dict(carrier)
            else:
                node.register_prehook(self._entering(place.backward))

        return mark_node

    def _entering(self, path):
        threads = self._threads
        address = path.address

        def entering(_):
            try:
                thread = threads.mine
                if thread.in_backward and self._is_open:
                    thread.word[0] = address
                    thread.path = path
                elif self.is_on:
                    self._enter(thread, path)
            except Exception as error:
                self._guard(error)

        return entering

    def stop(self):
        """No names are wanted any more."""
        self.is_on = False
        self.spans.clear()

    def remove(self):
        self.stop()
        self.end()
        if self._original is not None and torch.autograd._engine_run_backward is self._ours:
            torch.autograd._engine_run_backward = self._original

    def mark(self, value, place):
        """Names the nodes that made the tensors in `value`."""
        if type(value) is Tensor:
            try:
                node = value.grad_fn
            except RuntimeError:
                return  # a view that autograd refuses, as it will tell whoever uses it
            if node is not None:
                words = node.metadata
                if MARK not in words:
                    words[MARK] = True
                    self.mark_node(node, place)
        elif isinstance(value, (tuple, list)):
            for each in value[:_MOST_TENSORS]:
                if type(each) is Tensor:
                    self.mark(each, place)
        elif isinstance(value, dict):
            for each in list(value.values())[:_MOST_TENSORS]:
                if type(each) is Tensor:
                    self.mark(each, place)

    # --- a pass

    def _enter(self, thread, path):
        """The first of our hooks on this thread in a pass."""
        if not self._is_open:
            # A callback is freed by autograd's thread, later than the pass returns: where the program ends meanwhile, PyTorch
            # ends it with "terminate called". So it is only for passes that were begun in another way than through ours.
            if not self._passes:
                torch.autograd.Variable._execution_engine.queue_callback(self._end_guarded)
            self._is_open = True
        if not thread.in_backward:
            thread.in_backward = True
            self._set_here.append(thread)
        thread.set(path)

    def _around(self, original):
        @functools.wraps(original)
        def run_backward(outputs, *args, **kwargs):
            if is_compiling is not None and is_compiling():
                return original(outputs, *args, **kwargs)
            noting = self._begin(outputs)
            try:
                return original(outputs, *args, **kwargs)
            finally:
                self._passes.pop()
                if self._is_open and not self._passes:
                    self._end_guarded()
                if noting is not None:
                    noting.notes_nodes = True

        return run_backward

    def _begin(self, outputs):
        """A backward pass begins at `outputs`, tensors or GradientEdges: gives this thread if it has noted nodes until now, which
        it does not during the pass."""
        is_outermost = not self._passes
        self._passes.append(None)
        try:
            thread = self._threads.mine
            is_noting, thread.notes_nodes = thread.notes_nodes, False
            if is_outermost and self.is_on and self.spans.numbers:
                self._mark_graph(outputs)
            return thread if is_noting else None
        except Exception as error:
            self._guard(error)
            return None

    def _mark_graph(self, outputs):
        if not self._has_tried_carriers:
            self._has_tried_carriers = True
            self.mark_node = self._marker(self._carriers_work())
        nodes = []
        for each in outputs:
            try:
                node = each.grad_fn if isinstance(each, Tensor) else each.node
            except RuntimeError:
                continue  # as in mark
            if node is not None:
                nodes.append(node)
        before = self.spans.outside
        for _, place, node in self.spans.nodes_by_place(nodes):
            if place is not before:
                words = node.metadata
                if MARK not in words:
                    words[MARK] = True
                    self.mark_node(node, place)
            before = place

    def _end_guarded(self):
        try:
            self.end()
        except Exception as error:
            self._guard(error)

    def end(self):
        """The pass is over, or was given up: no thread is in it any more."""
        self._is_open = False
        mine = self._threads.mine
        ended, self._set_here = self._set_here, []
        for thread in ended:
            thread.in_backward = False
            if thread is mine and thread.stack:
                thread.set(thread.stack[-1])  # a backward pass inside a module's forward
            else:
                thread.end()
