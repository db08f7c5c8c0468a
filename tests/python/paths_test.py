"""Checks the paths that the library is told, in programs of every shape."""

import gc
import threading
import unittest
import unittest.mock
import weakref

from needs import torch_or_skip

torch = torch_or_skip()
from torch import nn
from torch.utils.checkpoint import checkpoint

import inline_prof.torch as hooks
import models
from fake_abi import EVERYTHING, HookedTest
from inline_prof.abi import WANTS_ITERATIONS, WANTS_LAYERS_LATER


class Told(nn.Module):
    """A layer that notes the path it is called under."""

    def __init__(self, abi, log):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.abi = abi
        self.log = log

    def forward(self, x):
        self.log.append(self.abi.path())
        return x * self.weight


class Calls(nn.Module):
    """Calls the given modules in order."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class CapturesGraph(Calls):
    """Begins a capture in its forward pass."""

    def forward(self, x):
        hooks._active._learning.capture_begins()
        return super().forward(x)


def module(name, forward, **parts):
    """Returns a module of a class of this name, with these parts."""
    made = type(name, (nn.Module,), {"forward": forward})()
    for part, value in parts.items():
        setattr(made, part, value)
    return made


def raises(self, x):
    raise ValueError


class PathsTest(HookedTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self.assertEqual(self.abi.path(), "", "a path was left open"))
        self.log = []
        self.x = torch.ones(3)

    def told(self):
        return Told(self.abi, self.log)

    def backward_paths(self, output):
        paths = []
        self.abi.on_path = paths.append
        output.sum().backward()
        self.abi.on_path = lambda path: None
        return paths

    def test_a_module_in_a_list_in_a_module(self):
        Calls(Calls(self.told()), self.told())(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.parts.0", "Calls.parts.1"])

    def test_modules_have_no_path_while_the_library_knows_the_names(self):
        optimizer = torch.optim.SGD([torch.ones((), requires_grad=True)])
        model = Calls(self.told())
        self.abi.wanted = WANTS_ITERATIONS | WANTS_LAYERS_LATER
        optimizer.step()
        self.assertEqual(self.backward_paths(model(self.x)), [])
        # A capture in a module's forward pass: its graph has the names for good.
        model.parts.append(CapturesGraph(self.told()))
        model(self.x)
        self.assertEqual(self.log, ["", "", "Calls.parts.1.parts.0"])
        optimizer.step()
        self.abi.wanted = EVERYTHING
        optimizer.step()
        model(self.x)
        self.assertEqual(self.log[-1], "Calls.parts.1.parts.0")

    def test_two_roots_of_one_class_have_two_names(self):
        first, second = Calls(self.told()), Calls(self.told())
        first(self.x), second(self.x), first(self.x)
        self.assertEqual(self.log, ["Calls.parts.0", "Calls_2.parts.0", "Calls.parts.0"])

    def test_the_name_of_a_root_that_is_gone_is_free_again(self):
        for _ in range(3):
            Calls(self.told())(self.x)
            gc.collect()
        self.assertEqual(set(self.log), {"Calls.parts.0"})

    def test_a_shared_module_has_the_path_it_is_called_by(self):
        shared = self.told()
        model = Calls(Calls(shared), Calls(shared))
        for _ in range(2):
            model(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.parts.0", "Calls.parts.1.parts.0"] * 2)

    def test_a_module_that_is_registered_nowhere_is_named_by_its_class(self):
        hidden = self.told()
        module("Caller", lambda _, x: hidden(x))(self.x)
        self.assertEqual(self.log, ["Caller.Told"])

    def test_a_module_that_calls_itself(self):
        def forward(self, x, times):
            x = self.told(x)
            return self(x, times - 1) if times else x

        for _ in range(2):
            module("Again", forward, told=self.told())(self.x, 3)
        self.assertEqual(set(self.log), {"Again.told"})
        self.assertEqual(len(self.log), 8)

    def test_a_module_that_is_replaced(self):
        model = Calls(self.told(), self.told())
        model(self.x)
        model.parts[1] = Calls(self.told())
        gone = weakref.ref(model.parts[0])
        model.parts[0] = self.told()
        model(self.x)
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(self.log[2:], ["Calls.parts.0", "Calls.parts.1.parts.0"])

    def test_an_exception_in_forward_goes_through_and_leaves_no_path(self):
        error = ValueError("mine")

        def raises_mine(self, x):
            raise error

        model = Calls(Calls(self.told(), module("Raises", raises_mine)))
        with self.assertRaises(ValueError) as caught:
            model(self.x)
        self.assertIs(caught.exception, error)
        other = Calls(self.told())
        other(self.x)
        self.assertEqual(self.log[-1], "Calls_2.parts.0")
        self.assertEqual(self.abi.path(), "")
        with self.assertRaises(ValueError):
            model(self.x)
        with self.assertRaises(ValueError):
            model(self.x)
        self.assertEqual(self.log[-1], "Calls.parts.0.parts.0")

    def test_an_exception_that_the_caller_catches(self):
        def tells_and_raises(self, x):
            self.told(x)
            raise ValueError

        def catches(self, x):
            for _ in range(2):
                try:
                    self.bad(x)
                except ValueError:
                    x = self.good(x)
            return x

        bad = module("Raises", tells_and_raises, told=self.told())
        model = Calls(module("Catches", catches, bad=Calls(bad), good=self.told()))
        del bad
        for _ in range(2):
            model(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.bad.parts.0.told", "Calls.parts.0.good"] * 4)

    def test_a_model_that_raised_is_not_kept_alive(self):
        model = Calls(module("Raises", raises))
        gone = weakref.ref(model)
        try:
            model(self.x)
        except ValueError:
            pass
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_a_model_that_was_trained_is_not_kept_alive(self):
        model = models.gpt()
        gone = weakref.ref(model)
        inputs, target = models.gpt_batch()
        models.gpt_loss(model(*inputs), target).backward()
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_a_part_of_a_known_model_that_is_called_by_itself(self):
        model = Calls(Calls(self.told()))
        model(self.x)
        model.parts[0](self.x)
        self.assertEqual(self.log, ["Calls.parts.0.parts.0"] * 2)

    def test_wrappers_are_no_layers(self):
        inner = module("CheckpointWrapper", lambda own, x: own._checkpoint_wrapped_module(x),
                       _checkpoint_wrapped_module=Calls(self.told()))
        module("DistributedDataParallel", lambda own, x: own.module(x), module=Calls(inner))(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.parts.0"])

    def test_a_sharded_model_has_the_names_of_one_that_is_not(self):
        class FSDPModule:
            pass

        def fully_shard(whole):  # as PyTorch's
            kind = type(whole)
            whole.__class__ = type("FSDP" + kind.__name__, (FSDPModule, kind), {})
            return whole

        hidden = fully_shard(self.told())
        model = fully_shard(Calls(fully_shard(Calls(self.told())), module("Hidden", lambda _, x: hidden(x))))
        model(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.parts.0", "Calls.parts.1.Told"])

    def test_a_compiled_module_is_one_piece_with_its_name(self):
        self.addCleanup(torch._dynamo.reset)
        paths = []
        self.abi.on_path = paths.append
        compiled = torch.compile(Calls(nn.Linear(3, 3), nn.LayerNorm(3)), backend=lambda graph, _: graph.forward)
        for _ in range(2):
            output = compiled(self.x)
            self.assertEqual((set(paths), paths[-1]), ({"Calls", ""}, ""))
            self.assertEqual(self.backward_paths(output), ["Calls.backward", ""])

    def test_threads_have_paths_of_their_own(self):
        meeting = threading.Barrier(2)
        seen = []

        def meets(_, x):
            meeting.wait(20)
            return x

        def work():
            Calls(module("Meets", meets))(torch.ones(1))
            seen.append(True)

        threads = [threading.Thread(target=work) for _ in range(2)]
        paths = []
        self.abi.on_path = lambda path: paths.append(sorted(self.abi.open_paths()))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 2)
        self.assertIn(["Calls.parts.0", "Calls_2.parts.0"], paths)
        self.assertEqual(paths[-1], [])

    # --- backward

    def test_backward_has_the_paths_in_reverse(self):
        model = Calls(self.told(), Calls(self.told()))
        paths = self.backward_paths(model(torch.ones(3, requires_grad=True)))
        self.assertEqual(paths, ["Calls.parts.1.parts.0.backward", "Calls.parts.0.backward", ""])

    def test_what_the_caller_does_between_two_modules(self):
        model = module("Between", lambda own, x: own.second(own.first(x).exp()), first=self.told(), second=self.told())
        paths = self.backward_paths(model(self.x))
        self.assertEqual(paths, ["Between.second.backward", "Between.backward",
                                 "Between.first.backward", ""])

    def test_what_the_program_does_before_a_model_has_no_layer(self):
        for _ in range(2):  # hooks that were set anew do the same
            hooks.remove()
            self.assertTrue(hooks.install())
            x = torch.ones(3, requires_grad=True).exp()
            paths = self.backward_paths(self.told()(x))
            self.assertEqual(paths, ["Told.backward", "", ""])

    def test_results_in_tuples_and_dicts(self):
        for wrap, unwrap in ((lambda y: (1, y), lambda r: r[1]),
                             (lambda y: {"y": y}, lambda r: r["y"])):
            model = module("Gives", lambda own, x: own.wrap(own.told(x).exp()), told=self.told(), wrap=wrap)
            paths = self.backward_paths(unwrap(model(self.x)))
            self.assertEqual([path.partition(".")[2] for path in paths],
                             ["backward", "told.backward", ""])

    def test_a_backward_pass_from_what_no_module_returns(self):
        def keeps(self, x):
            self.kept = self.told(x)

        model = module("Keeps", keeps, told=self.told())
        model(self.x)
        self.assertEqual(self.backward_paths(model.kept), ["Keeps.told.backward", ""])

    def test_a_backward_pass_on_another_thread(self):
        output = Calls(self.told(), self.told())(self.x)
        paths = []
        thread = threading.Thread(target=lambda: paths.extend(self.backward_paths(output)))
        thread.start()
        thread.join()
        self.assertEqual([path for path in paths if path], ["Calls.parts.1.backward", "Calls.parts.0.backward"])

    def test_a_backward_pass_leaves_nothing_that_autograds_thread_frees(self):
        engine = unittest.mock.Mock(wraps=torch.autograd.Variable._execution_engine)
        with unittest.mock.patch.object(torch.autograd.Variable, "_execution_engine", engine):
            self.assertEqual(self.backward_paths(Calls(self.told())(self.x)), ["Calls.parts.0.backward", ""])
        engine.queue_callback.assert_not_called()

    def test_a_backward_pass_that_is_given_up(self):
        def give_up(_):
            raise KeyError("mine")

        model = Calls(self.told(), self.told())
        x = torch.ones(3, requires_grad=True)
        x.register_hook(give_up)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertRaises(KeyError):
            model(x).sum().backward()
        optimizer.step()
        self.assertEqual(self.abi.path(), "")
        self.assertEqual(self.backward_paths(model(self.x))[-1], "")

    def test_a_second_derivative(self):
        model = models.dlrm()
        inputs, _ = models.dlrm_batch()
        dense = inputs[0].requires_grad_()
        gradient, = torch.autograd.grad(model(dense, inputs[1]).sum(), dense, create_graph=True)
        gradient.square().sum().backward()

    def test_a_backward_pass_inside_forward(self):
        def forward(self, x):
            self.first(x).sum().backward()
            return self.second(x)

        told = self.told()
        Calls(module("Inner", forward, first=told, second=told))(self.x)
        self.assertEqual(self.log, ["Calls.parts.0.first"] * 2)

    # --- activation checkpointing

    def test_what_is_computed_again_has_its_path(self):
        for use_reentrant in (True, False):
            with self.subTest(use_reentrant=use_reentrant):
                def forward(self, x):
                    for block in self.blocks:
                        x = checkpoint(block, x.exp(), use_reentrant=use_reentrant)
                    return x

                self.log.clear()
                model = module("Net", forward, blocks=nn.ModuleList(Calls(self.told()) for _ in range(3)))
                output = model(torch.zeros(3, requires_grad=True))
                forward = ["%s.blocks.%d.parts.0" % (self.log[0].partition(".")[0], i)
                           for i in range(3)]
                self.assertEqual(self.log, forward)
                self.log.clear()
                paths = self.backward_paths(output)
                self.assertEqual(self.log, forward[::-1])
                once = list(dict.fromkeys(p for p in paths if p.endswith("parts.0.backward")))
                self.assertEqual(once, [path + ".backward" for path in forward[::-1]])
                self.assertEqual(paths[-1], "")


if __name__ == "__main__":
    unittest.main()
