"""Sets the path in the forward pass, by hooks around modules' calls, which leave modules as they are."""

import sys

import torch

from .backward import number_of_next_node

# The code that every call of a module runs, with the module as `self`.
_CALL = torch.nn.Module._call_impl.__code__


def modules_at_work(frame):
    """Returns the modules whose calls enclose `frame`, innermost first, beginning with its own."""
    modules = []
    while frame is not None:
        if frame.f_code is _CALL:
            modules.append(frame.f_locals.get("self"))
        frame = frame.f_back
    return modules


def _drop_left_behind(stack, frame):
    """Removes places left behind by an exception: their modules' calls are no longer open."""
    at_work = [id(module) for module in modules_at_work(frame)]
    kept = []
    for place in stack:
        if place.key in at_work:
            del at_work[len(at_work) - 1 - at_work[::-1].index(place.key):]
            kept.append(place)
    stack[:] = kept


def make_hooks(threads, places, backward, shapes, guard, on_root):
    """Returns the two hooks.  They run at every call of every module, so all they use are locals of this function, and
    the common case is written out."""
    roots = places.roots
    mark = backward.mark
    spans = backward.spans
    # An entry in both says: nodes made from now on belong to this place.
    numbers, placed, outside = spans.numbers, spans.places, spans.outside

    def find_place(thread, module):
        stack = thread.stack
        if stack:
            # Not a known child: check whether the open modules are still open.
            _drop_left_behind(stack, sys._getframe(2))
            thread.set(stack[-1] if stack else thread.base)
        if not stack:
            return places.root(module)
        key = id(module)
        for place in reversed(stack):
            if place.key == key:
                return place  # a module that calls itself
        return stack[-1].children.get(key) or places.child(stack, module)

    def enter(module, args):
        try:
            thread = threads.mine
            stack = thread.stack
            if stack:
                place = stack[-1].children.get(id(module)) or find_place(thread, module)
            else:
                place = roots.get(id(module)) or find_place(thread, module)
            if stack:
                thread.word[0] = place.address
                thread.path = place
            else:
                thread.base = thread.path
                thread.set(place)
                if spans.thread is None:
                    spans.begin(thread)
            if thread.notes_nodes:
                numbers.append(number_of_next_node())
                placed.append(place)
            else:
                mark(args, stack[-1] if stack else outside)
            stack.append(place)
            if place.shape is not None:
                shapes.enter(place.shape, module, args)
        except Exception as error:
            guard(error)

    def leave(module, args, result):
        try:
            thread = threads.mine
            stack = thread.stack
            if not stack:
                return
            place = stack[-1]
            key = id(module)
            if place.key != key:
                if all(each.key != key for each in stack):
                    return  # its call began before the hooks were set
                # Calls that ended with an exception, which this module's forward has caught.
                while stack[-1].key != key:
                    stack.pop()
                place = stack[-1]
            if not thread.notes_nodes:
                mark(result, place)
            if place.shape is not None:
                shapes.leave(place.shape, module, args, result)
            stack.pop()
            if stack:
                place = stack[-1]
                thread.word[0] = place.address
                thread.path = place
                if thread.notes_nodes:
                    numbers.append(number_of_next_node())
                    placed.append(place)
            else:
                if thread.notes_nodes:
                    numbers.append(number_of_next_node())
                    placed.append(outside)
                thread.set(thread.base)
                on_root()
        except Exception as error:
            guard(error)

    return enter, leave
