"""Describes what modules and functions compute, in the words of PROFILE_OP.

Modules are known by the names of their classes, so that nothing is imported.
"""

import sys

import torch

_TYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "int8": "i8", "int32": "i32",
    "int64": "i64",
    # FBGEMM's words
    "fp32": "f32", "fp16": "f16", "bf16": "bf16",
}


def type_name(dtype):
    """Returns PROFILE_OP's word for a torch.dtype or FBGEMM's SparseType, None if it has none."""
    return _TYPES.get(str(getattr(dtype, "value", dtype)).rpartition(".")[2])


def _with_type(attributes, dtype):
    name = type_name(dtype)
    if name is not None:
        attributes["type"] = name
    return attributes


def _embedding(module, args):
    indices = args[0]
    return _with_type({"batch": indices.numel(), "tables": 1, "rows": module.num_embeddings, "bag": 1,
                       "dim": module.embedding_dim, "pass": "forward"}, module.weight.dtype)


def _embedding_bag(module, args):
    indices = args[0]
    if indices.dim() == 2:
        batch = indices.shape[0]
    elif len(args) > 1 and args[1] is not None:
        batch = args[1].numel() - (1 if module.include_last_offset else 0)
    else:
        return None
    return _with_type({"batch": batch, "tables": 1, "rows": module.num_embeddings,
                       "bag": round(indices.numel() / max(batch, 1)), "dim": module.embedding_dim,
                       "pass": "forward"}, module.weight.dtype)


def _table_batched(module, args):
    """FBGEMM's table-batched embeddings; tables of different size count with their mean."""
    indices, offsets = args[0], args[1]
    tables = [module.embedding_specs[i] for i in module.feature_table_map]
    batch = (offsets.numel() - 1) // len(tables)
    shape = {"batch": batch, "tables": len(tables),
             "rows": round(sum(int(table[0]) for table in tables) / len(tables)),
             "bag": round(indices.numel() / max(batch * len(tables), 1)),
             "dim": round(sum(int(table[1]) for table in tables) / len(tables)), "pass": "forward"}
    return _with_type(shape, getattr(module, "weights_precision", None))


def _table_batched_backward(module, attributes):
    """The optimizer is part of FBGEMM's backward pass."""
    optimizer = str(getattr(getattr(module, "optimizer", None), "value",
                            getattr(module, "optimizer", ""))).lower()
    if "sgd" in optimizer:
        return dict(attributes, **{"pass": "backward_sgd"})
    if "row" in optimizer and "adagrad" in optimizer:
        return dict(attributes, **{"pass": "backward_rowwise_adagrad"})
    return None


