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

    def json_report(self, document, **how):
        return json.loads(self.report(document, "--format", "json", **how))

    def assert_none(self, report, words):
        self.assertEqual([row["vendor_estimate_us"] for row in report["merged_rows"]],
                         [None] * len(report["merged_rows"]))
        self.assertIsNone(report["vendor"])
        own = [warning for warning in report["warnings"] if warning.startswith("vendor's estimate: ")]
        self.assertEqual(len(own), 1, report["warnings"])
        self.assertIn(words, own[0])

    def test_stands_beside_ours(self):
        document = profile(product(1024, 512, 256), product(1024, 512, 256, batch=3, trans_b=1),
                           product(64, 64, 64, a_type="i8", b_type="i8"),
                           {"kind": "memory", "read_bytes": 1 << 22, "write_bytes": 1 << 22})
        report = self.json_report(document)
        one = 1024 * 512 * 256 * 1e-6
        for rows in (report["rows"], report["merged_rows"]):
            estimates = [row["vendor_estimate_us"] for row in rows]
            self.assertAlmostEqual(estimates[0], one)
            self.assertAlmostEqual(estimates[1], one * 6)
            self.assertEqual(estimates[2:], [None, None])
        self.assertTrue(report["vendor"]["name"].startswith("nvidia-matmul-heuristics "))
        self.assertEqual(report["vendor"]["estimates"]["error_rows"], 2)
        self.assertEqual(report["vendor"]["ours"]["error_rows"], 2)
        measured = report["rows"][0]["corrected_us"]
        wrong = (abs(one / measured - 1) + abs(6 * one / measured - 1)) / 2
        self.assertAlmostEqual(report["vendor"]["estimates"]["mape"], wrong)
        table = self.report(document, "--verbose")
        self.assertRegex(table, r"(?m)^vendor +nvidia-matmul-heuristics .*: GMAE ")
        self.assertRegex(table, r"predicted +vendor's estimate bound")
        self.assertRegex(table, r" 134\.22 ")
        self.assertEqual(table, self.report(document, "--verbose"))
        for width in (80, 160):
            lines = self.report(document, "--verbose", "--width", str(width)).splitlines()
            head = next(line for line in lines if "vendor's estimate" in line)
            row = next(line for line in lines if " 134.22 " in line)
            self.assertEqual(head.index("vendor's estimate") + len("vendor's estimate"),
                             row.index("134.22") + len("134.22"))
        markdown = [line.count("|") for line in self.report(document, "--format", "md").splitlines()
                    if line.startswith("|")]
        self.assertEqual(set(markdown), {11})
        page = self.report(document, "--format", "html")
        self.assertIn('"vendor_estimate_us":[134.218,', page)
        self.assertIn('"vendor":"nvidia-matmul-heuristics ', page)

    def test_without_the_option_nothing_is_said(self):
        file = self.path / "prof.json"
        file.write_text(json.dumps(profile(product(1024, 512, 256))))
        report = json.loads(self.run_with(PROGRAM, file, "--format", "json", fake="another version").stdout)
        self.assertIsNone(report["rows"][0]["vendor_estimate_us"])
        self.assertIsNone(report["vendor"])
        self.assertNotIn("vendor", self.run_with(PROGRAM, file).stdout)
        self.assertNotIn("Vendor's", self.run_with(PROGRAM, file, "--format", "md").stdout)

    def test_a_wrong_package_is_a_sentence(self):
        document = profile(product(1024, 512, 256), product(512, 512, 256))
        for fake, words in [("another version", "AssertionError: assert major == 0"),
                            ("no interface", "SystemExit"),
                            ("needs another", "No module named 'no_such_package'"),
                            ("knows nothing", "no row is a matrix product that it knows"),
                            ("raises", "no row is a matrix product that it knows"),
                            ("no time", "no row is a matrix product that it knows")]:
            with self.subTest(fake):
                self.assert_none(self.json_report(document, fake=fake), words)

    def test_without_the_package_it_says_how_to_get_it(self):
        document = profile(product(1024, 512, 256))
        for nothing in ("", "/no/such/folder"):
            report = self.json_report(document, PYTHONPATH=nothing)
            self.assert_none(report, "pip install nvidia-matmul-heuristics")
        # A folder of that name where the user happens to be is no package.
        (self.path / "nvMatmulHeuristics").mkdir()
        (self.path / "nvMatmulHeuristics/__init__.py").write_text(FAKE_PACKAGE)
        self.assert_none(self.json_report(document, PYTHONPATH=""), "pip install nvidia-matmul-heuristics")
        self.assert_none(self.json_report(document, PATH="/no/such/folder"), "cannot be started")

    def test_a_crash_is_the_end_of_the_estimates_only(self):
        report = self.json_report(profile(*(product(128 * i, 512, 256) for i in range(1, 6))), fake="crashes")
        estimates = [row["vendor_estimate_us"] for row in report["rows"]]
        self.assertEqual([estimate is None for estimate in estimates], [False, True, True, True, True])
        self.assertTrue(all(row["predicted_us"] for row in report["rows"]))
        self.assertTrue(any("ended by signal 11" in warning for warning in report["warnings"]))

    def test_a_gpu_that_it_does_not_know(self):
        self.assert_none(self.json_report(profile(product(64, 64, 64), device="Tesla V100-SXM2-16GB")),
                         "it has no GPU like v100-sxm2-16gb")
        self.assert_none(self.json_report(profile(product(64, 64, 64), device="Abacus")),
                         "no row is a matrix product that it knows, on a machine that is known")

    def test_types_and_sizes_are_any(self):
        document = profile(product(1, 1, 1, a_type="b f\n16"), product(1 << 40, 1, 1), product(0, 1, 1),
                           product(1024, 512, 256, a_type="f8e4m3", b_type="f8e4m3"))
        estimates = [row["vendor_estimate_us"] for row in self.json_report(document)["rows"]]
        self.assertEqual(estimates[:3], [None] * 3)
        self.assertAlmostEqual(estimates[3], 1024 * 512 * 256 * 1e-6)

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
        report = self.json_report(profile(product(4096, 4096, 4096)), PYTHONPATH="",
                                  PATH="%s/bin:%s" % (REAL, os.environ["PATH"]))
        self.assertAlmostEqual(report["rows"][0]["vendor_estimate_us"], half)
        self.assertRegex(report["vendor"]["name"], r"^nvidia-matmul-heuristics \d")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
