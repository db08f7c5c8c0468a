"""Describes the kernels that Inductor has compiled: their bytes, and the modules that each was fused from.

Nothing is traced or compiled anew.  A kernel's source shows what it loads and stores.  Comments in the code that calls it
name the nodes of the graph that it was made from, and the graph given to Inductor has the module of each node.
"""

import functools
import re
import sys

import torch

from .operators import distinct_bytes, moves
from .threads import Path

_LOADED = re.compile(r"tl\.load\((\w*_ptr\d+)")
_STORED = re.compile(r"tl\.(?:store|atomic_\w+)\((\w*_ptr\d+)")
_NODES = re.compile(r"#.* Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]")
_MAPPED = re.compile(r"#   (\w+) => (.+)")
_NAME = re.compile(r"[a-z]\w*")
_STEP = re.compile(r"\._modules\['(\w+)'\]|\['(\w+)'\]|\[(\d+)\]|\.(\w+)")
_PARAMETER = re.compile(r"(?i)l_self_(?:modules_)?(\w+)_(?:parameters|buffers)_")


def module_of(stack):
    """Returns a node's module, from its nn_module_stack, as seen from the compiled one: ("blocks", "0", "mlp")."""
    words = ()
    for name, _ in (stack or {}).values():
        text = re.sub(r"^L\['\w+'\]", "", str(name))
        words = tuple("".join(found) for found in _STEP.findall(text))
        words = tuple(word for word in words if word not in ("_modules", "_orig_mod"))
    return words


def common_start(modules):
    """Returns the module around several ones."""
    modules = list(modules)
    shortest = min(modules, key=len)
    for i, word in enumerate(shortest):
        if any(module[i] != word for module in modules):
            return shortest[:i]
    return shortest


class Graph:
    """The modules that called the nodes of a graph, by the nodes' names."""

    def __init__(self, graph):
        self.modules = {}
        inputs = 0
        for node in graph.nodes:
            if node.op == "placeholder":
                inputs += 1
                found = _PARAMETER.match(node.name)
                if found:
                    self.modules["primals_%d" % inputs] = tuple(found.group(1).split("_modules_"))
            elif node.meta.get("nn_module_stack"):
                self.modules[node.name] = module_of(node.meta["nn_module_stack"])


class Code:
    """The calls of one file that Inductor wrote: by line, (module, number of operations that were fused)."""

    def __init__(self, text, graphs, forward_names):
        self.calls = {}
        lines = text.split("\n")
        for line in lines:  # aten's nodes by the program's
            found = _MAPPED.match(line)
            if found:
                for name in found.group(2).split(", "):
                    forward_names.setdefault(name, found.group(1))
        called = []
        nodes, operations = (), ()
        for number, line in enumerate(lines, 1):
            found = _NODES.search(line)
            if found:
                nodes = tuple(filter(None, found.group(1).split(", ")))
                operations = tuple(filter(None, found.group(2).split(", ")))
            elif line.startswith("    ") and (".run(" in line or "extern_kernels." in line or "torch.ops." in line):
                called.append((number, nodes, operations, set(_NAME.findall(line.partition("(")[2]))))
        graph = self._graph_of(called, graphs)
        if graph is None:
            return
        for number, nodes, operations, arguments in called:
            # In a backward pass nodes have other names: saved tensors and parameters say more.
            found = [graph.modules[name] for name in nodes if name in graph.modules]
            if not found:
                found = [graph.modules[name] for name in
                         (forward_names.get(each, each) for each in arguments | set(nodes)) if name in graph.modules]
            if not found:
                continue
            # A library's kernel does only the last operation; the others made its inputs.
            is_fused = ".run(" in lines[number - 1]
            self.calls[number] = (common_start(found), len(operations)) if is_fused else (found[-1], 1)

    @staticmethod
    def _graph_of(called, graphs):
        """Returns the graph that knows most of the names."""
        names = {name for _, nodes, _, arguments in called for name in (*nodes, *arguments)}
        return max(graphs, key=lambda graph: len(names & graph.modules.keys()), default=None)


