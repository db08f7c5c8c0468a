"""Sets the path in the backward pass.

Autograd numbers the nodes of its graph as they are made, and runs them in reverse.  So the hooks on modules only note the next
number when a module is entered and left.  When a backward pass begins, its graph is walked once, and a hook that names the
module is set where its nodes begin.  A hook reads and changes nothing.

Each thread has numbers of its own.  Modules called by other threads than the first, and those computed again in a backward
pass, get their hooks at once, on the nodes that made the module's output and input: there the module's caller goes on.
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
    """Maps the numbers of autograd's nodes to the modules that made them, for the first thread that calls modules."""

    def __init__(self):
        self.numbers, self.places = [], []
        self.thread = None
        self.outside = Place(0, "")  # the caller of a root has no layer

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
        """Returns [(number, place, node)] of `nodes` and their predecessors, in the order of a backward pass."""
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
        self._is_open = False  # a hook has run in this backward pass
        self._carriers = []
        self._passes = []  # an entry per open pass: a recomputation may begin another
        self.spans = Spans()
        self.is_on = True
        self.mark_node = self._marker(False)
        self._has_tried_carriers = False
        # The function behind torch.autograd.backward() and its relatives; None in another PyTorch.
        self._original = number_of_next_node and getattr(torch.autograd, "_engine_run_backward", None)
        if self._original is None:
            self.spans.thread = threads.mine  # notes no nodes: all hooks are set at once
        else:
            self._ours = self._around(self._original)
        self.resume()

    # --- hooks.  Node.register_prehook makes an ordered dictionary and a handle for each node;
    # Tensor.register_hook uses a way that lets all nodes of a module share one dictionary.

    @staticmethod
    def _carriers_work():
        """Tries carriers out in a backward pass.  Not before the program's own first pass: a pass starts CUDA and autograd's
        threads, and a child forked later can have neither."""
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
        except Exception:  # another PyTorch: use the public way
            return False

    def refill(self):
        """Makes carriers, between iterations, when a few new tensors do no harm."""
        if len(self._carriers) < _CARRIERS // 4:
            self._carriers.extend(torch.zeros(_CARRIERS).unbind())
        self.spans.trim()

    def _carrier_of(self, place):
        """Returns the carrier of a place; None if there is none until refill()."""
        if place.carrier is None and self._carriers:
            place.carrier = self._carriers.pop()
            place.carrier._backward_hooks = {0: self._entering(place.backward)}
        return place.carrier

    def _marker(self, carriers_work):
        """Returns mark_node(node, place), which names a node without MARK."""
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

    def resume(self):
        """Names nodes from now on."""
        self.is_on = True
        if self._original is not None and torch.autograd._engine_run_backward is self._original:
            torch.autograd._engine_run_backward = self._ours

    def stop(self):
        """Stops naming nodes."""
        self.is_on = False
        self.spans.clear()
        if self._original is not None and torch.autograd._engine_run_backward is self._ours:
            torch.autograd._engine_run_backward = self._original

    def remove(self):
        self.stop()
        self.end()

    def mark(self, value, place):
        """Names the nodes that made the tensors in `value`."""
        if type(value) is Tensor:
            try:
                node = value.grad_fn
            except RuntimeError:
                return  # a view that autograd refuses, with a message for whoever uses it
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
        """Called by the first of our hooks on this thread in a pass."""
        if not self._is_open:
            # Autograd's thread frees a callback after the pass has returned. If the program ends meanwhile, PyTorch ends it with
            # "terminate called". So callbacks are only for passes that did not begin through our function.
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
        """Begins a backward pass from `outputs`, tensors or GradientEdges.  Returns this thread if it noted nodes until now,
        which it does not during the pass."""
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
        """Ends the pass, complete or not: no thread is in it any more."""
        self._is_open = False
        mine = self._threads.mine
        ended, self._set_here = self._set_here, []
        for thread in ended:
            thread.in_backward = False
            if thread is mine and thread.stack:
                thread.set(thread.stack[-1])  # a backward pass inside a module's forward
            else:
                thread.end()
