"""Training and its exceptions stay what they were without us, and nothing of us stays behind."""

import contextlib
import copy
import gc
import importlib
import io
import os
import pickle
import sys
import threading
import unittest
import warnings

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn
from torch.nn.modules import module as module_globals
from torch.overrides import TorchFunctionMode

with contextlib.suppress(ImportError):
    import sympy  # PyTorch 2 imports it when it is first needed, and it sets a filter for warnings

import inline_prof.abi
import inline_prof.torch as hooks
import models
from fake_abi import hooked

STEPS = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it


def global_state():
    """Everything of PyTorch's that hooks of ours could be in."""
    return [nn.Module._call_impl,
            dict(module_globals._global_forward_pre_hooks), dict(module_globals._global_forward_hooks),
            dict(module_globals._global_backward_hooks),
            dict(STEPS._global_optimizer_pre_hooks),
            dict(STEPS._global_optimizer_post_hooks),
            nn.functional.__dict__.get("scaled_dot_product_attention"), nn.Module.__call__,
            torch.__dict__.get("_grouped_mm"), torch.autograd._engine_run_backward, list(warnings.filters)]


def train(model, batch, loss, steps=4, accumulate=1):
    """Losses, and the parameters at the end."""
    torch.manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        for _ in range(accumulate):
            inputs, target = batch()
            value = loss(model(*inputs), target)
            losses.append(value.item())
            value.backward()
        optimizer.step()
        optimizer.zero_grad()
    return losses, [p.detach().clone() for p in model.parameters()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x):
        return self.second(self.first(x))


class HostTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.before = global_state()
        self.x = torch.randn(3, 4)
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def tearDown(self):
        self.assertEqual(global_state(), self.before)

    def check_training(self, model, batch, loss):
        alone = train(copy.deepcopy(model), batch, loss)
        with hooked():
            watched = train(copy.deepcopy(model), batch, loss)
        self.assertEqual(alone[0], watched[0])
        for one, other in zip(alone[1], watched[1]):
            self.assertTrue(torch.equal(one, other))

    def test_training_gives_the_same_bits(self):
        self.check_training(models.gpt(), models.gpt_batch, models.gpt_loss)
        self.check_training(models.dlrm(), models.dlrm_batch, models.dlrm_loss)

    def test_two_imports_set_one_pair_of_hooks(self):
        with hooked():
            self.assertTrue(hooks.install())
            self.assertIs(nn.Module._call_impl.__wrapped__, self.before[0])
            self.assertTrue(hooks.is_active())
        self.assertFalse(hooks.is_active())

    def test_without_the_library_nothing_is_hooked(self):
        self.assertIsNone(inline_prof.abi.find())
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertFalse(hooks.install())
        self.assertEqual(said.getvalue(), "")
        self.assertEqual(global_state(), self.before)

    def test_hooks_are_gone_once_the_library_has_ended(self):
        with hooked() as abi:
            self.model(self.x).sum().backward()
            self.optimizer.step()
            self.assertTrue(hooks.is_active())
            abi.wanted = 0
            pending = Net()(self.x).sum()
            self.optimizer.step()
            self.assertFalse(hooks.is_active())
            self.assertEqual(global_state(), self.before)
            paths = []
            abi.on_path = paths.append
            pending.backward()  # its nodes have hooks of ours
            self.model(self.x).sum().backward()
            self.assertEqual(paths, [])

    def test_hooks_of_modules_are_gone_once_layers_are_not_wanted(self):
        with hooked() as abi:
            abi.wanted &= ~inline_prof.abi.WANTS_LAYERS
            self.optimizer.step()
            self.assertEqual(global_state()[:4], self.before[:4])
            self.optimizer.step()
            self.assertEqual(abi.iterations, 2)

    def test_a_compiled_program_is_compiled_once_whatever_is_wanted(self):
        class Attends(nn.Module):
            def forward(self, x):
                return nn.functional.scaled_dot_product_attention(x, x, x)

        class Breaks(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention, self.last = Attends(), nn.Linear(4, 4)

            def forward(self, x):
                x = self.attention(x)
                torch._dynamo.graph_break()
                return self.last(x)

        graphs = []

        def compile_graph(graph, _):
            graphs.append(graph)
            return graph.forward

        model = Breaks()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        compiled = torch.compile(model, backend=compile_graph)
        compiled(self.x).sum().backward()
        alone = len(graphs)
        self.assertGreater(alone, 1)
        torch._dynamo.reset()
        graphs.clear()
        with hooked() as abi:
            everything = abi.wanted
            for abi.wanted in (everything, inline_prof.abi.WANTS_LAYERS_LATER, everything,
                               inline_prof.abi.WANTS_ITERATIONS, everything, 0):
                compiled(self.x).sum().backward()
                optimizer.step()
            compiled(self.x)
        self.assertEqual(len(graphs), alone)

    def test_the_end_in_a_step_leaves_the_hooks_behind_ours_alone(self):
        steps = []
        with hooked() as abi:
            handles = [STEPS.register_optimizer_step_pre_hook(lambda *_: steps.append("before")),
                       STEPS.register_optimizer_step_post_hook(lambda *_: steps.append("after"))]
            abi.wanted = 0
            self.optimizer.step()
            self.assertFalse(hooks.is_active())
            self.model(self.x)  # where ours are taken out
            handles.reverse()
            for handle in handles:
                handle.remove()
            self.assertEqual(global_state(), self.before)
        self.assertEqual(steps, ["before", "after"])

    def test_the_end_while_an_exception_leaves_a_module(self):
        class Raises(nn.Module):
            def forward(self, x):
                raise ValueError("mine")

        model = Raises()
        calls = []
        with hooked() as abi:
            handle = module_globals.register_module_forward_hook(
                lambda *_: calls.append(1), always_call=True)
            abi.wanted = 0
            for _ in range(200):
                with self.assertRaisesRegex(ValueError, "mine"):
                    model(self.x)
            self.assertFalse(hooks.is_active())
            handle.remove()
            self.assertEqual(global_state(), self.before)
        self.assertEqual(len(calls), 200)

    def test_the_end_while_another_thread_is_in_a_step(self):
        inside, go_on = threading.Event(), threading.Event()
        raised = []

        def wait(*_):
            if threading.current_thread() is thread:
                inside.set()
                go_on.wait(20)

        def step():
            try:
                torch.optim.SGD([torch.zeros(1)], lr=0.1).step()
            except RuntimeError as error:
                raised.append(error)

        thread = threading.Thread(target=step)
        handle = STEPS.register_optimizer_step_pre_hook(wait)
        with hooked() as abi:
            thread.start()
            self.assertTrue(inside.wait(20))
            abi.wanted = 0
            torch.optim.SGD([torch.zeros(1)], lr=0.1).step()
            self.assertFalse(hooks.is_active())
            go_on.set()
            thread.join()
            Net()(self.x)  # where ours are taken out
        self.assertEqual(raised, [])
        handle.remove()

    def test_a_program_that_only_evaluates_asks_now_and_then(self):
        with hooked() as abi:
            abi.wanted = 0
            for _ in range(200):
                self.model(self.x)
            self.assertFalse(hooks.is_active())

    def test_hooks_of_others_see_and_change_what_they_did(self):
        def run(model):
            seen = []
            handles = [
                module_globals.register_module_forward_pre_hook(
                    lambda m, args: seen.append(("before", type(m).__name__))),
                module_globals.register_module_forward_hook(
                    lambda m, args, out: seen.append(("after", type(m).__name__)) or out * 2),
                model.first.register_forward_pre_hook(lambda m, args: (args[0] + 1,)),
                model.first.register_full_backward_hook(
                    lambda m, grad_in, grad_out: seen.append("backward")),
            ]
            output = model(self.x)
            output.sum().backward()
            gradient = model.first.weight.grad.clone()
            for handle in handles:
                handle.remove()
            return seen, output.detach(), gradient

        alone = run(copy.deepcopy(self.model))
        with hooked():
            watched = run(copy.deepcopy(self.model))
        self.assertEqual(alone[0], watched[0])
        self.assertTrue(torch.equal(alone[1], watched[1]))
        self.assertTrue(torch.equal(alone[2], watched[2]))

    def test_copies_and_pickles_of_a_model_have_no_trace_of_us(self):
        optimizer = torch.optim.Adam(self.model.parameters())

        def state_of(each):
            return {name: sorted(m.__dict__) for name, m in each.named_modules()}

        self.model(self.x).sum().backward()
        optimizer.step()
        untouched = state_of(self.model)
        with hooked():
            self.model(self.x).sum().backward()
            optimizer.step()
            self.assertEqual(state_of(self.model), untouched)
            self.assertEqual(state_of(copy.deepcopy(self.model)), untouched)
            pickled = pickle.dumps(self.model)
            pickled_optimizer = pickle.dumps(optimizer)
        self.assertNotIn(b"inline_prof", pickled)
        self.assertNotIn(b"inline_prof", pickled_optimizer)
        self.assertTrue(torch.equal(pickle.loads(pickled)(self.x), self.model(self.x)))

    def test_a_result_is_saved_without_a_warning(self):
        with hooked(), warnings.catch_warnings():
            warnings.simplefilter("error")
            output = self.model(self.x)
            torch.save(output, io.BytesIO())
            self.assertFalse(output._backward_hooks)

    def test_scripted_and_traced_modules(self):
        model = Net().eval()
        alone = (torch.jit.script(model), torch.jit.trace(model, self.x))
        with hooked() as abi:
            paths = []
            for _ in range(2):  # functions are patched after the first call of a root
                scripted, traced = torch.jit.script(model), torch.jit.trace(model, self.x)
                self.assertEqual(scripted.code, alone[0].code)
                self.assertEqual(traced.code, alone[1].code)
                abi.on_path = paths.append
                self.assertTrue(torch.equal(scripted(self.x), model(self.x)))
                self.assertTrue(torch.equal(traced(self.x), model(self.x)))
                scripted(self.x).sum().backward()
                abi.on_path = lambda path: None
        self.assertIn("Net", {path.partition(".")[0].rstrip("_0123456789") for path in paths})

    def test_a_module_with_ways_of_its_own(self):
        class Odd(nn.Module):
            def __eq__(self, other):
                raise RuntimeError("compared")

            __hash__ = None

            def __len__(self):
                return 0

            def __getattr__(self, name):
                if name == "asked":
                    raise RuntimeError("asked")
                return super().__getattr__(name)

            def forward(self, x):
                return x + 1

        with hooked():
            odd = Odd()
            model = nn.ReLU()
            model.odd = odd
            self.assertTrue(torch.equal(odd(self.x), self.x + 1))
            self.assertTrue(torch.equal(model(self.x), self.x.relu()))
            self.assertTrue(hooks.is_active())

    def test_a_subclass_of_tensor_is_not_asked(self):
        asked = []

        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = self.x.as_subclass(Mine)
        nn.Identity()(x)
        asked.clear()
        with hooked():
            nn.Identity()(x)
        self.assertEqual(asked, [])

    def test_a_mode_for_functions_sees_the_programs_own(self):
        class Seeing(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        heads = torch.randn(1, 2, 4, 8)
        model = nn.Sequential(nn.LayerNorm(4), nn.Softmax(-1), nn.Embedding(4, 4))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def seen_in_a_step():
            nn.Identity()(self.x)  # functions are hooked behind the first call of a module
            seen.clear()
            with Seeing():
                nn.functional.scaled_dot_product_attention(heads, heads, heads)
                model[1](model[0](heads[..., :4]))
                optimizer.step()
            return list(seen)

        seen = []
        alone = seen_in_a_step()
        self.assertIn("scaled_dot_product_attention", alone)
        with hooked():
            self.assertEqual(seen_in_a_step(), alone)

    def test_views_that_autograd_refuses_are_refused_as_before(self):
        base = torch.randn(4, requires_grad=True) * 1
        with torch.no_grad():
            view = base[:2]
        base.mul_(2)

        def error_of(work):
            try:
                work()
            except RuntimeError as error:
                return str(error)
            return None

        alone = error_of(lambda: nn.Identity()(view).grad_fn)
        self.assertIn("no_grad", alone)
        with hooked():
            self.assertEqual(error_of(lambda: nn.Identity()(view).grad_fn), alone)
            self.assertTrue(hooks.is_active())

    def test_without_gradients(self):
        with hooked():
            with torch.no_grad():
                self.assertFalse(self.model(self.x).requires_grad)
            with torch.inference_mode():
                self.assertTrue(self.model(self.x).is_inference())

    def test_a_fault_of_ours_ends_the_names_and_nothing_else(self):
        def fail(key, word):
            raise ZeroDivisionError("planted")

        alone = self.model(self.x)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), hooked() as abi:
            abi.layer_follow = fail
            hooks.remove()
            self.assertTrue(hooks.install())
            self.assertTrue(torch.equal(self.model(self.x), alone))
            self.assertTrue(torch.equal(self.model(self.x), alone))
            self.assertFalse(hooks.is_active())
        self.assertEqual(said.getvalue(),
                         "inline_prof: module names end here: ZeroDivisionError: planted\n")

    def test_a_fault_of_ours_where_stderr_is_closed(self):
        def fail():
            raise ZeroDivisionError("planted")

        stderr, sys.stderr = sys.stderr, None
        try:
            with hooked() as abi:
                hooks.remove()
                abi.layer_follow = lambda key, word: fail()
                hooks.install()
                self.model(self.x)
                self.assertFalse(hooks.is_active())
        finally:
            sys.stderr = stderr

    def test_a_forked_child_is_off_and_its_parent_is_not(self):
        with hooked():
            self.model(self.x)
            child = os.fork()
            if child == 0:
                hidden = hooks.is_active() or global_state() != self.before or hooks.install()
                os._exit(1 if hidden else 0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(hooks.is_active())

    def test_workers_of_a_data_loader(self):
        class Active(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return int(hooks.is_active())

        with hooked():
            loader = torch.utils.data.DataLoader(Active(), batch_size=2, num_workers=2)
            self.assertEqual([batch.tolist() for batch in loader], [[0, 0], [0, 0]])
            self.assertTrue(hooks.is_active())

    def test_threads_that_train_at_the_same_time(self):
        def work():
            try:
                train(Net(), lambda: ((torch.randn(3, 4),), torch.zeros(3, 2)),
                      lambda y, t: (y - t).square().mean(), steps=30)
            except Exception as error:
                errors.append(error)

        errors = []
        with hooked():
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertTrue(hooks.is_active())
        self.assertEqual(errors, [])

    def test_memory_does_not_grow_with_iterations(self):
        model = models.gpt()
        with hooked():
            train(model, models.gpt_batch, models.gpt_loss)
            gc.collect()
            before = len(gc.get_objects())
            train(model, models.gpt_batch, models.gpt_loss, steps=12)
            gc.collect()
            self.assertLess(len(gc.get_objects()) - before, 50)


if __name__ == "__main__":
    unittest.main()