def _bytes(tensor, elements, times):
    """Returns the bytes of a tensor that a kernel of so many elements uses `times` times: at most those it has."""
    return min(distinct_bytes(tensor), times * elements * tensor.element_size())


def works_of_kernel(kernel, args):
    """Returns the [Work] of one call of a compiled kernel, a CachingAutotuner."""
    loads, stores = {}, {}
    source = kernel.fn.src
    for counts, pattern in ((loads, _LOADED), (stores, _STORED)):
        for name in pattern.findall(source):
            counts[name] = counts.get(name, 0) + 1
    elements = 1
    tensors = {}
    for name, value in zip(kernel.fn.arg_names, args):
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        elif name.endswith("numel"):
            elements *= int(value)
    read = sum(_bytes(tensor, elements, loads[name]) for name, tensor in tensors.items() if name in loads)
    write = sum(_bytes(tensor, elements, stores[name]) for name, tensor in tensors.items() if name in stores)
    meta = getattr(kernel, "inductor_meta", None) or {}
    told = meta.get("kernel_num_gb")
    if told:  # Inductor's own count, which knows what indices leave out
        read = max(int(told * 1e9) - write, 0)
    if read + write == 0:
        return []
    is_reduction = meta.get("num_reduction", 0) > 0
    return [moves(read, write, "fused reduction" if is_reduction else "fused", int(meta.get("kernel_flop") or elements))]


def name_of_written(kernel, args):
    """Returns the name (bytes) of one call of a Triton kernel that somebody wrote: with the bytes of all its tensors, the most that
    it moves if it uses each element once.  What it computes its source does not tell."""
    name = "triton::" + getattr(kernel, "__name__", "kernel")
    try:
        most = sum({each.data_ptr(): distinct_bytes(each) for each in args if isinstance(each, torch.Tensor)}.values())
    except Exception:  # tensors without strides or memory
        return name.encode()
    return ("%s, whose tensors have %.4g MB" % (name, most / 1e6)).encode()


