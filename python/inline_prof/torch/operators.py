"""The bytes that ATen's operators read and write, as one table of operator classes.

Most operators read every byte of their inputs once and write every byte of their outputs once.  An element repeated by a
stride of 0 (expand) counts once, as does a tensor given twice.  The others have a class in operators.json and a rule here.
An operator without a class, and without PyTorch's tag for element-wise ones, is unknown: nothing is guessed.
"""

import json
import os

import torch
from torch import Tensor

from .descriptions import type_name

_POINTWISE = getattr(getattr(torch, "Tag", None), "pointwise", None)


class Unknown(Exception):
    """The table does not cover these arguments."""


class Work:
    """The work of some launches of one call: those with one of the words of `kernel` (between "|") in their name, or, if it is
    None, the others.  With `is_each`, every one of them does all of it."""

    __slots__ = ("kernel", "kind", "attributes", "is_each")

    def __init__(self, kernel, kind, attributes, is_each=False):
        self.kernel, self.kind, self.attributes, self.is_each = kernel, kind, attributes, is_each


def distinct_bytes(tensor):
    """Returns the bytes of a strided tensor's elements in memory, each counted once."""
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        raise Unknown
    if tensor.is_contiguous():
        return tensor.nbytes
    size = tensor.element_size()
    count = span = 1
    for length, stride in zip(tensor.shape, tensor.stride()):
        if length == 0:
            return 0
        if stride != 0:
            count *= length
            span += (length - 1) * stride
    return min(count, span) * size  # windows that overlap have fewer elements than places


def _add_tensors(found, value):
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        found.append(value)
    elif kind is list or kind is tuple:
        for each in value:
            _add_tensors(found, each)


def _bytes_of(tensors, device):
    """Returns the bytes of the tensors on the device.  Numbers kept on the CPU are arguments of the kernel."""
    here = [each for each in tensors if each.device == device]
    if len({each.data_ptr() for each in here}) < len(here):
        here = {(each.data_ptr(), each.shape, each.stride()): each for each in here}.values()
    return sum(map(distinct_bytes, here))


class Call:
    """One finished call of an operator."""

    device = None  # where its results are

    def __init__(self, entry, args, kwargs, result):
        self._entry = entry
        self.given = dict(zip(entry.names, args))
        self.given.update(kwargs)
        self.results = []
        _add_tensors(self.results, result)
        for tensor in self.results:
            self.device = tensor.device
            if tensor.is_cuda:
                return
        for tensor in self.tensors(*self.given):
            if tensor.is_cuda or self.device is None:
                self.device = tensor.device
            if tensor.is_cuda:
                return

    def tensors(self, *names):
        found = []
        for name in names:
            _add_tensors(found, self.given.get(name))
        return found

    def bytes(self, *names):
        return _bytes_of(self.tensors(*names), self.device)

    def bytes_of(self, tensors):
        return _bytes_of(tensors, self.device)

    def read(self, but=()):
        """Returns the names of arguments that are read: all except `but` and those that only take results."""
        return [name for name in self.given if name not in but and name not in self._entry.outputs]

    def written(self):
        """Returns the tensors that the schema marks as changed, and the results."""
        return self.tensors(*self._entry.changed) + self.results

    def result(self, index=0):
        return self.results[index]


def moves(read, write, name, elements=0, kernel=None, is_each=False):
    """Returns a Work that is bound by memory."""
    return Work(kernel, "memory", {"read_bytes": int(read), "write_bytes": int(write), "flops": int(elements),
                                   "class": name}, is_each)


# --- classes

def _all_once(name, but=(), flops=1):
    """Every input is read once and every output written once, except `but`: only written, or unused."""

    def rule(call):
        written = call.written()
        elements = max((each.numel() for each in written), default=0)
        if name in ("reduction", "norm", "softmax", "loss"):
            elements = max([elements] + [each.numel() for each in call.tensors(*call.given)])
        elif name == "lists":
            elements = sum(each.numel() for each in written)
        kind = "elementwise" if name == "lists" else name
        return [moves(call.bytes(*call.read(but)), call.bytes_of(written), kind, flops * elements)]

    return rule


def _fills(name="fill"):
    def rule(call):
        return [moves(0, call.bytes_of(call.written()), name)]

    return rule


def _gathers(index):
    """The result's bytes are read from the table, and the indices."""

    def rule(call):
        out = call.bytes_of(call.results)
        return [moves(out + call.bytes(*index), out, "indexing")]

    return rule


def _bags(call):
    """Reads the rows that the indices name, and adds them up in bags."""
    table = call.tensors("weight")[0]
    row = table.element_size() * table.shape[-1]
    return [moves(call.tensors("indices")[0].numel() * row + call.bytes("indices", "offsets", "per_sample_weights"),
                  call.bytes_of(call.results), "embedding")]


