"""Python hosts under the preloaded library, on the simulated GPU."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOSTS = pathlib.Path(__file__).resolve().parent / "hosts"
OPTIONS = None


class SimulatedGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_host(self, name, *arguments, options=(), python=sys.executable, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("INLINE_PROF", "PROFILING", "PYTHONPATH"))}
        environment.update(LD_LIBRARY_PATH="%s:%s" % (OPTIONS.simulated_gpu, OPTIONS.toolkit), INLINE_PROF_REPEAT="3",
                           INLINE_PROF_WARMUP="4", INLINE_PROF_OVERHEAD="0", **variables)
        done = subprocess.run(
            [OPTIONS.prof_run, *options, "--", python, str(HOSTS / name), *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def profile(self):
        return json.loads((self.folder / "prof.json").read_text())

    def layers(self):
        """{event name: layers it was met in}"""
        found = {}
        for event in self.profile()["events"]:
            found.setdefault(event["event_name"], []).append(event["layer_name"])
        return found

    def test_a_host_that_names_its_launches(self):
        package = str(HOSTS.parents[2] / "macros/python")
        done = self.run_host("labels.py", "60", PYTHONPATH=package)
        self.assertEqual(done.stdout, "wanted [0, 6, 7] now 0\n", done.stderr)
        self.assertTrue(self.profile()["complete"])
        layers = self.layers()
        self.assertEqual(layers.pop("alone_"), [""])
        self.assertEqual(layers.pop("elsewhere_"), ["Net.backward"])
        self.assertEqual(layers.pop("first_"), ["Net.first"])
        self.assertEqual(layers.pop("norm"), ["Net.second"])
        norm = next(e for e in self.profile()["events"] if e["event_name"] == "norm")
        self.assertEqual(norm["op"], {"kind": "norm", "rows": 6, "cols": 8, "pass": "forward",
                                      "type": "f32", "source": "PROFILE_OP"})
        self.assertEqual(len(norm["measured_times_ms"]), 3)

    def test_a_program_that_knows_nothing_of_us(self):
        if not OPTIONS.torch_python:
            self.skipTest("no PyTorch")
        alone = self.run_host("training.py", "60", python=OPTIONS.torch_python, INLINE_PROF_DISABLE="1")
        named = self.run_host("training.py", "60", options=("--torch",), python=OPTIONS.torch_python)
        self.assertEqual(named.stderr, "")
        lines = named.stdout.splitlines()
        self.assertEqual(lines[0], alone.stdout.splitlines()[0])
        self.assertEqual(lines[1:], ["hooks 0 0", "places [] []"])
        profile = self.profile()
        self.assertTrue(profile["complete"])
        layers = self.layers()
        self.assertEqual(layers["forward_"], ["Net.first", "Net.rest.0", "Net.rest.1"])
        self.assertEqual(layers["backward_"],
                         ["Net.rest.1.backward", "Net.rest.0.backward", "Net.first.backward"])

    def test_it_is_not_named_unless_that_is_asked_for(self):
        if not OPTIONS.torch_python:
            self.skipTest("no PyTorch")
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
