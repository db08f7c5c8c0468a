"""Labels with shapes around modules whose kernels do not tell them.

On the CPU nothing has a label, so a stream is made up here."""

import enum
import sys
import types
import unittest
import unittest.mock

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn

import inline_prof.torch as hooks
from fake_abi import HookedTest
from inline_prof.abi import WANTS_LAYERS
from inline_prof.torch import descriptions, shapes


class SparseType(enum.Enum):
    FP16 = "fp16"


class OptimType(enum.Enum):
    EXACT_ROWWISE_ADAGRAD = "exact_row_wise_adagrad"


class SplitTableBatchedEmbeddingBagsCodegen(nn.Module):
    """The members of FBGEMM's module that are read."""

    def __init__(self):
        super().__init__()
        self.embedding_specs = [(100, 16, None, None), (300, 16, None, None)]
        self.feature_table_map = [0, 1]
        self.weights_precision = SparseType.FP16
        self.optimizer = OptimType.EXACT_ROWWISE_ADAGRAD

    def forward(self, indices, offsets):
        class SplitLookupFunction(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 1

            @staticmethod
            def backward(context, gradient):
                return gradient

        return SplitLookupFunction.apply(torch.ones(4, 32, requires_grad=True))


class GroupedLinear(nn.Module):
    num_gemms, in_features, out_features = 4, 8, 16

    def forward(self, x):
        return torch.ones(x.shape[0], 16)


class LlamaRMSNorm(nn.Module):
    def forward(self, x):
        return x


class LayerNorm(nn.Module):
    """x-transformers' has one of PyTorch's inside."""

    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm(8)

    def forward(self, x):
        return self.ln(x) * 2


class Embedding(nn.Module):
    """As many models name what adds positions to words."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(50, 8), nn.Embedding(3, 8)

    def forward(self, x):
        return self.words(x) + self.positions(torch.arange(3))


class FlashSelfAttention(nn.Module):
    causal = True

    def forward(self, qkv):
        return qkv[:, :, 0]


class ShapesTest(HookedTest):
    def setUp(self):
        super().setUp()
        real = shapes.stream_of
        shapes.stream_of = lambda value: (7, 0) if isinstance(value, torch.Tensor) else real(value)
        self.addCleanup(setattr, shapes, "stream_of", real)

    def check(self, module, args, label, kind, shape, backward=None):
        """Checks one call, and its backward pass if `backward` gives its shape."""
        self.abi.labels.clear(), self.abi.ops.clear()
        result = module(*args)
        ops = [(label, kind, shape)]
        labels = [label + ".start", label + ".stop"]
        if backward is not None:
            result.sum().backward()
            ops.append((label + ".backward", kind, dict(shape, **backward)))
            labels += [label + ".backward.start", label + ".backward.stop"]
        self.assertEqual(self.abi.ops, ops)
        self.assertEqual(self.abi.labels, labels)

    def test_embedding(self):
        self.check(nn.Embedding(50, 8), (torch.zeros(2, 3, dtype=torch.long),), "embedding",
                   "embedding", {"batch": 6, "tables": 1, "rows": 50, "bag": 1, "dim": 8,
                                 "pass": "forward", "type": "f32"})

    def test_embedding_bag(self):
        shape = {"batch": 2, "tables": 1, "rows": 50, "bag": 3, "dim": 8, "pass": "forward",
                 "type": "f32"}
        indices = torch.zeros(2, 3, dtype=torch.long)
        bag = nn.EmbeddingBag(50, 8, mode="sum")
        self.check(bag, (indices,), "embedding", "embedding", shape)
        self.check(bag, (indices.flatten(), torch.tensor([0, 3])), "embedding", "embedding", shape)
        ends = nn.EmbeddingBag(50, 8, mode="sum", include_last_offset=True)
        self.check(ends, (indices.flatten(), torch.tensor([0, 3, 6])), "embedding", "embedding",
                   shape)

    def test_table_batched_embeddings(self):
        indices = torch.zeros(24, dtype=torch.long)
        offsets = torch.arange(0, 25, 3)  # four samples, two tables, bags of three
        self.check(SplitTableBatchedEmbeddingBagsCodegen(), (indices, offsets), "embedding",
                   "embedding", {"batch": 4, "tables": 2, "rows": 200, "bag": 3, "dim": 16,
                                 "pass": "forward", "type": "f16"},
                   {"pass": "backward_rowwise_adagrad"})

    def test_the_function_of_a_node_that_cpp_made(self):
        for name in ("SplitLookupFunction_rowwise_adagrad_Op_pt2", "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op_pt2>"):
            node = types.SimpleNamespace(name=lambda: name)
            self.assertTrue(shapes.function_of(node).startswith(descriptions.of_module(SplitTableBatchedEmbeddingBagsCodegen()).node))

    def test_norms(self):
        x = torch.ones(2, 3, 8, requires_grad=True)
        shape = {"rows": 6, "cols": 8, "pass": "forward", "type": "f32"}
        self.check(nn.LayerNorm(8), (x,), "norm", "norm", shape, {"pass": "backward"})
        self.check(LlamaRMSNorm(), (x,), "norm", "norm", shape)
        self.check(nn.LayerNorm((3, 8)), (x,), "norm", "norm", dict(shape, rows=2, cols=24))

    def test_a_module_around_others_leaves_the_label_to_them(self):
        self.check(LayerNorm(), (torch.ones(2, 3, 8, requires_grad=True),), "norm", "norm",
                   {"rows": 6, "cols": 8, "pass": "forward", "type": "f32"})
        Embedding()(torch.zeros(2, 3, dtype=torch.long))
        self.assertEqual(self.abi.labels[2:], ["embedding.start", "embedding.stop"] * 2)
        model = LayerNorm()
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
        self.abi.wanted &= ~WANTS_LAYERS
        optimizer.step()
        self.abi.labels.clear()
        model(torch.ones(2, 8))
        self.assertEqual(self.abi.labels, ["norm.start", "norm.stop"])

    def test_softmax(self):
        self.check(nn.Softmax(dim=1), (torch.ones(2, 5, requires_grad=True),), "softmax", "softmax",
                   {"rows": 2, "cols": 5, "pass": "forward", "type": "f32"}, {"pass": "backward"})

    def test_flash_attention(self):
        self.check(FlashSelfAttention(), (torch.ones(2, 16, 3, 4, 8, dtype=torch.bfloat16),),
                   "attention", "attention",
                   {"batch": 2, "heads": 4, "kv_heads": 4, "q_len": 16, "kv_len": 16, "head_dim": 8,
                    "causal": 1, "pass": "forward", "type": "bf16"})

    def test_grouped_linear(self):
        self.check(GroupedLinear(), (torch.ones(32, 8),), "grouped_gemm", "grouped_gemm",
                   {"groups": 4, "m_total": 32, "n": 16, "k": 8, "a_type": "f32", "b_type": "f32",
                    "c_type": "f32"})

    def test_an_unknown_module_has_no_label(self):
        nn.Linear(2, 2)(torch.ones(1, 2))
        self.assertEqual((self.abi.labels, self.abi.ops), ([], []))

    def test_arguments_that_such_a_module_has_not_by_rights(self):
        class Embedding(nn.Module):  # another one of that name
            def forward(self, x):
                return x

        Embedding()(torch.ones(1))
        self.assertEqual(self.abi.labels, ["embedding.start", "embedding.stop"])
        self.assertEqual(self.abi.ops, [])
        self.assertTrue(hooks.is_active())

    def test_after_the_warm_up_labels_stay_and_descriptions_do_not(self):
        model = nn.LayerNorm(8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(2, 8))
        self.abi.wanted &= ~WANTS_LAYERS
        optimizer.step()
        self.abi.labels.clear(), self.abi.ops.clear()
        paths = []
        self.abi.on_path = paths.append
        model(torch.ones(2, 8)).sum().backward()
        self.assertEqual((self.abi.labels, self.abi.ops),
                         (["norm.start", "norm.stop", "norm.backward.start", "norm.backward.stop"],
                          []))
        self.assertEqual(paths, [])

    def test_a_closure_is_no_part_of_the_steps_label(self):
        weight = nn.Parameter(torch.ones(2))

        def closure():
            self.abi.labels.append("closure")
            return torch.zeros(())

        for step in (torch.optim.SGD([weight], lr=0.1).step, torch.optim.LBFGS([weight], max_iter=1).step):
            self.abi.labels.clear()
            step(closure)
            self.assertEqual(self.abi.labels, ["closure", "optimizer.step.start", "optimizer.step.stop"])

    def test_a_function_is_labelled_and_put_back(self):
        name = "scaled_dot_product_attention"
        had = nn.functional.__dict__.get(name)
        calls = []

        def original(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
            calls.append((attn_mask, dropout_p, is_causal))
            if dropout_p > 1:
                raise ValueError("dropout")
            return query

        setattr(nn.functional, name, original)
        self.addCleanup(lambda: setattr(nn.functional, name, had) if had is not None
                        else delattr(nn.functional, name))
        nn.Identity()(torch.ones(1))  # a root: functions are patched now
        ours = getattr(nn.functional, name)
        self.assertIsNot(ours, original)
        query, key = torch.ones(2, 8, 4, 16), torch.ones(2, 2, 6, 16)
        self.assertIs(ours(query, key, key, is_causal=True), query)
        self.assertEqual(self.abi.ops, [("attention", "attention", {
            "batch": 2, "heads": 8, "kv_heads": 2, "q_len": 4, "kv_len": 6, "head_dim": 16,
            "causal": 1, "pass": "forward", "type": "f32"})])
        self.assertEqual(self.abi.labels, ["attention.start", "attention.stop"])
        with self.assertRaisesRegex(ValueError, "dropout"):
            ours(query, key, key, None, 2.0)
        with self.assertRaises(TypeError):
            ours()
        hooks.remove()
        self.assertIs(getattr(nn.functional, name), original)
        self.assertIs(ours(query, key, key), query)  # one that a module had imported by name
        self.assertEqual(calls, [(None, 0.0, True), (None, 2.0, False), (None, 0.0, False)])

    def test_flash_attentions_function(self):
        class FlashAttnFunc(torch.autograd.Function):  # as flash-attn 2's
            @staticmethod
            def forward(context, q, k, v, dropout_p, softmax_scale, causal):
                return q * 1

            @staticmethod
            def backward(context, gradient):
                return (gradient,) + (None,) * 5

        def flash_attn_func(q, k, v, causal=False):
            return FlashAttnFunc.apply(q, k, v, 0.0, None, causal)

        name = "flash_attn.flash_attn_interface"
        library = types.SimpleNamespace(FlashAttnFunc=FlashAttnFunc)
        query = torch.ones(2, 5, 8, 16, dtype=torch.bfloat16, requires_grad=True)
        key = torch.ones(2, 6, 4, 16, dtype=torch.bfloat16)
        with unittest.mock.patch.dict(sys.modules, {name: library}):
            with unittest.mock.patch.dict(sys.modules, {"torch._dynamo": types.ModuleType("it")}):
                self.assertNotIn("apply", [each[1] for each in descriptions.functions()])
            sys.modules.pop("torch._dynamo", None)  # put back with the rest
            nn.Identity()(torch.ones(1))
        self.check(lambda *args: flash_attn_func(*args, causal=True), (query, key, key), "attention",
                   "attention", {"batch": 2, "heads": 8, "kv_heads": 4, "q_len": 5, "kv_len": 6,
                                 "head_dim": 16, "causal": 1, "pass": "forward", "type": "bf16"},
                   {"pass": "backward"})
        self.abi.ops.clear()
        packed = torch.ones(10, 8, 16, dtype=torch.bfloat16)
        flash_attn_func(packed, packed, packed)
        self.assertEqual(self.abi.ops, [])
        hooks.remove()
        self.assertNotIn("apply", vars(FlashAttnFunc))
        self.abi.labels.clear()
        flash_attn_func(query, key, key)
        self.assertEqual(self.abi.labels, [])

    def test_a_function_that_is_an_operator_to_torch_jit_stays_one(self):
        description = descriptions.Description("activation", "memory", lambda module, args: None)
        original = nn.functional.gelu
        with unittest.mock.patch.object(
                descriptions, "functions",
                lambda: [(nn.functional, "gelu", ("input",), description)]):
            nn.Identity()(torch.ones(1))
        self.assertIsNot(nn.functional.gelu, original)

        def activate(x):
            return nn.functional.gelu(x)

        scripted = torch.jit.script(activate)
        self.assertIn("aten::gelu", str(scripted.graph))
        self.assertTrue(torch.equal(scripted(torch.ones(3)), original(torch.ones(3))))
        self.assertEqual(activate(torch.ones(3)).tolist(), original(torch.ones(3)).tolist())
        self.assertEqual(self.abi.labels, ["activation.start", "activation.stop"])
        hooks.remove()
        self.assertIs(nn.functional.gelu, original)

    def test_an_optimizers_step_has_a_description(self):
        from inline_prof.torch.descriptions import of_step

        parameter = nn.Parameter(torch.ones(10))
        parameter.grad = torch.ones(10)
        unused = nn.Parameter(torch.ones(10))
        adam = torch.optim.Adam([parameter, unused])
        self.assertEqual(of_step(adam), {"read_bytes": 160, "write_bytes": 120})
        momentum = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
        self.assertEqual(of_step(momentum), {"read_bytes": 120, "write_bytes": 80})
        self.assertIsNone(of_step(torch.optim.LBFGS([parameter])))


if __name__ == "__main__":
    unittest.main()