def _embedding_backward(call):
    """Fills the table's gradient, then adds up the rows; many indices are sorted first."""
    gradient = call.tensors("grad_output", "grad")[0]
    indices = call.bytes("indices")
    written = call.bytes_of(call.results)
    rows = call.tensors("indices")[0].numel() * gradient.shape[-1] * gradient.element_size()
    given = call.bytes("grad_output", "grad") + indices
    return [moves(0, written, "fill", kernel="FillFunctor|memset"),
            moves(given, min(rows, written), "embedding", is_each=True,
                  kernel="mbedding_backward|compute_grad_weight|sum_and_scatter|EmbeddingBag_"),
            moves(indices, 0, "sort", kernel="HistogramKernel", is_each=True),
            moves(2 * indices, 2 * indices, "sort", kernel="Onesweep", is_each=True),
            moves(indices, indices, "sort", is_each=True)]


def _layer_norm(call):
    read, write = call.bytes(*call.read()), call.bytes_of(call.results)
    values = call.bytes("input", "self")
    moments = call.bytes_of(call.results[1:])
    elements = call.result().numel()
    return [moves(values, moments, "norm", 4 * elements, kernel="RowwiseMoments"),
            moves(read + moments, write - moments, "norm", 4 * elements, kernel="LayerNormForward"),
            moves(read, write, "norm", 8 * elements)]


def _norm_backward(call):
    """The gradients of the input and of the weights have kernels of their own."""
    both = call.bytes("grad_out", "input", "mean", "rstd")
    whole = call.bytes("weight")
    results = [each for each in call.results if each is not None]
    elements = max(each.numel() for each in call.tensors("input"))
    of_input = sum(call.bytes_of([each]) for each in results if each.numel() == elements)
    of_weights = sum(call.bytes_of([each]) for each in results if each.numel() != elements)
    inputs = moves(both + whole, of_input, "norm", 8 * elements)
    weights = "GammaBeta|gamma_beta|Dgamma|cuComputePartGrad|cuComputeGradGamma"
    return [moves(both, of_weights, "norm", 4 * elements, kernel=weights), inputs]


def _batch_norm(call):
    values = call.bytes("input")
    elements = call.tensors("input")[0].numel()
    whole = call.bytes(*call.read())
    statistics = call.bytes_of(call.results[1:])
    return [moves(values, statistics, "norm", 4 * elements, kernel="collect_statistics"),
            moves(whole, call.bytes_of(call.results[:1]), "norm", 4 * elements, kernel="transform_input"),
            moves(statistics, statistics, "norm", kernel="elementwise"),
            moves(whole, call.bytes_of(call.results), "norm", 8 * elements)]


def _batch_norm_backward(call):
    names = ("grad_out", "grad_output", "input")
    values = call.bytes(*names)
    elements = call.tensors("input")[0].numel()
    of_weights = call.bytes_of(call.results[1:])
    of_input = call.bytes_of(call.results[:1])
    return [moves(values, of_weights, "norm", 4 * elements, kernel="backward_reduce"),
            moves(values, of_input, "norm", 4 * elements, kernel="backward_elemt"),
            moves(call.bytes(*call.read(("reservedSpace", "reserve"))), of_input + of_weights, "norm", 8 * elements)]


def _filled_copy(call):
    """Fills the whole result, then copies a part of it."""
    given = call.bytes(*call.given)
    return [moves(0, call.bytes_of(call.results), "fill", kernel="FillFunctor"), moves(given, given, "copy")]


def _copy_in(call):
    """Copies into a part of the tensor given for the result."""
    given = call.bytes("all_gather_inputs")
    return [moves(given, given, "copy")]


def _nll_loss(call):
    """Reads of each row the element that its target names."""
    target, weight = call.bytes("target"), call.bytes("weight")
    size = call.tensors("self")[0].element_size()
    picked = call.tensors("target")[0].numel() * size
    return [moves(target + weight + picked, call.bytes_of(call.results), "loss")]


def _nll_loss_backward(call):
    read = call.bytes("target", "weight", "total_weight", "grad_output")
    size = call.tensors("self")[0].element_size()
    picked = call.tensors("target")[0].numel() * size
    return [moves(read, picked, "loss", kernel="nll_loss"),
            moves(0, call.bytes_of(call.results), "fill")]


def _writes_where(index, values):
    """Overwrites the elements that indices name."""

    def rule(call):
        read = call.bytes(*index)
        given = call.bytes(*values)
        self_bytes = call.bytes("self")
        out = call.bytes_of(call.written())
        named = given or sum(each.numel() for each in call.tensors(*index)) * call.tensors("self")[0].element_size()
        return [moves(2 * read, 2 * read, "sort", kernel="adix", is_each=True),
                moves(self_bytes, out, "copy", kernel="direct_copy"),
                moves(read + given, named, "scatter")]

    return rule


