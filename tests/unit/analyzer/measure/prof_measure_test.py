#!/usr/bin/env python3
"""prof-measure on the simulated GPU: tables, times, resuming, replay, and what stands in its way.

    prof_measure_test.py PROF_MEASURE [PROF_MODEL PROF_ANALYZE]

The simulated libraries are on LD_LIBRARY_PATH.  Kernels that hold the stream back take long in the
model, and kernels of the math libraries take what the model's rules say, so times are known.
"""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
MODEL, ANALYZE = (sys.argv[2:4] + [None, None])[:2]

# Long enough for the virtual host to queue a pair and what lies in it.
RULES = {"rules": [{"name": "*4hold*", "duration_us": 1000.0},
                   {"name": "*copy_units*", "duration_us": 7.0}],
         "events": {"pair_bias_us": 0.5}}


def rows_of(file):
    with open(file, newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.model = self.path / "model.json"
        self.model.write_text(json.dumps(RULES))

    def run_program(self, *arguments, status=0, program=PROGRAM, **variables):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              env={**os.environ, "SIMGPU_MODEL": str(self.model), **variables},
                              timeout=120, check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def measure(self, *arguments, **more):
        return self.run_program("--memory-gb", "8", *arguments, **more)

    def test_every_suite_gives_rows_in_tables_of_their_own(self):
        done = self.measure("--points", 4, "-o", f"{self.path}/all/")
        tables = {file.stem: rows_of(file) for file in (self.path / "all").glob("*.csv")}
        for suite in ["gemm", "gemm.cold", "gemm_quantise", "memory", "memory.cold", "conv",
                      "conv_algorithms", "bandwidth", "collective"]:
            self.assertTrue(tables.get(suite), f"{suite}\n{done.stderr}")
            for row in tables[suite]:
                self.assertGreater(float(row["time_us"]), 0)
                self.assertGreaterEqual(int(row["samples"]), 5)
                self.assertEqual(row["device_name"], "NVIDIA H200")
        self.assertNotIn("bandwidth.cold", tables)
        self.assertEqual(list(self.path.glob("all/*.tmp")), [])
        self.assertIn("empty pair: 0.500 us at the start, 0.500 us at the end", done.stderr)

    def test_the_floor_is_taken_off(self):
        table = self.path / "memory.csv"
        self.measure("memory", "--points", 30, "-o", table)
        copies = [row for row in rows_of(table) if row["kernel"] == "copy"]
        self.assertTrue(copies)
        for row in copies:
            self.assertEqual(float(row["time_us"]), 7.0)
            self.assertEqual(float(row["raw_us"]), 7.5)
            self.assertEqual(float(row["floor_us"]), 0.5)
            self.assertIn("copy_units", row["kernel_name"])
            self.assertEqual(row["kernels"], "1")

    def test_products_take_what_their_kernels_take_and_name_them(self):
        grid = self.path / "grid.csv"
        grid.write_text("m,n,k,a_type,b_type,c_type,compute_type,trans_b\n"
                        "4096,4096,4096,bf16,bf16,bf16,f32,true\n"
                        "4096,4096,4096,f8e4m3,f8e4m3,bf16,f32,true\n"
                        "4096,4096,4096,f32,f32,f32,tf32,\n"
                        "16,16,16,i64,i64,i64,f32,\n")
        table = self.path / "gemm.csv"
        done = self.measure("gemm", "--grid", grid, "-o", table)
        self.assertIn("skipped 1: gemm: type i64 is not measured", done.stderr)
        rows = {row["a_type"]: row for row in rows_of(table)}
        flops = 2 * 4096 ** 3
        for a_type, tflops in [("bf16", 692), ("f8e4m3", 1385), ("f32", 346)]:
            self.assertAlmostEqual(float(rows[a_type]["time_us"]), flops / tflops * 1e-6, delta=0.01)
            self.assertIn("gemm", rows[a_type]["kernel_name"])
            self.assertEqual(int(rows[a_type]["blocks"]), 32 * 16)
        self.assertRegex(rows["bf16"]["library"], r"^cublas \d")
        self.assertRegex(rows["f8e4m3"]["library"], r"^cublasLt \d")

    def test_burst_and_sustained_load_have_tables_of_their_own(self):
        # In the model the clock falls by a quarter once products have run for half a millisecond.
        self.model.write_text(json.dumps({**RULES, "rules": RULES["rules"] + [
            {"name": "*gemm*", "tflops": 500, "droop": 1.25, "droop_after_us": 500}]}))
        grid = self.path / "grid.csv"
        grid.write_text("m,n,k,a_type,b_type,c_type,compute_type\n"
                        "4096,4096,4096,bf16,bf16,bf16,f32\n"
                        "1024,1024,512,bf16,bf16,bf16,f32\n")
        folder = self.path / "tables"
        done = self.measure("gemm", "--grid", grid, "--load", "both", "--load-s", 0.02, "-o", f"{folder}/")
        burst, sustained = rows_of(folder / "gemm.csv"), rows_of(folder / "gemm.sustained.csv")
        self.assertEqual(len(burst), 2)
        self.assertNotIn("load", burst[0])
        self.assertEqual([row["load"] for row in sustained], ["sustained"])
        self.assertRegex(done.stderr, r"skipped 1: gemm.sustained: takes 2\.\d us: too short to load the GPU, "
                                      "20 us are needed")
        least_us = 2 * 4096 ** 3 / 500 * 1e-6
        of_burst = next(row for row in burst if row["m"] == "4096")
        self.assertAlmostEqual(float(of_burst["time_us"]), least_us, delta=0.01)
        self.assertAlmostEqual(float(sustained[0]["time_us"]), 1.25 * least_us, delta=0.01)
        self.measure("gemm", "--grid", grid, "--load", "sustained", "--load-s", 0.02, "--resume", "-o",
                     folder / "gemm.sustained.csv")
        self.assertEqual(len(rows_of(folder / "gemm.sustained.csv")), 1)
        for words, arguments in [
                ("2 tables are made", ["gemm", "--load", "both", "-o", self.path / "one.csv"]),
                ("the L2 is warm", ["gemm", "--load", "sustained", "--l2", "cold", "-o", self.path / "one.csv"]),
                ("expected burst or sustained", ["--from", "x", "--load", "both", "-o", self.path / "one.csv"])]:
            self.assertIn(words, self.measure(*arguments, status=2).stderr)
        if MODEL:
            fit = ["fit", "--model", "gemm", "--machine", "h200-sxm-141gb", "--set", "a_type=bf16"]
            done = self.run_program(*fit, folder / "gemm.sustained.csv", program=MODEL, status=1)
            self.assertIn("0 rows, but a fit of", done.stderr)
            self.assertIn("under burst load", done.stderr)
            done = self.run_program(*fit, "--set", "load=sustained", folder / "gemm.sustained.csv",
                                    program=MODEL, status=1)
            self.assertRegex(done.stderr, "1 rows, but a fit of .* under sustained load")
            done = self.run_program(*fit, "--set", "load=some", folder / "gemm.csv", program=MODEL, status=2)
            self.assertIn("expected burst or sustained", done.stderr)

    def profile_of(self, *ops):
        """A prof.json whose events compute these; None is an event that says nothing."""
        events = [{"event_name": f"event {i}", "device_id": 0, "stream": "0x1", "start_index": 2 * i,
                   "end_index": 2 * i + 1, "met_times_within_this_stream": 0,
                   "measured_times_ms": [0.05] * 6, "iter_start_to_event_start_times_ms": [0.0] * 6,
                   **({"op": op} if op else {})} for i, op in enumerate(ops)]
        file = self.path / "prof.json"
        file.write_text(json.dumps({"schema": "inline_prof/1", "host_name": "h", "iter_time_ms": [1.0] * 6,
                                    "events": events, "runtime_data": []}))
        return file

    @staticmethod
    def attention(**more):
        return {"kind": "attention", "source": "F.scaled_dot_product_attention", "batch": 8, "heads": 16,
                "q_len": 2048, "kv_len": 2048, "head_dim": 128, "type": "bf16", "pass": "forward", **more}

    def need_front_end(self):
        done = self.measure("--from", self.profile_of(self.attention()), "-o", self.path / "front_end.csv", status=None)
        if "built without cudnn_frontend.h" in done.stderr:
            self.skipTest("prof-measure was built without cudnn_frontend.h")

    def test_attention_is_replayed_in_one_kernel(self):
        self.need_front_end()
        table = self.path / "alone.csv"
        # 4 b h q k d operations, half of them under a mask; the model's rate for fused attention.
        fused_us = 4 * 8 * 16 * 2048 * 2048 * 128 / 495 * 1e-6
        shapes = [{}, {"causal": True}, {"kv_heads": 4}, {"causal": True, "kv_heads": 4},
                  {"causal": True, "q_len": 1024}]
        ops = [self.attention(**{"pass": direction}, **shape) for direction in ("forward", "backward") for shape in shapes]
        self.measure("--from", self.profile_of(*ops), "-o", table)
        rows = rows_of(table)
        self.assertEqual(len(rows), len(ops))
        for row in rows:
            backward, causal = "pass=backward" in row["operation"], "causal=true" in row["operation"]
            self.assertIn("bprop" if backward else "fprop", row["kernel_name"])
            self.assertRegex(row["library"], r"^cudnn \d")
            self.assertEqual(row["stand_in"], "true")
            # Five products instead of two; clearing the sum of dQ takes a little, too.
            least_us = fused_us * (2.5 if backward else 1) / (2 if causal else 1) / (2 if "q_len=1024" in row["operation"] else 1)
            self.assertGreaterEqual(float(row["time_us"]), least_us - 0.01)
            self.assertLess(float(row["time_us"]), 1.1 * least_us if backward else least_us + 0.01)

    def test_attention_that_cudnn_cannot_is_skipped(self):
        table = self.path / "alone.csv"
        done = self.measure("--from", self.profile_of(self.attention()), "-o", table, status=3, SIMGPU_FAIL="cudnnCreate:1001")
        self.assertRegex(done.stderr, r"skipped 1: isolated: (cudnnCreate answers CUDNN_STATUS_NOT_INITIALIZED|"
                                      r"built without cudnn_frontend\.h)")
        self.need_front_end()
        done = self.measure("--from", self.profile_of(
            self.attention(causal=True, kv_len=1024), self.attention(**{"pass": "sideways"}), self.attention(type="f32"),
            self.attention(kv_heads=3)), "-o", table, "--force", status=3)
        for words in ("causal attention of more queries than keys is not measured", "unknown pass sideways",
                      "attention of f32 is not measured with cuDNN", "cuDNN's attention: "):
            self.assertIn(f"skipped 1: isolated: {words}", done.stderr)
        done = self.measure("--from", self.profile_of(self.attention()), "-o", table, "--force", status=3,
                            SIMGPU_FAIL="cudnnBackendExecute:5000")
        self.assertRegex(done.stderr, "skipped 1: isolated: cuDNN's attention: .*")

    def test_cudnn_that_fails_skips_its_cases_and_says_where(self):
        for failure, words in [
                ("cudnnCreate:1001", "cudnnCreate answers CUDNN_STATUS_NOT_INITIALIZED"),
                ("cudnnConvolutionForward:5000", "the convolution answers CUDNN_STATUS_EXECUTION_FAILED")]:
            done = self.measure("conv", "--points", 1, "-o", self.path / "conv.csv", status=3, SIMGPU_FAIL=failure)
            self.assertIn(words, done.stderr)

    def test_convolutions_name_their_algorithms(self):
        grid = self.path / "grid.csv"
        grid.write_text("n,c,h,w,k,r,s,stride,pad,type,direction,algo\n"
                        "32,64,56,56,64,3,3,1,1,f32,forward,\n32,64,56,56,64,3,3,1,1,f32,backward_data,1\n")
        table = self.path / "conv.csv"
        self.measure("conv_algorithms", "--grid", grid, "-o", table)
        rows = rows_of(table)
        self.assertGreater(len({row["algorithm"] for row in rows if row["direction"] == "forward"}), 3)
        self.assertEqual([row["algorithm"] for row in rows if row["direction"] == "backward_data"], ["1"])
        for row in rows:
            self.assertEqual(row["algorithm"], row["algo"])
            self.assertRegex(row["library"], r"^cudnn \d")
        if MODEL:
            done = self.run_program("evaluate", "--model", "conv", "--machine", "a100-pcie-80gb", "--params",
                                    "conv_a100-pcie-80gb_f32_forward", table, program=MODEL)
            self.assertIn("mape_percent", done.stdout)

    def test_resuming_measures_what_is_left(self):
        table = self.path / "gemm.csv"
        self.measure("gemm", "--points", 9, "-o", table)
        first = rows_of(table)
        done = self.measure("gemm", "--points", 9, "-o", table, status=1)
        self.assertIn("exists already; --resume adds to it, --force replaces it", done.stderr)
        lines = table.read_text().splitlines(keepends=True)
        table.write_text("".join(lines[:4]))
        self.measure("gemm", "--points", 9, "-o", table, "--resume")
        self.assertEqual(sorted(row["m"] for row in rows_of(table)),
                         sorted(row["m"] for row in first))
        self.assertEqual(rows_of(table)[:3], first[:3])
        self.measure("memory", "--points", 2, "-o", table, "--resume", status=1)
        self.measure("memory", "--points", 2, "-o", table, "--force")
        self.assertEqual(len(rows_of(table)), 2)

    def test_the_order_is_the_seeds(self):
        orders = []
        for seed in (1, 1, 2):
            table = self.path / "gemm.csv"
            self.measure("gemm", "--points", 20, "-o", table, "--force", "--seed", seed)
            orders.append([row["m"] for row in rows_of(table)])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertEqual(sorted(orders[0]), sorted(orders[2]))

    def test_what_a_run_met_is_replayed(self):
        product = {"kind": "gemm", "source": "cublasGemmEx", "m": 512, "n": 512, "k": 512,
                   "a_type": "bf16", "b_type": "bf16", "c_type": "bf16", "compute_type": "f32"}
        profile = self.profile_of(product, product, None)
        table = self.path / "alone.csv"
        done = self.measure("--from", profile, "-o", table)
        self.assertIn("skipped 1 events: operation not known", done.stderr)
        rows = rows_of(table)
        self.assertEqual([row["operation"] for row in rows],
                         ["gemm a_type=bf16 b_type=bf16 c_type=bf16 compute_type=f32 k=512 m=512 "
                          "n=512"])
        if ANALYZE:
            done = self.run_program(profile, "--isolated", table, "--machine", "h200-sxm-141gb",
                                    "--format", "json", program=ANALYZE)
            report = json.loads(done.stdout)
            self.assertEqual([row["isolated"] is not None for row in report["merged_rows"]],
                             [True, True, False])
            self.assertIn("contention or clock", report["merged_rows"][0]["isolated"]["cause"])
        rows = [{"kind": kind, "rows": 64, "cols": 1024, "type": "bf16", "pass": direction}
                for kind in ("norm", "softmax") for direction in ("forward", "backward")]
        self.measure("--from", self.profile_of(*rows), "-o", table, "--force")
        self.assertEqual([row["stand_in"] for row in rows_of(table)], 4 * ["true"])
        self.measure("--from", self.profile_of(None), "-o", self.path / "no.csv", status=3)

    def test_a_fit_and_an_evaluation_follow(self):
        if not MODEL:
            self.skipTest("no prof-model")
        table = self.path / "gemm.csv"
        self.run_program("measure", "gemm", "--memory-gb", "8", "-o", table, program=MODEL)
        fitted = self.path / "gemm.json"
        options = ["--model", "gemm", "--machine", "h200-sxm-141gb"]
        self.run_program("fit", *options, "--set", "a_type=bf16", table, "-o", fitted,
                         program=MODEL)
        done = self.run_program("evaluate", *options, "--params", fitted, table, program=MODEL)
        self.assertIn("mape_percent", done.stdout)

    def test_what_was_measured_is_taken_over(self):
        if not MODEL:
            self.skipTest("no prof-model")
        measured, into = self.path / "measured", self.path / "into"
        measured.mkdir()
        (into / "params").mkdir(parents=True)
        source = pathlib.Path(__file__).resolve().parents[4]
        shutil.copytree(source / "analyzer" / "model" / "machines", into / "machines")
        self.measure("memory", "--points", 60, "-o", measured / "memory.csv")
        script = source / "scripts" / "adopt_measurements.py"
        arguments = [MODEL, measured, "h200-sxm-141gb", "--into", into]
        # The simulated streams are as fast as you like.
        bandwidth = "kernel,read_bytes,write_bytes,device_name,driver_version,time_us\n"
        (measured / "bandwidth.csv").write_text(
            bandwidth + "read,4100000000,0,NVIDIA H200,CUDA 13.0,1000\nread,4100,0,NVIDIA H200,CUDA 13.0,0.1\n" +
            "copy,2000000000,2000000000,NVIDIA H200,CUDA 13.0,1000\n" * 30)
        done = self.run_program(*arguments, program=script)
        self.assertIn("h200-sxm-141gb.json: 4100 GB/s measured", done.stdout)
        self.assertRegex(done.stdout, r"\| memory \| a third in turn \| 60 \| [0-9.]+ % \|")
        self.assertIn("left out: gemm bf16: no gemm.csv", done.stderr)
        machine = json.loads((into / "machines" / "h200-sxm-141gb.json").read_text())
        self.assertEqual(machine["memory_gb_per_s"], {"datasheet": 4800, "measured": 4100})
        self.assertTrue(machine["sources"]["memory_gb_per_s"].endswith(
            "; measured: read stream of prof-model measure, CUDA 13.0"))
        self.assertTrue((into / "params" / "memory_h200-sxm-141gb.json").exists())
        # A second time the same, and nothing of another GPU or beyond its data sheet.
        (measured / "memory.csv").unlink()
        before = (into / "machines" / "h200-sxm-141gb.json").read_text()
        self.run_program(*arguments, program=script)
        self.assertEqual((into / "machines" / "h200-sxm-141gb.json").read_text(), before)
        for line, words in (("read,5100000000,0,NVIDIA H200,CUDA 13.0,1000\n", "more than the data sheet's 4800"),
                            ("read,4100000000,0,NVIDIA A100,CUDA 13.0,1000\n", "is no NVIDIA A100")):
            (measured / "bandwidth.csv").write_text(bandwidth + line * 30)
            done = self.run_program(*arguments, program=script, status=1)
            self.assertIn(words, done.stderr)
        self.run_program(MODEL, measured, "no-machine", "--into", into, program=script, status=2)

    def test_prof_model_without_its_measuring_program(self):
        if not MODEL:
            self.skipTest("no prof-model")
        lonely = shutil.copy(MODEL, self.path / "prof-model")
        done = self.run_program("measure", "--list", program=lonely, status=1)
        self.assertIn("prof-measure: not found: it is in no wheel", done.stderr)

    def test_nothing_to_measure_on(self):
        no_gpu = self.measure("bandwidth", "-o", self.path / "t.csv", status=3, SIMGPU_FAIL="cuInit:100")
        self.assertIn("no GPU", no_gpu.stderr)
        self.assertFalse((self.path / "t.csv").exists())
        other = self.measure("bandwidth", "--device", "3", "-o", self.path / "t.csv", status=3)
        self.assertIn("there is no GPU 3: 1 found", other.stderr)
        old = self.measure("bandwidth", "-o", self.path / "t.csv", status=3,
                           SIMGPU_DRIVER_VERSION="12040")
        self.assertIn("the driver knows CUDA 12.4, this program was built for CUDA 13.0", old.stderr)

    def test_too_little_memory_skips_what_does_not_fit(self):
        done = self.run_program("--memory-gb", "1", "memory", "--points", "20", "-o", self.path / "rows.csv")
        self.assertRegex(done.stderr, r"skipped \d+: memory: needs \d+ MiB more, \d+ of \d+ MiB are left")
        self.assertTrue(rows_of(self.path / "rows.csv"))
        self.model.write_text(json.dumps({**RULES, "device": {"memory_bytes": 100 << 20}}))
        done = self.measure("bandwidth", "-o", self.path / "t.csv", status=3)
        self.assertIn("too little memory", done.stderr)

    def test_a_gpu_that_fails_keeps_what_was_measured(self):
        table = self.path / "bandwidth.csv"
        done = self.measure("bandwidth", "-o", table, status=1,
                            SIMGPU_FAIL="cuStreamSynchronize:700:after=60")
        self.assertIn("cudaErrorIllegalAddress", done.stderr)
        self.assertRegex(done.stderr, "stopped at bandwidth .* of table bandwidth; --resume goes on without it")
        before = rows_of(table)
        self.assertTrue(before)
        # The same case would stop the GPU again.
        done = self.measure("bandwidth", "-o", table, "--resume")
        self.assertIn("skipped 1: bandwidth: stopped the GPU in an earlier run", done.stderr)
        self.assertEqual(len(rows_of(table)), 38)
        self.assertEqual(rows_of(table)[:len(before)], before)
        self.measure("bandwidth", "-o", table, "--force")
        self.assertEqual(len(rows_of(table)), 39)

    def test_the_time_is_up(self):
        # Thousands of cases; more than a second's worth of system calls.
        done = self.measure("-o", f"{self.path}/all/", "--budget-s", "1", status=4)
        self.assertRegex(done.stderr, r"the time was up: \d+ cases are left, --resume goes on")

    def test_wrong_command_lines(self):
        for arguments, words in [
                ([], "-o FILE or FOLDER/ is required"),
                (["nothing", "-o", "x"], "no suite is called nothing"),
                (["-o", self.path / "t.csv"], "expected a folder: its name ends with /"),
                (["gemm", "--from", "p.json", "-o", "x"], "--from says what is measured"),
                (["--grid", "g.csv", "-o", "x"], "--grid needs one suite"),
                (["gemm", "-o", "x", "--force", "--resume"], "exclude each other"),
                (["gemm", "-o", "x", "--budget-s", "0"], "--budget-s"),
                (["gemm", "-o", "x", "--l2", "hot"], "--l2"),
                (["--no-such-option"], "--no-such-option")]:
            done = self.measure(*arguments, status=2)
            self.assertIn(words, done.stderr)
        done = self.measure("gemm", "--grid", self.path / "none.csv", "-o", self.path / "x.csv",
                            status=1)
        self.assertIn("none.csv", done.stderr)

    def test_the_list_of_suites(self):
        done = self.run_program("--list")
        self.assertRegex(done.stdout, r"(?m)^gemm +\d+ cases  products by cuBLAS")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
