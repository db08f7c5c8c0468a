#!/usr/bin/env python3
"""prof-measure on the simulated GPU: tables, times, resuming, replay, and what stands in its way.

    measure_rehearsal_test.py PROF_MEASURE [PROF_MODEL PROF_ANALYZE]

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
                   {"name": "*empty_kernel*", "duration_us": 1.0},
                   {"name": "*copy_units*", "duration_us": 7.0},
                   {"name": "*gather_rows*", "duration_us": 11.0}],
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
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def measure(self, *arguments, **more):
        return self.run_program("--memory-gb", "8", *arguments, **more)

    def test_every_suite_gives_rows_in_tables_of_their_own(self):
        done = self.measure("--points", 4, "-o", f"{self.path}/all/")
        tables = {file.stem: rows_of(file) for file in (self.path / "all").glob("*.csv")}
        for suite in ["gemm", "gemm.cold", "gemm_quantise", "memory", "memory.cold", "rows",
                      "embedding", "norm", "softmax", "attention", "conv", "conv_algorithms",
                      "conv_engines", "bandwidth", "collective", "floor"]:
            self.assertTrue(tables.get(suite), f"{suite}\n{done.stderr}")
            for row in tables[suite]:
                self.assertGreater(float(row["time_us"]), 0)
                self.assertGreaterEqual(int(row["samples"]), 5)
                self.assertEqual(row["device_name"], "NVIDIA H200")
        self.assertNotIn("floor.cold", tables)
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

    def test_what_is_suggested_can_be_measured(self):
        if not MODEL:
            self.skipTest("prof-model is not given")
        grid = self.path / "grid.csv"
        self.run_program("measure", "--suggest", "gemm_h200-sxm-141gb_bf16", "--points", 5, "-o", grid, program=MODEL)
        table = self.path / "gemm.csv"
        self.measure("gemm", "--grid", grid, "-o", table)
        self.assertEqual({(row["m"], row["n"], row["k"]) for row in rows_of(grid)},
                         {(row["m"], row["n"], row["k"]) for row in rows_of(table)})

    def test_engines_are_measured_one_by_one(self):
        table = self.path / "engines.csv"
        done = self.measure("conv_engines", "-o", table)
        rows = rows_of(table)
        for direction, word in [("forward", "fprop"), ("backward_data", "dgrad"),
                                ("backward_filter", "wgrad")]:
            of_pass = [row for row in rows if row["type"] == "f16" and row["direction"] == direction]
            self.assertGreater(len({row["engine"] for row in of_pass}), 1)
            first = next(row for row in of_pass if row["engine"] == "0")
            self.assertIn(word, first["kernel_name"])
            self.assertRegex(first["proposed_by"], r"^a:1 b:1 instant:1( fallback:\d)?$")
        for row in rows:
            self.assertRegex(row["library"], r"^cudnn \d")
            self.assertTrue(row["kernel_name"])
        self.assertIn("cuDNN has no engine of this number for this convolution", done.stderr)

    def test_what_heuristics_propose_is_measured(self):
        grid = self.path / "grid.csv"
        columns = "n,c,h,w,k,r,s,stride,pad,type,direction,heuristic,engine"
        layer = "32,64,56,56,64,3,3,1,1,f32,forward"
        grid.write_text("\n".join([columns, f"{layer},a,", f"{layer},fallback,", f"{layer},best,",
                                   f"{layer},,0", f"{layer},,1"]) + "\n")
        table = self.path / "engines.csv"
        done = self.measure("conv_engines", "--grid", grid, "-o", table)
        self.assertIn("heuristic best: expected a, b, instant or fallback", done.stderr)
        rows = {row["heuristic"] or row["engine"]: row for row in rows_of(table)}
        self.assertEqual(sorted(rows), ["0", "1", "a", "fallback"])
        # The simulated heuristics rank engines by their numbers, and the other way round.
        self.assertEqual([rows[name]["algorithm"] for name in ("a", "fallback", "0", "1")],
                         ["0", "3", "0", "1"])
        self.assertEqual(rows["0"]["time_us"], rows["a"]["time_us"])
        self.assertEqual(rows["1"]["proposed_by"], "a:2 b:2 fallback:3")
        if MODEL:
            done = self.run_program("evaluate", "--model", "conv", "--machine", "a100-pcie-80gb",
                                    "--params", "conv_a100-pcie-80gb_f32_forward", table,
                                    program=MODEL)
            self.assertIn("mape_percent", done.stdout)

    def test_attention_is_measured_fused_and_as_products(self):
        grid = self.path / "grid.csv"
        columns = "batch,heads,kv_heads,q_len,kv_len,head_dim,type,pass,causal,implementation"
        shape = "8,16,,2048,2048,128,bf16,forward"
        shared = "8,16,4,2048,2048,128,bf16,forward"
        grid.write_text("\n".join([
            columns, f"{shape},,products", f"{shape},,cudnn_sdpa", f"{shape},,cudnn_graph",
            f"{shape},true,cudnn_graph", f"{shared},,cudnn_sdpa", f"{shape},true,cudnn_sdpa",
            f"{shape},,flash", "8,16,3,2048,2048,128,bf16,forward,,cudnn_sdpa",
            "8,16,,2048,1024,128,bf16,forward,true,cudnn_graph",
            "8,16,,1024,2048,128,bf16,forward,true,cudnn_graph",
            *(f"8,16,{heads},2048,2048,128,bf16,backward,{causal},cudnn_graph"
              for heads in ("", "4") for causal in ("", "true")),
            "8,16,,2048,2048,128,bf16,backward,,cudnn_sdpa",
            "8,16,,2048,2048,128,bf16,backward,,products",
            "8,16,,2048,2048,128,bf16,sideways,,cudnn_graph",
            "8,16,,2048,2048,128,i8,forward,,cudnn_sdpa"]) + "\n")
        table = self.path / "attention.csv"
        done = self.measure("attention", "--grid", grid, "-o", table)
        for words in ["cuDNN's attention operation has no mask",
                      "attention has no implementation flash",
                      "the attention operation answers CUDNN_STATUS_BAD_PARAM",
                      "causal attention of more queries than keys is not measured",
                      "cuDNN's attention operation is measured in the forward pass only",
                      "attention's backward pass is measured as cudnn_graph only",
                      "unknown pass sideways",
                      "attention of i8 is not measured with cuDNN"]:
            self.assertIn(f"skipped 1: attention: {words}", done.stderr)
        measured = rows_of(table)
        self.assertEqual(len(measured), 10)
        backward = [row for row in measured if row["pass"] == "backward"]
        rows = {(row["implementation"], row["causal"], row["kv_heads"]): row
                for row in measured if row["pass"] == "forward" and row["q_len"] == "2048"}
        self.assertEqual(len(rows), 5)
        # 4 b h q k d operations, half of them under a mask; the model's rate for fused attention.
        fused_us = 4 * 8 * 16 * 2048 * 2048 * 128 / 495 * 1e-6
        for key, time_us in [(("cudnn_sdpa", "", ""), fused_us), (("cudnn_graph", "", ""), fused_us),
                             (("cudnn_graph", "true", ""), fused_us / 2),
                             (("cudnn_sdpa", "", "4"), fused_us)]:
            self.assertAlmostEqual(float(rows[key]["time_us"]), time_us, delta=0.01)
            self.assertIn("sdpa", rows[key]["kernel_name"])
            self.assertEqual(rows[key]["kernels"], "1")
            self.assertEqual(rows[key]["stand_in"], "")
            self.assertRegex(rows[key]["library"], r"^cudnn \d")
        # Five products instead of two; the memset of the sum of dQ takes a little, too.
        self.assertEqual(len(backward), 4)
        for row in backward:
            self.assertIn("bprop", row["kernel_name"])
            least_us = fused_us * 2.5 / (2 if row["causal"] else 1)
            self.assertGreater(float(row["time_us"]), least_us)
            self.assertLess(float(row["time_us"]), 1.1 * least_us)
        self.assertEqual(rows["products", "", ""]["kernels"], "3")
        self.assertRegex(rows["products", "", ""]["library"], r"^cublas \d")

    def test_norms_of_cudnn_are_measured_beside_ours(self):
        table = self.path / "norm.csv"
        self.measure("norm", "-o", table)
        kernels = {"cudnn_layer_norm": "ln", "cudnn_rms_norm": "rms"}
        rows = rows_of(table)
        for implementation, word in kernels.items():
            for direction, name in [("forward", "fwd"), ("backward", "bwd")]:
                found = [row for row in rows if row["implementation"] == implementation
                         and row["pass"] == direction]
                self.assertEqual(len(found), 6)
                for row in found:
                    self.assertIn(f"{word}_{name}_kernel", row["kernel_name"])
                    self.assertEqual(row["algorithm"], "0")
                    # x and y, or x, dy and dx, at the model's 4080 GB/s, and little else.
                    tensors = 2 if direction == "forward" else 3
                    least_us = tensors * 2 * int(row["rows"]) * int(row["cols"]) / 4080e3
                    if least_us > 5:
                        self.assertAlmostEqual(float(row["time_us"]), least_us,
                                               delta=0.03 * least_us)

    def test_cudnn_that_fails_skips_its_cases_and_says_where(self):
        for failure, words in [
                ("cudnnCreate:1001", "cudnnCreate answers CUDNN_STATUS_NOT_INITIALIZED"),
                ("cudnnBackendExecute:5000", "this engine's run answers CUDNN_STATUS_EXECUTION_FAILED")]:
            table = self.path / "attention.csv"
            done = self.measure("attention", "--force", "-o", table, SIMGPU_FAIL=failure)
            self.assertIn(words, done.stderr)
            self.assertEqual({row["implementation"] for row in rows_of(table)}, {"products"})

    def test_counters_are_read_in_runs_of_their_own(self):
        table = self.path / "memory.csv"
        done = self.measure("memory", "--points", 30, "--counters", "-o", table)
        self.assertNotIn("counters are not read", done.stderr)
        copies = [row for row in rows_of(table) if row["kernel"] == "copy"]
        self.assertTrue(copies)
        for row in copies:
            self.assertEqual(float(row["time_us"]), 7.0)
            # One kernel, of which the simulated counters count 1000 of everything.
            self.assertEqual(row["counted_ns"], "7000")
            for column in ("dram_read_bytes", "dram_write_bytes", "l2_bytes", "fma_instructions",
                           "tensor_instructions"):
                self.assertEqual(row[column], "1000")

    def test_times_stay_where_counters_cannot_be_read(self):
        for failure, words in [
                ("cuptiRangeProfilerEnable:35", "counters are not read: the driver lets only administrators"),
                ("cuptiProfilerInitialize:39", "counters are not read: cuptiProfilerInitialize: "
                                               "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
                ("cuptiRangeProfilerStart:999", "counters are not read any more: cuptiRangeProfilerStart")]:
            table = self.path / "memory.csv"
            done = self.measure("memory", "--points", 8, "--counters", "--force", "-o", table,
                                SIMGPU_FAIL=failure)
            self.assertIn(words, done.stderr)
            for row in rows_of(table):
                self.assertEqual(row["counted_ns"], "")
                self.assertGreater(float(row["time_us"]), 0)

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
        self.measure("norm", "--points", 2, "-o", table, "--resume", status=1)
        self.measure("norm", "--points", 2, "-o", table, "--force")
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
        profile = self.path / "prof.json"
        product = {"kind": "gemm", "source": "cublasGemmEx", "m": 512, "n": 512, "k": 512,
                   "a_type": "bf16", "b_type": "bf16", "c_type": "bf16", "compute_type": "f32"}
        events = [{"event_name": name, "device_id": 0, "stream": "0x1", "start_index": 2 * i,
                   "end_index": 2 * i + 1, "met_times_within_this_stream": 0,
                   "measured_times_ms": [0.05] * 6,
                   "iter_start_to_event_start_times_ms": [0.0] * 6, **op}
                  for i, (name, op) in enumerate([("a", {"op": product}), ("b", {"op": product}),
                                                  ("c", {})])]
        profile.write_text(json.dumps({"schema": "inline_prof/1", "host_name": "h",
                                       "iter_time_ms": [1.0] * 6, "events": events,
                                       "runtime_data": []}))
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
        attention = {"kind": "attention", "source": "F.scaled_dot_product_attention", "batch": 2,
                     "heads": 16, "q_len": 512, "kv_len": 512, "head_dim": 64, "type": "bf16",
                     "pass": "forward"}
        for event, op in zip(events, [attention, {**attention, "causal": True}, attention]):
            event["op"] = op
        profile.write_text(json.dumps({"schema": "inline_prof/1", "host_name": "h",
                                       "iter_time_ms": [1.0] * 6, "events": events,
                                       "runtime_data": []}))
        # Fused, as nearly all attention is; products where cuDNN fails, which have no mask.
        self.measure("--from", profile, "-o", table, "--force")
        rows = rows_of(table)
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertRegex(row["library"], r"^cudnn \d")
            self.assertEqual(row["stand_in"], "true")
        done = self.measure("--from", profile, "-o", table, "--force", SIMGPU_FAIL="cudnnCreate:1001")
        rows = rows_of(table)
        self.assertEqual(len(rows), 1)
        self.assertRegex(rows[0]["library"], r"^cublas \d")
        self.assertIn("products: causal attention is not measured", done.stderr)
        if ANALYZE:
            done = self.run_program(profile, "--isolated", table, "--machine", "h200-sxm-141gb",
                                    "--format", "json", program=ANALYZE)
            self.assertEqual([row["isolated"] is not None
                              for row in json.loads(done.stdout)["merged_rows"]],
                             [True, False, True])
        for event in events:
            del event["op"]
        empty = self.path / "empty.json"
        empty.write_text(json.dumps({"schema": "inline_prof/1", "host_name": "h",
                                     "iter_time_ms": [], "events": events[2:],
                                     "runtime_data": []}))
        self.measure("--from", empty, "-o", self.path / "no.csv", status=3)

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
        source = pathlib.Path(__file__).resolve().parents[2]
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
        self.assertIn("prof-measure: not found: built without a CUDA toolkit", done.stderr)

    def test_nothing_to_measure_on(self):
        no_gpu = self.measure("floor", "-o", self.path / "t.csv", status=3, SIMGPU_FAIL="cuInit:100")
        self.assertIn("no GPU", no_gpu.stderr)
        self.assertFalse((self.path / "t.csv").exists())
        other = self.measure("floor", "--device", "3", "-o", self.path / "t.csv", status=3)
        self.assertIn("there is no GPU 3: 1 found", other.stderr)
        old = self.measure("floor", "-o", self.path / "t.csv", status=3,
                           SIMGPU_DRIVER_VERSION="12040")
        self.assertIn("the driver knows CUDA 12.4, this program was built for CUDA 13.0", old.stderr)

    def test_too_little_memory_skips_what_does_not_fit(self):
        done = self.run_program("--memory-gb", "1", "rows", "-o", self.path / "rows.csv")
        self.assertRegex(done.stderr, r"skipped \d+: rows: needs \d+ MiB more, \d+ of \d+ MiB are left")
        self.assertTrue(rows_of(self.path / "rows.csv"))
        self.model.write_text(json.dumps({**RULES, "device": {"memory_bytes": 100 << 20}}))
        done = self.measure("floor", "-o", self.path / "t.csv", status=3)
        self.assertIn("too little memory", done.stderr)

    def test_a_gpu_that_fails_keeps_what_was_measured(self):
        table = self.path / "norm.csv"
        done = self.measure("norm", "-o", table, status=1,
                            SIMGPU_FAIL="cuStreamSynchronize:700:after=200")
        self.assertIn("cudaErrorIllegalAddress", done.stderr)
        self.assertRegex(done.stderr, "stopped at norm .* of table norm; --resume goes on without it")
        before = rows_of(table)
        self.assertTrue(before)
        # The same case would stop the GPU again.
        done = self.measure("norm", "-o", table, "--resume")
        self.assertIn("skipped 1: norm: stopped the GPU in an earlier run", done.stderr)
        self.assertEqual(len(rows_of(table)), 71)
        self.assertEqual(rows_of(table)[:len(before)], before)
        self.measure("norm", "-o", table, "--force")
        self.assertEqual(len(rows_of(table)), 72)

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
