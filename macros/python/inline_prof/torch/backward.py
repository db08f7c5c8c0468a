"""The path in the backward pass.

Autograd runs the nodes of its graph in the reverse of the order in which they were made, so the
nodes of a module's call stand together.  Where such a group begins, a hook names its module: the
node that made a module's output, and the node that made a module's input, which is where the
module's caller goes on.  A hook looks at nothing and changes nothing; nodes between two hooks are
those of the first one's module.

What a caller does between two modules that do not depend on each other leads to neither: for these
nodes autograd's numbers, which grow as nodes are made, are compared with those at which modules were
entered and left, where a backward pass meets the first hook.
"""

import bisect

import torch
from torch import Tensor

MARK = "inline_prof"  # in a node's own dictionary (Node.metadata): it has a hook of ours
_CARRIERS = 1024  # tensors that are made at a time
_MOST_TENSORS = 16  # of one call's arguments or results
_MOST_SPANS = 1 << 17  # entries and exits of modules that are remembered
_NO_NUMBER = 1 << 63  # numbers from here on: sums of gradients into parameters, done whenever one is ready

number_of_next_node = getattr(torch.autograd, "_get_sequence_nr", None)
current_node = getattr(torch._C, "_current_autograd_node", None)


class Spans:
    """Which module the nodes of autograd's graph were made in, by their numbers.  Every thread has numbers of its own, so these are
    those of the first thread that calls modules."""

    def __init__(self):
        self.numbers, self.places = [], []
        self.thread = None

    def begin(self, thread):
        """`thread` is the first that calls a module."""
        self.thread = thread
        thread.notes_nodes = number_of_next_node is not None  # None: another PyTorch

    def clear(self):
        del self.numbers[:], self.places[:]

    def trim(self):
        if len(self.numbers) > _MOST_SPANS:
            del self.numbers[:_MOST_SPANS // 2], self.places[:_MOST_SPANS // 2]

    def nodes_by_place(self, node):
        """[(number, place, node)] of what leads to `node`, in the order in which a backward pass goes."""
        seen, left = {node}, [node]
        while left:
            for each, _ in left.pop().next_functions:
                if each is not None and each not in seen:
                    seen.add(each)
                    left.append(each)
        found = []
        for each in seen:
            number = each._sequence_nr()
            at = bisect.bisect_right(self.numbers, number) - 1
            if number < _NO_NUMBER and at >= 0:
                found.append((number, self.places[at], each))
        found.sort(key=lambda entry: -entry[0])
        return found


class Backward:
    """Sets hooks on autograd's nodes, and ends the paths that they set."""

    def __init__(self, threads, guard):
        self._threads = threads
        self._guard = guard
        self._set_here = []  # Threads with a path that a node's hook set
        self._is_open = False  # a callback waits for the end of this backward pass
        self._carriers = []
        self.spans = Spans()
        self.is_on = True
        self.mark_node = self._marker(self._carriers_work())

    # --- hooks.  Node.register_prehook makes an ordered dictionary and a handle for each node;
    # Tensor.register_hook uses a way that lets all nodes of a module share one dictionary.

    def _carriers_work(self):
        seen = []
        try:
            carrier = torch.zeros(())
            carrier._backward_hooks = {0: seen.append}
            with torch.enable_grad():
                leaf = torch.ones((), requires_grad=True)
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
            torch.autograd.Variable._execution_engine.queue_callback(self._end_guarded)
            self._is_open = True
            self._mark_between()
        if not thread.in_backward:
            thread.in_backward = True
            thread.notes_nodes = False
            self._set_here.append(thread)
        thread.set(path)

    def _mark_between(self):
        """Hooks where a caller's nodes begin that no module's argument or result is."""
        if not self.spans.numbers or current_node is None:
            return
        before = None
        for _, place, node in self.spans.nodes_by_place(current_node()):
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
            thread.notes_nodes = thread is self.spans.thread and number_of_next_node is not None
            if thread is mine and thread.stack:
                thread.set(thread.stack[-1])  # a backward pass inside a module's forward
            else:
                thread.end()