def _rows_and_columns(tensor, columns):
    return _with_type({"rows": tensor.numel() // max(columns, 1), "cols": columns, "pass": "forward"},
                      tensor.dtype)


def _norm(module, args):
    columns = 1
    shape = getattr(module, "normalized_shape", None) or args[0].shape[-1:]
    for size in shape:
        columns *= int(size)
    return _rows_and_columns(args[0], columns)


def _softmax(module, args):
    dim = module.dim
    return None if dim is None else _rows_and_columns(args[0], args[0].shape[dim])


def _attention(query, key, heads_at, length_at, is_causal):
    return _with_type({"batch": query.shape[0], "heads": query.shape[heads_at],
                       "kv_heads": key.shape[heads_at], "q_len": query.shape[length_at],
                       "kv_len": key.shape[length_at], "head_dim": query.shape[3],
                       "causal": int(bool(is_causal)), "pass": "forward"}, query.dtype)


def _flash_self_attention(module, args):
    qkv = args[0]
    if qkv.dim() != 5 or len(args) > 2:  # packed sequences of different length
        return None
    return _attention(qkv[:, :, 0], qkv[:, :, 1], 2, 1, getattr(module, "causal", False))


def _flash_cross_attention(module, args):
    query, pair = args[0], args[1]
    if query.dim() != 4 or pair.dim() != 5 or len(args) > 3:
        return None
    return _attention(query, pair[:, :, 0], 2, 1, getattr(module, "causal", False))


def _grouped_linear(module, args):
    """Transformer Engine's GroupedLinear."""
    inputs = args[0]
    rows = inputs.numel() // max(inputs.shape[-1], 1)
    shape = {"groups": module.num_gemms, "m_total": rows, "n": module.out_features,
             "k": module.in_features}
    name = type_name(inputs.dtype)
    if name is not None:
        shape.update(a_type=name, b_type=name, c_type=name)
    return shape


def _no_backward(module, attributes):
    return None


def _backward(module, attributes):
    return dict(attributes, **{"pass": "backward"})


class Description:
    """One kind of operation."""

    def __init__(self, label, kind, forward, node="", backward=_backward, is_leaf=False):
        self.label = label.encode()
        self.kind = kind
        self.forward = forward  # (module, args) -> attributes, or None
        self.node = node  # how the name of its autograd node begins; empty: no single one
        self.backward = backward  # (module, attributes of the forward pass) -> attributes, or None
        self.is_leaf = is_leaf  # a module of that name with others inside leaves the work to them
        self.start = (label + ".start").encode()
        self.stop = (label + ".stop").encode()
        self.backward_label = (label + ".backward").encode()
        self.backward_start = (label + ".backward.start").encode()
        self.backward_stop = (label + ".backward.stop").encode()


_NORM = Description("norm", "norm", _norm, "NativeLayerNormBackward", is_leaf=True)
# Written in Python, most of them: many nodes.
_RMS_NORM = Description("norm", "norm", _norm, "FusedRmsNormBackward", is_leaf=True)
_TABLE_BATCHED = Description("embedding", "embedding", _table_batched, "SplitLookupFunction",
                             _table_batched_backward)

_MODULES = {
    # Their backward passes fill the table's gradient: the launches are known by their operators.
    "Embedding": Description("embedding", "embedding", _embedding, is_leaf=True),
    "EmbeddingBag": Description("embedding", "embedding", _embedding_bag, is_leaf=True),
    "SplitTableBatchedEmbeddingBagsCodegen": _TABLE_BATCHED,
    "DenseTableBatchedEmbeddingBagsCodegen": Description("embedding", "embedding", _table_batched),
    "LayerNorm": _NORM,
    "FusedLayerNorm": _NORM,
    "Softmax": Description("softmax", "softmax", _softmax, "SoftmaxBackward", is_leaf=True),
    "FlashSelfAttention": Description("attention", "attention", _flash_self_attention,
                                      "FlashAttnQKVPackedFunc"),
    "FlashCrossAttention": Description("attention", "attention", _flash_cross_attention,
                                       "FlashAttnKVPackedFunc"),
    "GroupedLinear": Description("grouped_gemm", "grouped_gemm", _grouped_linear),
}


def plain_class(module):
    """Returns a module's class as the program wrote it: fully_shard() derives a class from it and FSDPModule."""
    kind = type(module)
    bases = kind.__bases__
    is_sharded = len(bases) == 2 and bases[0].__name__ == "FSDPModule"
    return bases[1] if is_sharded else kind


def of_class(module):
    """Returns the Description of a module's class, None if it is unknown."""
    name = plain_class(module).__name__
    if name.endswith("RMSNorm"):
        return _RMS_NORM
    return _MODULES.get(name)


def fits(description, module):
    """Returns whether the Description of its class is that of the module."""
    return not (description.is_leaf and module._modules)


def of_module(module):
    """Returns the Description of a module, None if it is unknown."""
    description = of_class(module)
    return description if description is not None and fits(description, module) else None


def _sdpa(_, args):
    query, key = args[0], args[1]
    if query.dim() != 4 or key.dim() != 4:
        return None
    return _attention(query, key, 1, 2, args[5] if len(args) > 5 else False)


def _grouped_mm(_, args):
    left, right = args[0], args[1]
    if left.dim() != 2 or right.dim() != 3:
        return None
    shape = {"groups": right.shape[0], "m_total": left.shape[0], "n": right.shape[2],
             "k": right.shape[1]}
    name = type_name(left.dtype)
    if name is not None:
        shape.update(a_type=name, b_type=name)
    return shape


def _flash(_, args):
    """flash-attn's, whose heads stand behind the length."""
    query, key = args[0], args[1]
    if query.dim() != 4 or key.dim() != 4:  # packed sequences of different length
        return None
    return _attention(query, key, 2, 1, args[5])


def functions():
    """Returns functions without a module: (namespace, name, names of their arguments, Description)."""
    found = [
        (torch.nn.functional, "scaled_dot_product_attention",
         ("query", "key", "value", "attn_mask", "dropout_p", "is_causal"),
         Description("attention", "attention", _sdpa, "ScaledDotProduct")),
        (torch, "_grouped_mm", ("self", "mat2"),
         Description("grouped_gemm", "grouped_gemm", _grouped_mm)),
    ]
    # flash_attn_func() calls this, also if it was imported by name.  torch.compile's tracer knows an
    # autograd.Function by its `apply`, so a program that has loaded the tracer keeps its own.
    flash = getattr(sys.modules.get("flash_attn.flash_attn_interface"), "FlashAttnFunc", None)
    if flash is not None and "torch._dynamo" not in sys.modules:
        found.append((flash, "apply", ("q", "k", "v", "dropout_p", "softmax_scale", "causal"),
                      Description("attention", "attention", _flash, "FlashAttnFunc")))
    return found


# How many tensors of a parameter's size an optimizer reads and writes.
_TRAFFIC = {"Adam": (4, 3), "AdamW": (4, 3), "NAdam": (4, 3), "RAdam": (4, 3), "Adagrad": (3, 2),
            "RMSprop": (3, 2), "FusedAdam": (4, 3)}


def of_step(optimizer):
    """Returns {read_bytes, write_bytes} of an optimizer's step, with its state in the parameters' type; None if unknown."""
    name = type(optimizer).__name__
    read = write = 0
    for group in optimizer.param_groups:
        if name == "SGD":
            reads, writes = (3, 2) if group.get("momentum") else (2, 1)
        elif name in _TRAFFIC:
            reads, writes = _TRAFFIC[name]
            if group.get("amsgrad"):
                reads, writes = reads + 1, writes + 1
        else:
            return None
        size = sum(p.numel() * p.element_size() for p in group["params"] if p.grad is not None)
        read += reads * size
        write += writes * size
    return {"read_bytes": read, "write_bytes": write}
