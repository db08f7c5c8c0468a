"""Checks which optimizers' steps end iterations."""

import gc
import importlib
import threading
import unittest
import unittest.mock
import weakref

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn

import inline_prof.torch as hooks
from fake_abi import HookedTest
from inline_prof.abi import WANTS_ITERATIONS, WANTS_TO_WAKE


STEPS = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it


def optimizer_of(model=None):
    return torch.optim.SGD((model or nn.Linear(2, 2)).parameters(), lr=0.1)


class IterationsTest(HookedTest):
    def ends(self, steps):
        """Returns for each step how many iterations ended with it."""
        result = []
        for optimizer in steps:
            before = self.abi.iterations
            optimizer.step()
            result.append(self.abi.iterations - before)
        return result

    def test_each_step_of_one_optimizer(self):
        self.assertEqual(self.ends([optimizer_of()] * 3), [1, 1, 1])
        self.assertEqual(self.abi.facts["iterations"], "optimizer step")

    def test_a_program_without_steps_says_that_its_modules_are_named(self):
        nn.Linear(2, 2)(torch.ones(1, 2))
        self.assertEqual(self.abi.facts, {"torch": torch.__version__})

    def test_accumulated_gradients_are_one_iteration(self):
        model = nn.Linear(2, 2)
        optimizer = optimizer_of(model)
        for _ in range(3):
            for _ in range(4):
                model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        self.assertEqual(self.abi.iterations, 3)

    @unittest.skipUnless(torch.backends.cuda.is_built(), "a PyTorch without CUDA")
    def test_a_step_in_a_graph_is_made_by_its_replays(self):
        optimizer = optimizer_of()
        self.assertEqual(self.ends([optimizer] * 3), [1, 1, 1])
        with unittest.mock.patch.multiple(
                torch.cuda.CUDAGraph.__base__, create=True, capture_begin=lambda *_, **__: None,
                capture_end=lambda _: None, replay=lambda _: None,
                # PyTorch 2.15's capture_end() calls these.
                capture_end_pre=lambda _: None, instantiate=lambda _: None, capture_end_post=lambda _: None):
            graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
            graph.capture_begin()
            self.assertEqual(self.ends([optimizer]), [0])
            graph.capture_end()
            other.capture_begin()
            other.capture_end()
            for _ in range(3):
                other.replay()
                graph.replay()
        self.assertEqual(self.abi.iterations, 6)
        self.assertEqual(self.ends([optimizer]), [1])
        self.assertEqual(self.abi.iterations, 7)

    def test_two_networks_against_each_other(self):
        one, other = optimizer_of(), optimizer_of()
        self.assertEqual(self.ends([one, other] * 4), [1, 0] + [0, 1] * 3)

    def test_five_steps_of_one_to_one_of_the_other(self):
        critic, generator = optimizer_of(), optimizer_of()
        ends = self.ends(([critic] * 5 + [generator]) * 4)
        self.assertEqual(ends, [1] * 5 + [0] + [0, 0, 0, 0, 0, 1] * 3)

    def test_a_generator_that_begins_later(self):
        critic, generator = optimizer_of(), optimizer_of()
        self.ends([critic] * 30)
        self.assertEqual(self.ends([critic, critic, generator] * 3), [1, 1, 0] + [0, 0, 1] * 2)

    def test_an_optimizer_for_each_of_many_parameters(self):
        optimizers = [optimizer_of() for _ in range(150)]
        ends = self.ends(optimizers * 3)
        self.assertEqual([sum(ends[i:i + 150]) for i in (0, 150, 300)], [1, 1, 1])
        self.assertEqual([ends[299], ends[449]], [1, 1])

    def test_an_optimizer_that_is_made_for_one_step(self):
        outer = optimizer_of()
        before = self.abi.iterations
        for _ in range(6):
            self.ends([optimizer_of(), outer])
        self.assertGreaterEqual(self.abi.iterations - before, 5)

    def test_an_optimizer_that_is_not_used_any_more(self):
        one, other = optimizer_of(), optimizer_of()
        self.ends([one, other] * 2)
        self.assertEqual(self.ends([one] * 70)[-3:], [1, 1, 1])

    def test_an_optimizer_that_is_gone(self):
        one = optimizer_of()
        self.ends([one, optimizer_of()])
        gc.collect()
        self.assertEqual(self.ends([one] * 3), [1, 1, 1])

    def test_a_step_with_a_closure(self):
        model = nn.Linear(2, 2)
        optimizer = torch.optim.LBFGS(model.parameters())

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(1, 2)).square().sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        self.assertEqual(self.abi.iterations, 2)

    def test_marks_by_hand_take_the_place_of_steps(self):
        optimizer = optimizer_of()
        self.ends([optimizer])
        hooks.iteration()
        self.assertEqual(self.abi.iterations, 2)
        self.assertEqual(self.ends([optimizer] * 2), [0, 0])
        hooks.iteration()
        self.assertEqual(self.abi.iterations, 3)

    def test_nothing_is_called_until_the_library_wakes_us(self):
        optimizer = optimizer_of()
        hooked_pass = torch.autograd._engine_run_backward
        self.ends([optimizer])
        self.abi.wanted = WANTS_TO_WAKE
        self.assertEqual(self.ends([optimizer] * 3), [1, 0, 0])
        self.assertIs(torch.autograd._engine_run_backward, hooked_pass.__wrapped__)
        self.assertFalse(nn.modules.module._has_any_global_hook())
        self.abi.wanted = WANTS_ITERATIONS

        def closure():
            self.abi.work_of_wake()  # a launch inside a step may be the one that wakes
            return torch.zeros(())

        optimizer.step(closure)
        self.assertEqual(self.ends([optimizer] * 2), [1, 1])
        self.assertEqual(self.abi.iterations, 5)

    def test_a_thread_that_cannot_be_woken_is_called(self):
        thread = threading.Thread(target=self.ends, args=([optimizer_of()],))
        thread.start()
        thread.join()
        self.assertIsNone(self.abi.work_of_wake)

    def test_a_scheduler_and_an_optimizer_made_before_the_hooks(self):
        hooks.remove()
        optimizer = optimizer_of()
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        self.assertTrue(hooks.install())
        for _ in range(2):
            optimizer.step()
            scheduler.step()
        self.assertEqual(self.abi.iterations, 2)


