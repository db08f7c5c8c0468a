"""Checks the descriptions of operators' calls, and that the program does not notice."""

import threading
import unittest

from needs import torch_or_skip

torch = torch_or_skip()

from fake_abi import EVERYTHING, HookedTest
from hosts.odd_kinds import Names
from inline_prof.abi import WANTS_OPERATORS
from torch import nn
from torch.nn import functional as F


def modes():
    return torch._C._len_torch_dispatch_stack()


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.5), nn.Linear(16, 4))


def train(steps, each_step=lambda step: None):
    """Returns its last loss and its parameters, in bits."""
    net = network()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
    for step in range(steps):
        each_step(step)
        loss = F.cross_entropy(net(torch.ones(6, 8)), torch.arange(6) % 4)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return [loss.detach().numpy().tobytes()] + [each.detach().numpy().tobytes() for each in net.parameters()]


class OperatorsTest(HookedTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self.assertEqual(modes(), 0))

    def learn(self, is_wanted=True):
        """Does as an iteration's begin."""
        import inline_prof.torch

        self.abi.wanted = EVERYTHING | (WANTS_OPERATORS if is_wanted else 0)
        inline_prof.torch.iteration()

    def learned(self, call):
        """Returns [(name, works)] of the calls that `call` makes, and its result."""
        self.learn()
        self.abi.forget_calls()
        try:
            result = call()
        finally:
            self.learn(False)
        return [(name, works) for name, works in self.abi.calls if name], result

    def moved(self, call):
        """Returns (read, written) of the last call of an operator."""
        attributes = [works for _, works in self.learned(call)[0] if works][-1][-1].attributes
        return attributes["read_bytes"], attributes["write_bytes"]

    # --- bytes, by hand: 600 elements of 4 bytes are 2400

    def test_bytes_of_operators_counted_by_hand(self):
        x, y, row, column = torch.ones(20, 30), torch.ones(20, 30), torch.ones(30), torch.ones(20, 1)
        mask, places = torch.ones(20, 30, dtype=torch.bool), torch.tensor([1, 5, 5])
        half, weight = torch.ones(20, 30, dtype=torch.bfloat16), torch.ones(50, 7)
        for name, call, expected in (
                ("two inputs", lambda: x + y, (4800, 2400)),
                ("the same twice", lambda: x * x, (2400, 2400)),
                ("a row for all", lambda: x + row, (2400 + 120, 2400)),
                ("a stride of 0", lambda: x * column.expand(20, 30), (2400 + 80, 2400)),
                ("every second", lambda: x[:, ::2].exp(), (1200, 1200)),
                ("overlapping windows", lambda: row.unfold(0, 3, 1).abs(), (120, 28 * 3 * 4)),
                ("in place", lambda: x.add_(1), (2400, 2400)),
                ("filled", lambda: x.fill_(1.0), (0, 2400)),
                ("copied onto", lambda: x.copy_(y), (2400, 2400)),
                ("cast", lambda: x.to(torch.bfloat16), (2400, 1200)),
                ("of two types", lambda: x + half, (3600, 2400)),
                ("a mask", lambda: torch.where(mask, x, y), (4800 + 600, 2400)),
                ("a sum", lambda: x.sum(1), (2400, 80)),
                ("a softmax", lambda: F.softmax(x, 1), (2400, 2400)),
                ("together", lambda: torch.cat([x, y]), (4800, 4800)),
                ("rows of a table", lambda: F.embedding(places, weight), (3 * 7 * 4 + 24, 3 * 7 * 4)),
                ("lists", lambda: torch._foreach_mul([x, row], 2.0), (2520, 2520)),
                ("complex", lambda: torch.ones(5, dtype=torch.complex64) * 2, (40, 40)),
                ("nothing", lambda: torch.ones(0) + 1, None)):
            with self.subTest(name):
                if expected is None:
                    self.assertEqual(self.learned(call)[0][-1][1], [])
                else:
                    self.assertEqual(self.moved(call), expected)

    def test_what_only_takes_the_results_is_not_read(self):
        x, y, out = torch.ones(20, 30), torch.ones(20, 30), torch.empty(20, 30)
        self.assertEqual(self.moved(lambda: torch.add(x, y, out=out)), (4800, 2400))
        parts = [torch.empty(20, 10), torch.empty(20, 20)]
        self.assertEqual(self.moved(lambda: torch.split_with_sizes_copy(x, [10, 20], dim=1, out=parts)), (2400, 2400))

    def test_norms_losses_and_steps(self):
        x, w = torch.ones(20, 30), torch.ones(30)
        self.assertEqual(self.moved(lambda: F.layer_norm(x, (30,), w, torch.zeros(30))), (2640, 2400 + 2 * 80))
        target = torch.zeros(20, dtype=torch.int64)
        self.assertEqual(self.moved(lambda: F.nll_loss(x, target)), (160 + 80, 4 + 4))
        parameters = [torch.ones(6, requires_grad=True), torch.ones(4, requires_grad=True)]
        for each in parameters:
            each.grad = torch.ones_like(each)
        optimizer = torch.optim.AdamW(parameters, fused=True)
        optimizer.step()
        read, written = self.moved(optimizer.step)
        self.assertEqual((read, written), (4 * 40 + 2 * 4, 3 * 40))  # and a count of steps for each

    def test_an_operator_of_no_row_is_known_by_its_name(self):
        calls, _ = self.learned(lambda: torch.fft.fft(torch.ones(8)))
        self.assertEqual(calls[-1], ("aten::_fft_r2c", []))

    # --- the program does not notice

    def test_bits_are_the_same(self):
        alone = train(6)
        learned = train(6, lambda step: self.learn(step == 3))
        self.assertEqual(learned, alone)
        names = {name for name, _ in self.abi.calls}
        self.assertLessEqual({"aten::addmm", "aten::gelu", "aten::gelu_backward", "aten::_foreach_addcdiv_"}, names)

    def test_a_mode_of_the_programs_own(self):
        x = torch.ones(3)
        with Names() as own:
            self.learn()
            x + 1
        self.assertEqual(modes(), 1)  # ours alone
        with Names() as other:
            x + 1
            self.learn(False)
            x + 1
        self.assertEqual(modes(), 0)
        self.assertEqual((own.seen, other.seen), (["aten::add"], ["aten::add"] * 2))
        self.assertEqual([name for name, _ in self.abi.calls if name], ["aten::add"] * 2)

    def test_tensors_of_other_kinds(self):
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        sparse = torch.ones(3, 3).to_sparse()
        quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
        for call in (lambda: nested * 2, lambda: sparse * 2, lambda: sparse.coalesce(), lambda: quantized.dequantize(),
                     lambda: quantized.clone()):
            calls, result = self.learned(call)
            self.assertIsNotNone(result)
            self.assertTrue(all(not works for _, works in calls if _ != "aten::empty_like"), calls)
        self.assertEqual(self.learned(lambda: torch.ones(3, device="meta") + 1)[1].device.type, "meta")

    def test_exceptions_go_through(self):
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2|shapes|size"):
            self.learned(lambda: torch.ones(2, 3) @ torch.ones(2, 3))
        with self.assertRaises(RuntimeError):  # no memory
            self.learned(lambda: torch.empty(1 << 60) + 1)
        self.assertEqual(modes(), 0)
        self.assertEqual(self.abi.open_calls, 0)

    def test_calls_without_launches_are_not_described(self):
        x = torch.ones(4, 5)
        self.learn()
        self.abi.launches_of_a_call = 0
        self.abi.forget_calls()
        x.view(20).t()
        self.learn(False)
        self.assertEqual((self.abi.calls, self.abi.open_calls), ([], 0))

    def test_threads_of_the_program(self):
        seen = []
        self.learn()
        thread = threading.Thread(target=lambda: seen.append(modes()))
        thread.start()
        thread.join()
        # A thread that ends the iteration elsewhere cannot reach this thread's stack, and does no harm.
        thread = threading.Thread(target=lambda: self.learn(False))
        thread.start()
        thread.join()
        self.abi.forget_calls()
        (torch.ones(3) + 1)
        self.assertEqual((seen, self.abi.calls), ([0], []))
        self.learn(False)
        self.assertEqual(modes(), 0)

    def test_names_outside_modules(self):
        net, scaler = network(), torch.amp.GradScaler("cpu", init_scale=2.0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(6, 8))
        self.learn()
        self.abi.forget_calls()
        loss = F.cross_entropy(net(torch.ones(6, 8)), torch.arange(6) % 4) / 2
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        self.learn(False)
        found = {}
        for (name, _), layer in zip(self.abi.calls, self.abi.layers_of_calls):
            found.setdefault(layer and layer.decode(), set()).add(name.partition("::")[2])
        self.assertIn("addmm", found[None])  # in a module, or an optimizer's step
        self.assertIn("nll_loss_forward", found["cross_entropy"])
        self.assertIn("nll_loss_backward", found["cross_entropy.backward"])
        for layer, name in (("div", "div"), ("div.backward", "div"), ("backward", "ones_like"), ("GradScaler.scale", "mul"),
                            ("GradScaler.scale.backward", "mul"), ("GradScaler.unscale_", "reciprocal"),
                            ("clip_grad_norm_", "linalg_vector_norm"), ("optimizer.SGD.zero_grad", "zero_")):
            self.assertIn(name, {each.removeprefix("_foreach_") for each in found[layer]} | found[layer], found)

    def test_operators_of_higher_order(self):
        x = torch.ones(3)
        calls, result = self.learned(lambda: torch.cond(x.sum() > 1, lambda x: x + 1, lambda x: x - 1, (x,)))
        self.assertEqual(result.tolist(), [2, 2, 2])

    def test_what_is_compiled_stays_compiled(self):
        try:
            compiled = torch.compile(lambda x: x * 2 + 1, backend="eager")
            compiled(torch.ones(3))
        except Exception as error:
            self.skipTest(str(error))
        before = dict(torch._dynamo.utils.counters["frames"])
        _, result = self.learned(lambda: compiled(torch.ones(3)))
        compiled(torch.ones(3))
        self.assertEqual(result.tolist(), [3, 3, 3])
        self.assertEqual(dict(torch._dynamo.utils.counters["frames"]), before)


if __name__ == "__main__":
    unittest.main()
