"""Checks what is read from Inductor's code: modules by the calls of kernels, bytes by their loads and stores."""

import importlib.util
import types
import unittest
import unittest.mock

import fake_abi
from needs import torch_or_skip

torch = torch_or_skip()

from inline_prof.torch import inductor
from inline_prof.torch.threads import Rest

# As Inductor of PyTorch 2.11 writes it, shortened.
FORWARD = """# AOT ID: ['0_forward']
# Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.addmm, aten.gelu]
# Source node to ATen node mapping:
#   gelu => mul, mul_1
#   linear => add
triton_poi_fused_gelu_0 = async_compile.triton('triton_poi_fused_gelu_0', '''
''', device_str='cuda')
class Runner:
    def call(self, args):
        # Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.addmm, aten.gelu]
        stream0 = get_raw_stream(0)
        triton_poi_fused_gelu_0.run(buf0, primals_2, buf1, 4096, stream=stream0)
        # Topologically Sorted Source Nodes: [gelu, linear_1], Original ATen: [aten.gelu, aten.addmm]
        extern_kernels.addmm(primals_4, buf1, primals_3, out=buf2)
        # Topologically Sorted Source Nodes: [other], Original ATen: [aten.add]
        triton_poi_fused_add_1.run(buf2, buf3, 64, stream=stream0)
"""
BACKWARD = """# AOT ID: ['0_backward']
class Runner:
    def call(self, args):
        # Topologically Sorted Source Nodes: [mul_7, sum_2], Original ATen: [aten.mul, aten.sum]
        triton_red_fused_mul_sum_0.run(tangents_1, mul_1, buf9, 8, 8, stream=stream0)
        # Topologically Sorted Source Nodes: [mm], Original ATen: [aten.mm]
        extern_kernels.mm(buf9, primals_3, out=buf10)
"""


def stack(*names):
    return {str(i): (name, object) for i, name in enumerate(names)}


def node(name, op="call_function", modules=()):
    return types.SimpleNamespace(name=name, op=op, meta={"nn_module_stack": stack(*modules)} if modules else {})


def graph():
    block = ("L['self']", "L['self'].blocks[0]", "L['self']._modules['blocks']._modules['0'].mlp")
    return inductor.Graph(types.SimpleNamespace(nodes=[
        node("l_x_", "placeholder"), node("l_self_modules_blocks_modules_0_modules_mlp_modules_0_parameters_bias_",
                                          "placeholder"),
        node("L_self_modules_head_parameters_weight_", "placeholder"), node("linear", modules=(*block, block[-1] + "[0]")),
        node("gelu", modules=(*block, block[-1] + "[1]")), node("linear_1", modules=("L['self']", "L['self'].head"))]))


def lines_of(text):
    return text.split("\n")


def add(x, y, out, count):
    pass


