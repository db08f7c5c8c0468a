"""Python hosts under the preloaded library, on the simulated GPU."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import unittest

from needs import FolderTest

HOSTS = pathlib.Path(__file__).resolve().parent / "hosts"
OPTIONS = None


def needs_torch(test):
    """Skips the test without PyTorch."""
    def checked(self):
        if not OPTIONS.torch_python:
            self.skipTest("no PyTorch")
        test(self)

    return checked


class SimulatedGpuTest(FolderTest):
    def run_host(self, name, *arguments, options=(), python=sys.executable, switches=(), **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("INLINE_PROF", "PROFILING", "PYTHONPATH"))}
        environment.update({"LD_LIBRARY_PATH": "%s:%s" % (OPTIONS.simulated_gpu, OPTIONS.toolkit), "INLINE_PROF_REPEAT": "3",
                            "INLINE_PROF_WARMUP": "4", "INLINE_PROF_OVERHEAD": "0", **variables})
        done = subprocess.run(
            [OPTIONS.prof_run, *options, "--", python, *switches, str(HOSTS / name), *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def profile(self):
        return json.loads((self.folder / "prof.json").read_text())

    def layers(self):
        """Returns {event name: layers of its launches}."""
        found = {}
        for event in self.profile()["events"]:
            found.setdefault(event["event_name"], []).append(event["layer_name"])
        return found

    def test_a_host_that_names_its_launches(self):
        package = str(HOSTS.parents[2] / "python")
        done = self.run_host("labels.py", "60", PYTHONPATH=package)
        self.assertEqual(done.stdout, "wanted [0, 4, 7, 15] now 0 named 1 2 3 4\n", done.stderr)
        self.assertTrue(self.profile()["complete"])
        layers = self.layers()
        self.assertEqual(layers.pop("alone_"), [""])
        self.assertEqual(layers.pop("elsewhere_"), ["Net.backward"])
        self.assertEqual(layers.pop("first_"), ["Net.first"])
        self.assertEqual(layers.pop("norm"), ["Net.second"])
        norm = next(e for e in self.profile()["events"] if e["event_name"] == "norm")
        self.assertEqual(norm["op"], {"kind": "norm", "rows": 6, "cols": 8, "pass": "forward",
                                      "type": "f32", "source": "PROFILE_OP"})
        # The label is not set any more when it is measured: its first and last launch tell it.
        self.assertEqual(len(norm["measured_times_ms"]), 3)
        first = next(e for e in self.profile()["events"] if e["event_name"] == "first_")
        self.assertGreater(min(norm["measured_times_ms"]), max(first["measured_times_ms"]))  # two kernels, and one

    def test_names_are_wanted_again_where_something_else_is_launched(self):
        package = str(HOSTS.parents[2] / "python")
        done = self.run_host("labels.py", "80", "late", PYTHONPATH=package, INLINE_PROF_WARMUP="12")
        # The first iteration, the one in which operators are learned, the one behind it, one behind the new launch, and the last.
        self.assertRegex(done.stdout, " named 1 6 7 10 12\n")
        self.assertEqual(self.layers()["late_"], ["Net.late"])
        norm = next(e for e in self.profile()["events"] if e["event_name"] == "norm")
        self.assertEqual(len(norm["measured_times_ms"]), 3)

    def test_what_the_last_iteration_of_the_warm_up_alone_launches_is_no_event(self):
        package = str(HOSTS.parents[2] / "python")
        self.run_host("labels.py", "80", "rare", PYTHONPATH=package, INLINE_PROF_WARMUP="12")
        self.assertNotIn("late_", self.layers())
        self.assertEqual(self.profile()["warnings"], [])

    def test_a_label_whose_launches_vary_is_not_measured_wrongly(self):
        package = str(HOSTS.parents[2] / "python")
        self.run_host("labels.py", "60", "vary", PYTHONPATH=package, INLINE_PROF_POLICY="in_order")
        profile = self.profile()
        norm = next(e for e in profile["events"] if e["event_name"] == "norm")
        self.assertEqual([iteration % 2 for iteration in norm["iterations"]], [0, 0])  # none with the launch too many
        self.assertEqual(profile["dropped"]["irregular_iteration"], 1)

    def sleeper(self, *way, **variables):
        """Returns (the iterations that a host marked which sleeps while it is not wanted, the profile)."""
        done = self.run_host("sleeper.py", "200", *way, PYTHONPATH=str(HOSTS.parents[2] / "python"),
                             INLINE_PROF_REPEAT="20", INLINE_PROF_POLICY="in_order", **variables)
        profile = self.profile()
        self.assertTrue(profile["complete"], done.stderr)
        return list(map(int, done.stdout.split()[1:])), profile

    def test_launches_take_the_place_of_calls(self):
        marked, profile = self.sleeper()
        self.assertEqual(marked, [1, 2, 3, 4, 5])  # the warm-up, and the first that is measured
        self.assertEqual(sum(profile["dropped"].values()), 0)
        iterations = sorted(each for event in profile["events"] for each in event["iterations"])
        self.assertEqual(iterations, list(range(5, 5 + 20 * 5)))

    def test_launches_beside_the_iterations_do_not_take_their_place(self):
        marked, profile = self.sleeper("evaluates")
        self.assertEqual(marked[:5], [1, 2, 3, 4, 5])
        self.assertEqual({event["event_name"]: len(event["iterations"]) for event in profile["events"]},
                         {"forward_": 20, "backward_": 20, "optimizer_": 20})

    def test_a_host_is_woken_where_launches_are_not_met_in_their_place(self):
        marked, profile = self.sleeper("moves")
        self.assertEqual(marked[:6], [1, 2, 3, 4, 5, 41])
        self.assertGreater(profile["dropped"]["irregular_iteration"], 0)

    def test_calls_stay_where_no_launch_tells_them(self):
        marked, _ = self.sleeper("alike")
        self.assertEqual(marked, list(range(1, marked[-1] + 1)))
        self.assertGreater(len(marked), 20)

    @needs_torch
    def test_a_program_that_knows_nothing_of_us(self):
        alone = self.run_host("training.py", "60", python=OPTIONS.torch_python, INLINE_PROF_DISABLE="1")
        named = self.run_host("training.py", "60", options=("--torch",), python=OPTIONS.torch_python)
        self.assertRegex(named.stderr, r"\Ainline_prof: wrote \S+/prof\.json; next: prof-analyze \S+\n\Z")
        lines = named.stdout.splitlines()
        self.assertEqual(lines[0], alone.stdout.splitlines()[0])
        self.assertEqual(lines[1:], ["hooked False", "places [] []"])
        profile = self.profile()
        self.assertTrue(profile["complete"])
        layers = self.layers()
        self.assertEqual(layers["forward_"], ["Net.first", "Net.rest.0", "Net.rest.1"])
        self.assertEqual(layers["backward_"],
                         ["Net.rest.1.backward", "Net.rest.0.backward", "Net.first.backward"])

    @needs_torch
    def test_a_python_that_leaves_our_hooks_out(self):
        done = self.run_host("training.py", "60", options=("--torch",), python=OPTIONS.torch_python, switches=("-E",))
        self.assertIn("no PyTorch was hooked in this process", done.stderr)
        self.assertIn("-E, -I and -S", " ".join(self.profile()["warnings"]))

    @needs_torch
    def test_no_python_of_ours_runs_while_measuring(self):
        for way in ("eager", "compiled", "captured", "parallel"):
            with self.subTest(way=way):
                done = self.run_host("silent.py", way, options=("--torch",), python=OPTIONS.torch_python,
                                     INLINE_PROF_WARMUP="10", INLINE_PROF_REPEAT="300")
                in_warm_up, measuring = done.stdout.splitlines()
                self.assertGreater(int(in_warm_up), 100)
                self.assertEqual(measuring, "0")
                profile = self.profile()
                self.assertFalse(profile["complete"])
                taken = {each for event in profile["events"] for each in event["iterations"]}
                self.assertGreater(len(taken & set(range(200, 220))), 10)
                (self.folder / "prof.json").unlink()

    @needs_torch
    def test_a_child_that_is_forked_before_the_first_pass_can_train(self):
        done = self.run_host("forks.py", options=("--torch",), python=OPTIONS.torch_python)
        self.assertEqual(done.stdout, "trained on cpu\ntrained on cuda\nchild 0\n", done.stderr)

    @needs_torch
    def test_what_operators_move_is_in_the_profile(self):  # operators_test counts more of them by hand
        done = self.run_host("operators.py", "80", options=("--torch",), python=OPTIONS.torch_python)
        self.assertEqual(done.stdout, "modes 0\n")
        found = {}
        for event in self.profile()["events"]:
            found.setdefault(event["layer_name"], []).append(event.get("op", {}))
        matrix, row = 256 * 1000 * 4, 1000 * 4
        for name, read, written in (
                ("two_inputs", 2 * matrix, matrix), ("transposed", matrix, matrix), ("dropout", matrix, matrix + matrix // 4),
                ("layer_norm", matrix + row, matrix + 2 * 256 * 4), ("many", matrix, matrix)):
            for op in found["Net." + name]:
                self.assertEqual((op.get("read_bytes"), op.get("write_bytes")), (read, written), (name, op))
        self.assertEqual(len(found["Net.many"]), 3)
        self.assertEqual(found["Net.custom"], [{"kind": "operator", "source": "house::twice"}])
        self.assertEqual({(op["kind"], op["source"]) for op in found["Net.sparse"]},
                         {("operator", "aten::_coalesce"), ("copy", "cuMemcpyAsync")})  # how many there are is read back
        self.assertEqual({op.get("source") for op in found["mse_loss"]}, {"aten::mse_loss"})
        self.assertEqual([op["kind"] for op in found["mm"]], ["gemm"])  # a library's call
        self.assertEqual({op["kind"] for op in found[""]}, {"copy"})  # which have no name
        self.assertNotIn("Net.views", found)
        self.assertNotIn("Net.meta", found)

    @needs_torch
    def test_operators_that_no_table_is_made_for(self):
        alone = self.run_host("odd_operators.py", "8", python=OPTIONS.torch_python, INLINE_PROF_DISABLE="1")
        learned = self.run_host("odd_operators.py", "8", options=("--torch",), python=OPTIONS.torch_python)
        self.assertEqual(learned.stdout, alone.stdout)
        found = {}
        for event in self.profile()["events"]:
            op = event.get("op", {})
            if op.get("kind") != "copy":
                found.setdefault(event["layer_name"], []).append((op.get("source"), op.get("read_bytes")))
        matrix = 256 * 1000 * 4
        self.assertEqual(found.pop("optimizer.SGD"), [("PROFILE_OP", 2 * 8 * 4)])
        self.assertEqual(found.pop(""), [(None, None)])  # of the other thread, whose range it is not in
        self.assertEqual({source for source, _ in found.pop("Net.sparse")}, {"aten::_coalesce"})
        self.assertEqual(found, {
            "Net.sparse_sum": [("aten::mul", None)], "Net.nested": [("aten::mul", None)], "Net.jagged": [("aten::mul", 160)],
            "Net.quantized": [("aten::dequantize", None)], "Net.dtensor": [("aten::add", matrix)],
            "Net.wrapped": [("aten::add", matrix)], "Net.subclass": [("aten::add", matrix)],
            "Net.complex": [("aten::mul", matrix)], "Net.custom": [("house::twice", None)],
            "Net.thousand": [("house::thousand", None)] * 1000, "Net.own_mode": [("aten::add", matrix)],
            "Net.inference": [("aten::mul", matrix)], "Net.no_memory_in_an_operator": [("aten::ones", 0)]})

    @needs_torch
    def test_it_is_not_named_unless_that_is_asked_for(self):
        self.run_host("training.py", "400", python=OPTIONS.torch_python)
        self.assertEqual(set(self.layers()["forward_"]), {""})


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--prof-run", required=True)
    parser.add_argument("--simulated-gpu", required=True)
    parser.add_argument("--torch-python", default="", help="an interpreter with PyTorch 2")
    parser.add_argument("--toolkit", default="", help="libraries that PyTorch loads, but does not call")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