def _adds_where(index, values):
    """Reads, adds to and writes the elements that indices name."""

    def rule(call):
        read = call.bytes(*index)
        given = call.bytes(*values)
        self_bytes = call.bytes("self")
        return [moves(2 * read, 2 * read, "sort", kernel="adix", is_each=True),
                moves(self_bytes, call.bytes_of(call.written()), "copy", kernel="direct_copy"),
                moves(read + 2 * given, given, "scatter")]

    return rule


def _index_put(call):
    add = bool(call.given.get("accumulate"))
    return (_adds_where if add else _writes_where)(("indices",), ("values",))(call)


def _sort(call):
    """A pass of a radix sort reads and writes everything; its histograms are read once."""
    read, write = call.bytes("self"), call.bytes_of(call.results)
    return [moves(read, 0, "sort", kernel="istogram", is_each=True),
            moves(read + write, read + write, "sort", kernel="adixSort", is_each=True),
            moves(read, write, "sort")]


def _fused_step(call):
    """Gradients are written back only to take a scaler's factor out of them."""
    scaled = call.given.get("grad_scale") is not None
    lists = [name for name in ("self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "momentum_buffer_list",
                               "state_sums") if call.given.get(name)]
    if call.given.get("is_first_step"):
        lists = [name for name in lists if name != "momentum_buffer_list"]
    read = call.bytes(*lists, "state_steps")
    lists = [name for name in lists if scaled or name != "grads"]
    if call.given.get("is_first_step"):
        lists.append("momentum_buffer_list")
    elements = sum(each.numel() for each in call.tensors("self"))
    return [moves(read, call.bytes(*lists), "optimizer", 12 * elements)]


def _attention(call):
    query, key = call.given["query"], call.given["key"]
    if query.dim() != 4:
        raise Unknown
    attributes = {"batch": query.shape[0], "heads": query.shape[1], "kv_heads": key.shape[1],
                  "q_len": query.shape[2], "kv_len": key.shape[2], "head_dim": query.shape[3],
                  "causal": int(bool(call.given.get("is_causal"))),
                  "pass": "backward" if "grad_out" in call.given or "grad_out_" in call.given else "forward"}
    name = type_name(query.dtype)
    if name is None:
        raise Unknown
    attributes["type"] = name
    # The backward pass begins with a kernel that reads the output and its gradient, and ends by casting the query's gradient.
    out = call.bytes("out", "grad_out", "grad_out_")
    query_bytes = call.bytes("query")
    return [moves(out, 0, "reduction", kernel="dot_do_o"), moves(2 * query_bytes, query_bytes, "cast", kernel="convert_dq"),
            Work("flash_|fmha|attention|sdpa", "attention", attributes),
            moves(query_bytes, query_bytes, "copy")]


def _convolution_backward(call):
    """Covers kernels that no library call launches: the bias's gradient, and copies into the library's layout."""
    gradient = call.bytes("grad_output")
    bias = call.bytes_of(call.results[-1:])
    return [moves(gradient, bias, "reduction", kernel="reduce_kernel")]


def _convolution(call):
    out, bias = call.bytes_of(call.results), call.bytes("bias")
    return [moves(out + bias, out, "elementwise", call.result().numel(), kernel="elementwise")]


def _product(call):
    """Library calls describe themselves; this is for products by a kernel of PyTorch's own."""
    first, second = _factors(call)
    out = call.result()
    bias = call.bytes("self") if "mat1" in call.given or "batch1" in call.given else 0
    kinds = [type_name(each.dtype) for each in (first, second, out)]
    works = [moves(bias, call.bytes_of([out]), "copy", kernel="elementwise")]
    if None in kinds or first.dim() < 2 or second.dim() < 2:
        return works
    works.append(Work(None, "gemm", {
        "m": first.shape[-2], "n": second.shape[-1], "k": first.shape[-1],
        "batch": first.shape[0] if first.dim() == 3 else 1,
        "a_type": kinds[0], "b_type": kinds[1], "c_type": kinds[2]}))
    return works


def _factors(call):
    for names in (("mat1", "mat2"), ("batch1", "batch2"), ("self", "mat2"), ("self", "vec"), ("self", "tensor")):
        if all(isinstance(call.given.get(name), Tensor) for name in names):
            return [call.given[name] for name in names]
    raise Unknown


_reduction, _elementwise, _copy = _all_once("reduction"), _all_once("elementwise"), _all_once("copy")

