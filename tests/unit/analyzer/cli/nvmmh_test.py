#!/usr/bin/python3
"""The vendor's estimates beside ours: with a package of the same interface, and with the real one.

usage: nvmmh_test.py PROF_ANALYZE PROF_MODEL SOURCE_DIR
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

from program_in_a_folder import InAFolder, event

PROGRAM = sys.argv[1]
PROF_MODEL = sys.argv[2]
SOURCE = pathlib.Path(sys.argv[3])
SMALL = SOURCE / "tests/data/gen3/small_h200.prof.json"
# scripts/test.sh installs the real package here.
REAL = SOURCE / "build/nvmmh_venv"

# As much of the package as is asked for.  A product takes m * n * k * batch picoseconds, of
# transposed operands twice that; FAKE says what goes wrong.
FAKE_PACKAGE = '''
import enum, os, signal
FAKE = os.environ.get("FAKE", "")
if FAKE == "no interface":
    raise SystemExit
if FAKE == "needs another":
    import no_such_package
print("a greeting that is no answer")

class NvMatmulHeuristicsNvidiaGpu(enum.IntEnum):
    A100_SXM_80GB = 8000
    H200_SXM = 9003
class NvMatmulHeuristicsTarget(enum.IntEnum):
    GENERIC = 0
    CUTLASS3 = 4
class NvMatmulHeuristicsFlags(enum.IntEnum):
    PERF_MODEL_BASED_AUTO_TUNING = 8
class NvMatmulHeuristicsMatmulLayout(enum.IntEnum):
    NN_ROW_MAJOR = 0
    NT_ROW_MAJOR = 1
    TN_ROW_MAJOR = 2
    TT_ROW_MAJOR = 3

class NvMatmulHeuristicsInterfaceEx:
    def __init__(self, backend, flags, load_discovery_implicitly, gpu):
        major = 7 if FAKE == "another version" else 0
        assert major == 0
        assert flags == 8 and load_discovery_implicitly
        self.gpu, self.asked = gpu, 0

    def makeNvMatmulHeuristicsProblem(self, m, n, k, layout, batch_size=1):
        return (m * n * k * batch_size * (1 if layout == 0 else 2), m)

    def get(self, problem, count, precision):
        self.asked += 1
        if FAKE == "crashes" and self.asked == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if FAKE == "raises":
            raise ValueError("no luck\\nat all")
        if FAKE == "no time":
            return [{"runtime": float("nan")}]
        if precision not in ("TST", "HSH", "QQTST") or FAKE == "knows nothing":
            return []
        return [{"runtime": problem[0] * 1e-12}]
'''


def product(m, n, k, **more):
    return {"kind": "gemm", "m": m, "n": n, "k": k, "a_type": "bf16", "b_type": "bf16", "c_type": "bf16",
            "compute_type": "f32", **more}


def profile(*ops, device="NVIDIA H200"):
    """Each operation in a layer of its own, 50 us long."""
    events = [event("gemm", i, [0.05] * 20, layer_name="fc%d" % i, op=op) for i, op in enumerate(ops)]
    return {"schema": "inline_prof/1", "iter_time_ms": [1.0] * 20,
            "devices": [{"device_id": 0, "name": device, "driver_version": "580.1"}], "events": events}


class Estimates(InAFolder):
    def setUp(self):
        super().setUp()
        package = self.path / "packages/nvMatmulHeuristics"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(FAKE_PACKAGE)

    def run_with(self, program, *arguments, fake="", **environment):
        environment = {**os.environ, "PYTHONPATH": str(self.path / "packages"), "FAKE": fake, **environment}
        return subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, check=False, env=environment, cwd=self.path)

    def report(self, document, *arguments, **how):
        file = self.path / "prof.json"
        file.write_text(json.dumps(document))
        done = self.run_with(PROGRAM, file, "--model", "nvmmh", *arguments, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("greeting", done.stdout)
        return done.stdout

    def answers(self, document, **how):
        """Returns the answers, (row, time, reason) each, the score of the model, and the warnings."""
        report = json.loads(self.report(document, "--format", "json", **how))
        (score,) = [score for score in report["models"] if score["model"] == "nvmmh"] or [None]
        return ([(one["row"], one["predicted_us"], one["reason"]) for one in report["by_model"] if one["model"] == "nvmmh"],
                score, report["warnings"])

    def assert_none(self, document, words, **how):
        answers, _, warnings = self.answers(document, **how)
        self.assertEqual([time for _, time, _ in answers], [None] * len(answers))
        self.assertTrue(any(words in said for said in [*warnings, *(reason for _, _, reason in answers)]), (answers, warnings))

    def test_stands_beside_ours(self):
        document = profile(product(1024, 512, 256), product(1024, 512, 256, batch=3, trans_b=1),
                           product(64, 64, 64, a_type="i8", b_type="i8"),
                           {"kind": "memory", "read_bytes": 1 << 22, "write_bytes": 1 << 22})
        one = 1024 * 512 * 256 * 1e-6
        (first, second, third), score, _ = self.answers(document)
        self.assertEqual((first[0], second[0], third), (0, 1, (2, None, "it has no letters for i8 x i8 x bf16 x f32")))
        self.assertAlmostEqual(first[1], one)
        self.assertAlmostEqual(second[1], one * 6)
        self.assertEqual((score["rows"], score["predicted"]), (3, 2))
        table = self.report(document)
        self.assertRegex(table, r"(?m)^gemm +nvmmh +2 of 3 ")
        self.assertRegex(table, r" 134\.22 ")
        self.assertIn("nvmmh", self.report(document, "--format", "html"))

    def test_without_the_option_nothing_is_said(self):
        file = self.path / "prof.json"
        file.write_text(json.dumps(profile(product(1024, 512, 256))))
        self.assertNotIn("nvmmh", self.run_with(PROGRAM, file, "--models", "all", fake="another version").stdout)

    def test_a_wrong_package_is_a_sentence(self):
        document = profile(product(1024, 512, 256), product(512, 512, 256))
        for fake, words in [("another version", "AssertionError: assert major == 0"),
                            ("no interface", "SystemExit"),
                            ("needs another", "No module named 'no_such_package'"),
                            ("knows nothing", "no kernel"),
                            ("raises", "ValueError: no luck at all"),
                            ("no time", "expected a time above 0")]:
            with self.subTest(fake):
                self.assert_none(document, words, fake=fake)

    def test_without_the_package_it_says_how_to_get_it(self):
        document = profile(product(1024, 512, 256))
        for nothing in ("", "/no/such/folder"):
            self.assert_none(document, "pip install nvidia-matmul-heuristics", PYTHONPATH=nothing)
        # A folder of that name where the user happens to be is no package.
        (self.path / "nvMatmulHeuristics").mkdir()
        (self.path / "nvMatmulHeuristics/__init__.py").write_text(FAKE_PACKAGE)
        self.assert_none(document, "pip install nvidia-matmul-heuristics", PYTHONPATH="")
        self.assert_none(document, "cannot be started", PATH="/no/such/folder")

    def test_a_crash_is_the_end_of_the_estimates_only(self):
        answers, score, _ = self.answers(profile(*(product(128 * i, 512, 256) for i in range(1, 6))), fake="crashes")
        self.assertEqual([time is None for _, time, _ in answers], [False, True, True, True, True])
        self.assertIn("ended by signal 11", score["reason"])

    def test_a_gpu_that_it_does_not_know(self):
        self.assert_none(profile(product(64, 64, 64), device="Tesla V100-SXM2-16GB"), "it has no GPU like v100-sxm2-16gb")

    def test_types_and_sizes_are_any(self):
        document = profile(product(1, 1, 1, a_type="b f\n16"), product(1 << 40, 1, 1), product(0, 1, 1),
                           product(1024, 512, 256, a_type="f8e4m3", b_type="f8e4m3"))
        times = {row: time for row, time, _ in self.answers(document)[0]}
        self.assertAlmostEqual(times.pop(3), 1024 * 512 * 256 * 1e-6)
        self.assertEqual(set(times.values()), {None})

    def test_another_model_is_refused(self):
        done = self.run_with(PROGRAM, SMALL, "--model", "gemm")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nvmmh", done.stderr)

    def predict(self, text, *arguments, **how):
        file = self.path / "shapes.csv"
        file.write_text(text)
        return self.run_with(PROF_MODEL, "predict", "--model", "nvmmh", "--machine", "h200-sxm-141gb", *arguments,
                             file, **how)

    def test_prof_model_predicts_tables_with_it(self):
        text = "m,n,k,a_type\n64,64,64,bf16\n64,64,64,i8\n"
        rows = list(csv.DictReader(io.StringIO(self.predict(text).stdout)))
        self.assertAlmostEqual(float(rows[0]["predicted_us"]), 64 ** 3 * 1e-6)
        self.assertEqual(rows[1]["predicted_reason"], "it has no letters for i8 x i8 x i8 x f32")
        self.assertEqual(self.predict(text, "--set", "target=cutlass3").returncode, 0)
        for setting, words in [("target=abacus", "KeyError: 'ABACUS'"),
                               ("python=/no/python", "cannot be started"), ("python=cat", "cannot be used")]:
            done = self.predict(text, "--set", setting)
            self.assertEqual(done.returncode, 2, setting)
            self.assertIn(words, done.stderr)
        for fake, words in [("crashes", "ended by signal 11"), ("no time", "expected a time above 0"),
                            ("raises", "ValueError: no luck at all")]:
            rows = list(csv.DictReader(io.StringIO(self.predict(text * 1 + "9,9,9,f16\n", fake=fake).stdout)))
            self.assertIn(words, rows[2]["predicted_reason"])

    @unittest.skipUnless((REAL / "installed").exists(), "the real package is not installed: scripts/test.sh does it")
    def test_the_real_package(self):
        done = self.predict("m,n,k,a_type\n4096,4096,4096,bf16\n4096,4096,4096,f8e4m3\n1,1,1,f16\n64,64,64,f64\n",
                            "--set", "python=%s/bin/python3" % REAL, PYTHONPATH="")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        half, eighth, least = (float(row["predicted_us"]) for row in rows[:3])
        self.assertTrue(100 < half < 400, half)  # 2 * 4096^3 at 989 TFLOP/s take 139 us
        self.assertTrue(50 < eighth < half, eighth)
        self.assertTrue(0 < least < 50, least)
        ((_, time, _),), _, _ = self.answers(profile(product(4096, 4096, 4096)), PYTHONPATH="",
                                             PATH="%s/bin:%s" % (REAL, os.environ["PATH"]))
        self.assertAlmostEqual(time, half)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