class InductorTest(unittest.TestCase):
    def code(self, text, names=None):
        found = inductor.Code(text, [inductor.Graph(types.SimpleNamespace(nodes=[node("linear", modules=("L['self'].x",))])),
                                     graph()], {} if names is None else names)
        return {lines_of(text)[number - 1].strip().partition("(")[0]: call for number, call in found.calls.items()}

    def test_modules_that_a_kernel_was_fused_from(self):
        calls = self.code(FORWARD)
        self.assertEqual(calls["triton_poi_fused_gelu_0.run"], (("blocks", "0", "mlp"), 2))
        self.assertEqual(calls["extern_kernels.addmm"], (("head",), 1))
        self.assertNotIn("triton_poi_fused_add_1.run", calls)

    def test_a_backward_pass_by_what_was_saved_for_it(self):
        names = {}
        self.code(FORWARD, names)
        calls = self.code(BACKWARD, names)
        self.assertEqual(calls["triton_red_fused_mul_sum_0.run"], (("blocks", "0", "mlp", "1"), 2))
        self.assertEqual(calls["extern_kernels.mm"], (("head",), 1))

    def test_without_a_graph_nothing_is_known(self):
        self.assertEqual(inductor.Code(FORWARD, [], {}).calls, {})
        self.assertEqual(inductor.Code("not python at all", [graph()], {}).calls, {})

    def test_bytes_by_loads_and_stores(self):
        source = """
    tmp0 = tl.load(in_ptr0 + (x0), None)
    tmp1 = tl.load(in_ptr1 + (x0 % 8), None)
    tmp2 = tl.load(in_ptr2 + (tmp1), None)
    tmp3 = tl.load(in_out_ptr0 + (x0), None)
    tl.store(in_out_ptr0 + (x0), tmp3, None)
    tl.store(out_ptr1 + (x0), tmp2, None)
"""
        kernel = types.SimpleNamespace(
            fn=types.SimpleNamespace(src=source, arg_names=["in_out_ptr0", "in_ptr0", "in_ptr1", "in_ptr2", "out_ptr1",
                                                            "xnumel", "XBLOCK"]),
            inductor_meta={"num_reduction": 0})
        whole, small, table = torch.ones(64), torch.ones(8), torch.ones(1000)
        half = torch.ones(64, dtype=torch.bfloat16)
        (work,) = inductor.works_of_kernel(kernel, (whole, half, small, table, half, 64))
        # The table is read at 64 places at most.
        self.assertEqual((work.attributes["read_bytes"], work.attributes["write_bytes"]), (256 + 128 + 32 + 256, 256 + 128))
        kernel.inductor_meta["kernel_num_gb"] = 1e-6
        (work,) = inductor.works_of_kernel(kernel, (whole, half, small, table, half, 64))
        self.assertEqual((work.attributes["read_bytes"], work.attributes["write_bytes"]), (1000 - 384, 384))

    @unittest.skipUnless(importlib.util.find_spec("triton"), "no Triton")
    def test_a_kernel_that_somebody_wrote_has_the_bytes_of_its_tensors(self):
        import triton.runtime.jit as written

        abi = fake_abi.FakeAbi()
        x, out = torch.ones(1000), torch.ones(500)
        original = written.JITFunction.run
        with unittest.mock.patch.object(written.JITFunction, "run", lambda kernel, *args, grid, warmup, **kwargs: "its answer"):
            ours = inductor.Inductor(abi, None, None, Rest())
            ours.look()
            kernel = written.JITFunction(add)
            self.assertEqual(kernel[(1,)](x, x, out=out, count=7), "its answer")
            ours.pause()
            self.assertEqual(kernel[(1,)](x, x, out=out, count=7), "its answer")
        self.assertIs(written.JITFunction.run, original)
        self.assertEqual(abi.calls, [("triton::add, whose tensors have 0.006 MB", ())])

    def test_what_is_replaced_is_put_back(self):
        import torch._inductor.compile_fx as compiling

        original = compiling.compile_fx
        replaced = inductor.Inductor(None, None, None, Rest())
        replaced.look()
        self.assertIsNot(compiling.compile_fx, original)
        replaced.remove()
        replaced.look()
        self.assertIs(compiling.compile_fx, original)

    def test_what_is_compiled_while_no_names_are_wanted_is_known_later(self):
        import torch._inductor.compile_fx as compiling
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        original = CachingAutotuner.run
        with unittest.mock.patch.object(compiling, "compile_fx", lambda model: None):
            ours = inductor.Inductor(None, None, None, Rest())
            self.addCleanup(ours.remove)
            ours.look()
            ours.pause()
            self.assertIs(CachingAutotuner.run, original)
            compiling.compile_fx(types.SimpleNamespace(graph=types.SimpleNamespace(nodes=[node("linear", modules=("L['self'].x",))])))
            ours.resume()
            self.assertIsNot(CachingAutotuner.run, original)
            self.assertEqual([each.modules for each in ours._graphs], [{"linear": ("x",)}])
            ours.remove()


if __name__ == "__main__":
    unittest.main()