# By the classes of operators.json, which the reader of traces has, too.
_RULES = {kind: rule for kinds, rule in (
    ("elementwise comparison", _elementwise), ("lists", _all_once("lists")), ("copy", _copy), ("reduction", _reduction),
    ("dropout", _all_once("dropout")), ("scan", _all_once("scan")), ("loss", _all_once("loss", flops=2)),
    ("pooling upsampling upsampling_backward", _all_once("pooling")), ("group_norm", _all_once("norm", flops=8)),
    ("pooling_backward", _all_once("pooling", but=("self",))),  # which only look at its shape
    ("softmax softmax_backward", _all_once("softmax", flops=5)),
    ("copy_into", _all_once("copy", but=("self",))), ("copy_in", _copy_in), ("filled_copy", _filled_copy),
    ("fill", _fills()), ("random", _fills("random")), ("random_choice", _all_once("random")),
    ("nll_loss", _nll_loss), ("nll_loss_backward", _nll_loss_backward),
    ("norm", _layer_norm), ("norm_backward", _norm_backward),
    ("batch_norm", _batch_norm), ("batch_norm_backward", _batch_norm_backward),
    ("index_select embedding gather index", _gathers(("index", "indices"))),
    ("embedding_bag", _bags), ("embedding_backward", _embedding_backward),
    ("index_put", _index_put), ("scatter_add", _adds_where(("index",), ("source", "src"))),
    ("scatter", _writes_where(("index",), ("source", "src"))), ("sort", _sort), ("fused_optimizer", _fused_step),
    ("attention attention_backward", _attention),
    ("convolution cudnn_convolution transposed_convolution", _convolution), ("convolution_backward", _convolution_backward),
    ("product product_with_bias", _product),
) for kind in kinds.split()}


def _read_rows():
    """Returns the rules by the operator's name, without namespace, overload and the underscore of one that works in place."""
    with open(os.path.join(os.path.dirname(__file__), "operators.json"), encoding="utf-8") as file:
        return {name: _RULES[kind] for kind, names in json.load(file).items() if kind in _RULES for name in names}


_ROWS = _read_rows()


def _is_over_lists(name):
    return name.startswith("_foreach_")


class Unlisted:
    """The name of an operator without a schema."""

    rule = None

    def __init__(self, func):
        self.plain_name = str(func)
        self.name = self.plain_name.encode()


class Entry:
    """An operator: its name and the rule of its class, None if unknown."""

    __slots__ = ("name", "plain_name", "names", "changed", "outputs", "rule")

    def __init__(self, func):
        schema = func._schema
        self.name = schema.name.encode()
        self.names, self.changed, self.outputs = [], [], []
        for argument in schema.arguments:
            name, alias = argument.name, argument.alias_info
            self.names.append(name)
            if alias is not None and alias.is_write:
                self.changed.append(name)
                if argument.kwarg_only:
                    self.outputs.append(name)
        space, _, name = schema.name.partition("::")
        self.plain_name = name
        # fully_shard() gathers and splits tensors by operators in the name space fsdp.
        self.rule = self._find_rule(func, name) if space in ("aten", "fsdp") else None

    @staticmethod
    def _find_rule(func, name):
        rule = _ROWS.get(name) or (_ROWS.get(name[:-1]) if name.endswith("_") else None)
        if rule is None and _is_over_lists(name):
            return _all_once("lists")
        if rule is None and _POINTWISE is not None and _POINTWISE in getattr(func, "tags", ()):
            return _elementwise
        return rule


def _add_signature(found, pointers, values):
    for value in values:
        if isinstance(value, Tensor):
            found += (value.shape, value.is_contiguous() or value.stride(), value.dtype, value.device,
                      pointers.setdefault(value.data_ptr(), len(pointers)))
        elif type(value) is list or type(value) is tuple:
            found.append(len(value))
            _add_signature(found, pointers, value)
        else:
            found.append(value)


def signature(entry, args, kwargs, result):
    """Returns a key that is equal for calls with equal works: shapes, strides, types, which tensors are one, and all else."""
    found, pointers = [entry], {}
    _add_signature(found, pointers, args)
    if kwargs:
        found += kwargs
        _add_signature(found, pointers, kwargs.values())
    _add_signature(found, pointers, (result,))
    return tuple(found)


def works_of(entry, args, kwargs, result):
    """Returns the [Work] of a finished call; empty if nothing is known of it."""
    if entry.rule is None:
        return []
    try:
        call = Call(entry, args, kwargs, result)
        if call.device is None:
            return []
        return [work for work in entry.rule(call) if work.kind != "memory" or
                work.attributes["read_bytes"] + work.attributes["write_bytes"] > 0]
    except Exception:  # arguments that the table does not cover: known by the operator's name
        return []