class Inductor:
    """Describes calls of compiled kernels and gives them their modules' path, while the library wants it."""

    def __init__(self, abi, threads, guard, rest):
        self._abi, self._threads, self._guard, self._rest = abi, threads, guard, rest
        self._graphs = []  # as Inductor was given them
        self._forward_names = {}
        self._codes = {}  # file -> Code
        self._paths = {}
        self._works = {}  # (kernel, sizes) -> [Work]
        self._patched = []  # (owner, name, original, ours)
        self.is_on = True
        self._is_over = False

    # --- what is replaced, and put back

    def look(self):
        """Called at the end of an iteration: replaces functions of modules imported since."""
        if self._is_over:
            return
        compiling = sys.modules.get("torch._inductor.compile_fx")
        if compiling is not None:
            self._replace(compiling, "compile_fx", self._around_compile)
        if not self.is_on:
            return
        running = sys.modules.get("torch._inductor.runtime.triton_heuristics")
        written = sys.modules.get("triton.runtime.jit")
        externs = getattr(sys.modules.get("torch._inductor.select_algorithm"), "extern_kernels", None)
        if running is not None:
            self._replace(running.CachingAutotuner, "run", self._around_run)
        if written is not None:
            self._replace(written.JITFunction, "run", self._around_written)
        if externs is not None:
            for name in ("mm", "addmm", "bmm", "baddbmm", "convolution", "_scaled_mm", "bias_addmm"):
                if name in vars(externs):
                    self._replace(externs, name, self._around_extern)

    def _replace(self, owner, name, around):
        original = vars(owner).get(name)
        if original is None or any(each[0] is owner and each[1] == name for each in self._patched):
            return
        ours = functools.wraps(original)(around(original))
        setattr(owner, name, ours)
        self._patched.append((owner, name, original, ours))

    def pause(self):
        """Stops describing calls.  Graphs are still noted: the program may launch them next."""
        if self.is_on:
            self.is_on = False
            self._put_back(lambda name: name != "compile_fx")
            self._works, self._codes = {}, {}

    def resume(self):
        self.is_on = True
        self.look()

    def remove(self):
        self._is_over = True
        self.pause()
        self._put_back(lambda _: True)
        self._graphs = []

    def _put_back(self, is_chosen):
        for owner, name, original, ours in self._patched:
            if is_chosen(name) and vars(owner).get(name) is ours:
                setattr(owner, name, original)
        self._patched = [each for each in self._patched if not is_chosen(each[1])]

    def _around_compile(self, original):
        def compile_fx(model_, *args, **kwargs):
            self.note_graph(model_)
            return original(model_, *args, **kwargs)

        return compile_fx

    def note_graph(self, model):
        try:
            found = Graph(model.graph)
            if found.modules:
                self._graphs.append(found)
        except Exception:  # no graph module
            pass

    def _around_run(self, original):
        abi = self._abi

        def run(kernel, *args, **kwargs):
            if not self.is_on or self._rest.is_on:
                return original(kernel, *args, **kwargs)
            restore = self._enter(sys._getframe(1))
            abi.call_open()
            try:
                return original(kernel, *args, **kwargs)
            finally:
                if abi.call_launches() > 0:
                    name = b"inductor::" + kernel.fn.__name__.encode()
                    abi.call_close(name, b"compiled", self._works_of(kernel, args))
                self._leave(restore)

        return run

    def _around_written(self, original):
        abi = self._abi

        def run(kernel, *args, **kwargs):
            if not self.is_on or self._rest.is_on:
                return original(kernel, *args, **kwargs)
            abi.call_open()
            try:
                return original(kernel, *args, **kwargs)
            finally:
                if abi.call_launches() > 0:
                    abi.call_close(name_of_written(kernel, (*args, *kwargs.values())), None, ())

        return run

    def _around_extern(self, original):
        def extern(*args, **kwargs):
            if not self.is_on or self._rest.is_on:
                return original(*args, **kwargs)
            restore = self._enter(sys._getframe(1))
            try:
                return original(*args, **kwargs)
            finally:
                self._leave(restore)

        return extern

    # --- one call

    def _works_of(self, kernel, args):
        try:
            key = (id(kernel), *(each.shape if isinstance(each, torch.Tensor) else each for each in args))
            found = self._works.get(key)
            if found is None:
                found = self._works[key] = works_of_kernel(kernel, args)
            return found
        except Exception:  # another PyTorch: known by its name and grid
            return ()

    def _enter(self, frame):
        """Sets the path of the call in `frame`.  Returns the thread and its path before."""
        try:
            thread = self._threads.mine
            before = thread.path
            text = before.text if before is not None else ""
            module, operations = self._call_of(frame.f_code.co_filename, frame.f_lineno) or ((), 1)
            if not module and operations < 2:
                return None
            thread.set(self._path(text, module, operations))
            return thread, before
        except Exception as error:
            self._guard(error)
            return None

    @staticmethod
    def _leave(restore):
        if restore is not None:
            thread, before = restore
            thread.set(before)

    def _call_of(self, file, line):
        code = self._codes.get(file)
        if code is None:
            try:
                with open(file, encoding="utf-8") as text:
                    code = Code(text.read(), self._graphs, self._forward_names)
            except (OSError, ValueError):
                code = Code("", (), {})
            self._codes[file] = code
        return code.calls.get(line)

    def _path(self, text, module, operations):
        key = text, module, operations
        path = self._paths.get(key)
        if path is None:
            text, dot, backward = text.rpartition(".backward")
            if not dot:
                text, backward = backward, ""
            else:
                backward = ".backward"
            name = ".".join(filter(None, (text, *module))) + backward
            if operations > 1:
                name += " (%d operations fused)" % operations
            path = self._paths[key] = Path(name)
        return path