class StepHooksTest(HookedTest):
    """Paths and closures during a step."""

    def setUp(self):
        super().setUp()
        self.paths = []

    def step(self, optimizer, work=lambda: None):
        def closure():
            self.paths.append(self.abi.path())
            work()
            return torch.zeros(())

        optimizer.step(closure)

    def telling(self, name):
        """Returns an optimizer of a class of this name, whose steps add their path to `paths`."""
        def step(_, closure=None):
            if closure is not None:
                closure()
            self.paths.append(self.abi.path())

        return type(name, (torch.optim.SGD,), {"step": step})(nn.Linear(2, 2).parameters(), lr=0.1)

    def test_a_step_has_a_path(self):
        self.telling("One").step()
        self.assertEqual(self.paths, ["optimizer.One"])
        self.assertEqual((self.abi.path(), self.abi.iterations), ("", 1))

    def test_a_closure_is_no_part_of_the_step(self):
        self.step(self.telling("One"))
        self.assertEqual(self.paths, ["", "optimizer.One"])
        self.assertEqual((self.abi.path(), self.abi.iterations), ("", 1))

    def test_a_closure_looks_as_it_did(self):
        class Closure:
            told = 3

            def __call__(self):
                return 4

        seen = []

        def step(_, closure):
            seen.append((closure.told, closure()))

        type("One", (torch.optim.SGD,), {"step": step})(nn.Linear(2, 2).parameters(), lr=0.1).step(closure=Closure())
        self.assertEqual(seen, [(3, 4)])

    def test_a_step_inside_a_step_is_a_part_of_it(self):
        inner = self.telling("Inner")
        for _ in range(3):
            self.step(self.telling("Outer"), inner.step)
        self.assertEqual(self.paths[:3], ["", "optimizer.Inner", "optimizer.Outer"])
        self.assertEqual((self.abi.path(), self.abi.iterations), ("", 3))

    def test_a_step_that_raises(self):
        optimizer = optimizer_of()

        def fail():
            raise ValueError

        with self.assertRaises(ValueError):
            self.step(optimizer, fail)
        self.step(optimizer)
        self.assertEqual(self.abi.iterations, 1)

    def test_a_step_that_raises_before_those_of_another_optimizer(self):
        optimizer = optimizer_of()
        alive = weakref.ref(optimizer)

        def fail():
            raise ValueError

        with self.assertRaises(ValueError):
            self.step(optimizer, fail)
        del optimizer
        gc.collect()
        self.assertIsNone(alive())
        other = optimizer_of()
        self.step(other, self.telling("Inner").step)
        self.step(other)
        self.assertEqual(self.abi.iterations, 2)

    def test_a_closure_runs_under_the_modules_paths(self):
        model = nn.Linear(2, 2)
        seen = []
        self.abi.on_path = seen.append
        self.step(optimizer_of(model), lambda: model(torch.ones(1, 2)))
        self.assertEqual([path for path in seen if path], ["optimizer.SGD", "Linear", "optimizer.SGD"])
        self.assertEqual(seen[-1], "")

    def test_hooks_are_removed(self):
        hooks.remove()
        self.assertEqual((STEPS._global_optimizer_pre_hooks, STEPS._global_optimizer_post_hooks), ({}, {}))


if __name__ == "__main__":
    unittest.main()
