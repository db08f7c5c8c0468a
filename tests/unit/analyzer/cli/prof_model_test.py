#!/usr/bin/python3
"""prof-model as its user calls it: tables, options, exit statuses.

usage: prof_model_test.py PROF_MODEL GOLDEN_DIR
"""

import csv
import io
import json
import pathlib
import sys
import unittest

from program_in_a_folder import InAFolder, run

GOLDEN = pathlib.Path(sys.argv[2])
FORWARD = GOLDEN / "embedding_forward.csv"
FC = GOLDEN / "fc_interp.csv"
FC_TABLE = GOLDEN / "fc_microbench_table.csv"

BACKWARD_HEADER = ("peak_dram_bw_gbps,peak_throughput_gflops,batch_size,num_tables,bag_size,"
                   "embedding_dim,shmem")
BACKWARD_ROW = "100,1000,1000,2,8,32,1"  # 2272 bytes for each of 2000 warps: 45.44 us


class List(InAFolder):
    def test_names_every_model_once(self):
        models = [row["model"] for row in json.loads(run("list", "--format", "json").stdout)]
        self.assertEqual(len(models), len(set(models)))
        for model in ["embedding_forward", "embedding_backward_sgd",
                      "embedding_backward_rowwise_adagrad", "embedding_v2", "fc"]:
            self.assertIn(model, models)

    def test_every_model_tells_its_columns(self):
        for row in json.loads(run("list", "--format", "json").stdout):
            done = self.good("list", row["model"], "--format", "json")
            columns = json.loads(done.stdout)
            self.assertTrue(columns, row["model"])
            for column in columns:
                self.assertTrue(column["meaning"], column)

    def test_an_unknown_model_is_refused_with_those_there_are(self):
        self.assert_refused(2, "embedding_forward", "list", "embeding")

    def test_names_the_machines_and_what_is_shipped_for_them(self):
        machines = {row["machine"]: row for row in
                    json.loads(run("list", "--machines", "--format", "json").stdout)}
        self.assertEqual(machines["h200-sxm-141gb"]["sm_count"], 132)
        self.assertIn("memory_v100-pcie-32gb", machines["v100-pcie-32gb"]["parameters"].split())
        refused = run("predict", "--model", "gemm", "--machine", "none", FC)
        known = refused.stderr.partition("choose from ")[2].partition(", or")[0]
        self.assertEqual(set(machines), set(known.split(", ")))
        self.assert_refused(2, "--machines: expected no model beside it, found gemm", "list", "gemm", "--machines")


class ShippedParameters(InAFolder):
    """Parameters that come with the program, without a file."""

    def predict(self, *arguments):
        table = self.write("t.csv", "m,n,k\n4096,4096,4096\n")
        return run("predict", "--model", "gemm", table, *arguments)

    def time_us(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(next(csv.DictReader(io.StringIO(done.stdout)))["predicted_us"])

    def test_the_only_set_of_a_machine_is_taken_and_named(self):
        done = self.predict("--machine", "a100-sxm4-80gb")
        self.assertIn("--params gemm_a100-sxm4-80gb_bf16: the shipped set of this machine\n",
                      done.stderr)
        named = self.predict("--machine", "a100-sxm4-80gb", "--params", "gemm_a100-sxm4-80gb_bf16")
        self.assertEqual((named.stdout, named.stderr), (done.stdout, ""))
        self.assertTrue(440 < self.time_us(done) < 700)  # 137 GFLOP at 200 to 310 TFLOP/s

    def test_of_several_sets_one_has_to_be_named(self):
        done = self.predict("--machine", "h200-sxm-141gb")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("one of the shipped sets of h200-sxm-141gb: gemm_h200-sxm-141gb_bf16, "
                      "gemm_h200-sxm-141gb_f8e4m3, gemm_h200-sxm-141gb_f8e4m3_block, "
                      "gemm_h200-sxm-141gb_f8e4m3_cublas\n", done.stderr)
        self.assertGreater(
            self.time_us(self.predict("--machine", "h200-sxm-141gb", "--params",
                                      "gemm_h200-sxm-141gb_bf16")), 0)

    def test_where_there_is_none_those_of_others_are_named(self):
        done = self.predict("--machine", "titan-v")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("gemm needs --params", done.stderr)
        self.assertIn("gemm_b200-sxm-180gb_bf16", done.stderr)

    def test_a_set_of_another_model_is_refused(self):
        done = self.predict("--machine", "v100-pcie-32gb", "--params", "memory_v100-pcie-32gb")
        self.assertEqual(done.returncode, 1)
        self.assertIn("parameters of model memory, expected of gemm", done.stderr)


class Predict(InAFolder):
    def predict(self, *arguments):
        done = self.good("predict", *arguments)
        return done

    def test_columns_come_out_as_they_went_in(self):
        rows = ['7,"a ""quoted"", cell",%s' % BACKWARD_ROW, "0x7, b ,%s" % BACKWARD_ROW]
        file = self.write("t.csv", "id,name,%s\r\n%s\r\n" % (BACKWARD_HEADER, "\r\n".join(rows)))
        lines = self.predict("--model", "embedding_backward_sgd", file).stdout.splitlines()
        self.assertEqual(len(lines), 3)
        for line, row in zip(lines[1:], rows):
            self.assertTrue(line.startswith(row + ",45.44,,,memory,,,"), line)

    def test_columns_that_look_like_results_are_never_read(self):
        file = self.write("t.csv", "time_us,error,predicted_us,hit_rate,%s\nfast,,-1,nan,%s\n" % (
            BACKWARD_HEADER, BACKWARD_ROW))
        lines = self.predict("--model", "embedding_backward_sgd", file).stdout.splitlines()
        self.assertTrue(lines[1].startswith("fast,,-1,nan,%s,45.44," % BACKWARD_ROW), lines[1])

    def test_an_original_that_ends_is_named_and_the_others_go_on(self):
        out = self.predict("--model", "embedding_forward", FORWARD).stdout
        rows = list(csv.DictReader(io.StringIO(out)))
        ended = [row for row in rows if row["predicted_error"]]
        self.assertTrue(ended)
        for row in rows:
            self.assertEqual(row["predicted_error"], row["error"])
            self.assertEqual(row["predicted_us"] == "", bool(row["error"]))
            self.assertEqual(row["predicted_reason"] == "", not row["error"])

    def test_a_column_may_be_set_for_all_rows(self):
        file = self.write("t.csv", "batch_size,num_tables,bag_size,embedding_dim\n1000,2,8,32\n")
        done = self.predict("--model", "embedding_backward_sgd", file, "--set", "shmem=1", "--set",
                            "peak_dram_bw_gbps=100", "--set", "peak_throughput_gflops=1000")
        self.assertIn(",45.44,", done.stdout)

    def test_explain_goes_to_standard_error(self):
        file = self.write("t.csv", "%s\n%s\n" % (BACKWARD_HEADER, BACKWARD_ROW))
        plain = self.predict("--model", "embedding_backward_sgd", file)
        done = self.predict("--model", "embedding_backward_sgd", "--explain", file)
        self.assertEqual((plain.stdout, plain.stderr), (done.stdout, ""))
        self.assertIn("line 2", done.stderr)
        self.assertIn("45.44 us", done.stderr)

    def test_every_row_can_be_explained(self):
        for arguments in [("embedding_forward", FORWARD),
                          ("embedding_backward_sgd", GOLDEN / "embedding_backward_sgd.csv"),
                          ("embedding_backward_rowwise_adagrad",
                           GOLDEN / "embedding_backward_adagrad.csv"),
                          ("embedding_v2", GOLDEN / "embedding_upstream_v2.csv"),
                          ("fc", FC, "--params", FC_TABLE)]:
            done = self.predict("--explain", "--model", *arguments)
            rows = len(done.stdout.splitlines()) - 1
            self.assertEqual(sum(line.startswith("line ") for line in done.stderr.splitlines()),
                             rows)

    def test_a_table_without_rows_gives_a_header(self):
        file = self.write("t.csv", BACKWARD_HEADER + "\n")
        self.assertEqual(self.predict("--model", "embedding_backward_sgd",
                                      file).stdout.count("\n"), 1)

    def test_a_repeated_product_is_a_warning(self):
        done = self.predict("--model", "fc", "--params", FC_TABLE, FC)
        self.assertIn("%s: shapes that stand there before, whose first time counts: 1 "
                      "(line 42 as line 41)" % FC_TABLE, done.stderr)


class WrongInput(InAFolder):
    def test_a_cell_out_of_range_is_named_with_file_line_and_column(self):
        # Bytes/s where GB/s belong; the unit tests of tables and of their rows have the other complaints.
        file = self.write("t.csv", "%s\n%s\n809e9%s\n" % (BACKWARD_HEADER, BACKWARD_ROW, BACKWARD_ROW[len("100"):]))
        self.assert_refused(1, "prof-model: %s: line 3, column peak_dram_bw_gbps: expected a number of GB/s from 1 to 100000, "
                            "found 809e9\n" % file, "predict", "--model", "embedding_backward_sgd", file)

    def test_measured_products_are_checked_too(self):
        for cells, complaint in [
                ("v,1,64,64,64,0", "line 2, column kernel_runtime: expected a number of us from "
                 "0.001 to 1000000000, found 0"),
                ("v,1,0,64,64,5", "line 2, column M: expected an integer from 1 to 1000000, "
                 "found 0")]:
            table = self.write("p.csv", "kernel_name,batch_size,M,N,K,kernel_runtime\n%s\n" % cells)
            done = run("predict", "--model", "fc", "--params", table, FC)
            self.assertEqual((done.returncode, done.stderr.strip()),
                             (1, "prof-model: %s: %s" % (table, complaint)))
        self.assert_refused(1, "no complete row of a kernel ampere*",
                            "predict", "--model", "fc", "--params", FC_TABLE, FC, "--set", "kernel_prefix=ampere")


class Evaluate(InAFolder):
    def test_perfect_predictions_have_no_error(self):
        done = self.good("evaluate", "--model", "embedding_forward", FORWARD, "--group", "hw",
                         "--format", "json")
        rows = json.loads(done.stdout)
        self.assertEqual([row["group"] for row in rows],
                         ["a100_like", "h100_like", "v100_original", "v100_true_l2", "all"])
        whole = rows[-1]
        self.assertEqual(whole["n"], sum(row["n"] for row in rows[:-1]))
        self.assertEqual((whole["mape_percent"], whole["bias_percent"]), (0, 0))
        self.assertEqual(whole["within_10_percent"], 100)
        self.assertAlmostEqual(whole["original_gmae_percent"], 0.04)
        self.assertIsNone(whole["coverage_percent"])
        self.assertTrue(whole["unmeasured"] > 0)

    def test_errors_are_those_of_the_prediction(self):
        # 45.44 us each: 10 % too long, 20 % too short.
        file = self.write("t.csv", "%s,us\n%s,%r\n%s,%r\n" % (
            BACKWARD_HEADER, BACKWARD_ROW, 45.44 / 1.1, BACKWARD_ROW, 45.44 / 0.8))
        done = run("evaluate", "--model", "embedding_backward_sgd", file, "--measured", "us",
                   "--format", "csv")
        self.assertEqual(done.stderr, "")
        row = next(csv.DictReader(io.StringIO(done.stdout)))
        self.assertAlmostEqual(float(row["mape_percent"]), 15)
        self.assertAlmostEqual(float(row["bias_percent"]), -5)
        self.assertAlmostEqual(float(row["max_percent"]), 20)

    def test_rows_that_count_twice_are_a_warning(self):
        file = self.write("t.csv", "%s,us\n%s,40\n%s,40\n" % (
            BACKWARD_HEADER, BACKWARD_ROW, BACKWARD_ROW))
        done = self.good("evaluate", "--model", "embedding_backward_sgd", file, "--measured", "us")
        self.assertIn("rows that stand there before and count again: 1 (line 3 as line 2)",
                      done.stderr)

    def test_needs_a_measured_time_above_zero(self):
        file = self.write("t.csv", "%s,time_us\n%s,0\n" % (BACKWARD_HEADER, BACKWARD_ROW))
        done = run("evaluate", "--model", "embedding_backward_sgd", file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 2, column time_us: expected a time > 0, found 0", done.stderr)
        done = run("evaluate", "--model", "embedding_backward_sgd", file, "--measured", "us")
        self.assertIn("line 1: no column us", done.stderr)


class Convert(InAFolder):
    LOGS = GOLDEN.parent / "collective/param_format"
    LOG = LOGS / "all_reduce_4.txt"

    def test_a_log_becomes_a_table_and_a_fit(self):
        table, params = self.path / "measured.csv", self.path / "curves.json"
        done = run("convert", "--to", "collective_curve", self.LOG, "-o", table)
        self.assertIn("28 rows", done.stderr)
        self.assertEqual(run("fit", "--model", "collective", table, "-o", params).returncode, 0)
        done = run("evaluate", "--model", "collective", "--params", params, table, "--format", "json",
                   "--measured", "latency_us")
        self.assertEqual(json.loads(done.stdout)[-1]["n"], 28, done.stderr)

    def test_several_logs_are_one_table(self):
        done = run("convert", "--to", "collective", self.LOG, self.LOGS / "all_reduce_8_newest_layout.txt")
        self.assertEqual({row["num_gpus"] for row in csv.DictReader(io.StringIO(done.stdout))}, {"4", "8"})

    def test_what_is_wrong_is_named(self):
        log = self.write("all_reduce_4.txt", self.LOG.read_text().replace("84.1", "fast"))
        for arguments, status, complaint in [([log], 1, "%s: line " % log),
                                             (["--set", "color=red", self.LOG], 2, "nothing is called color")]:
            self.assert_refused(status, complaint, "convert", "--to", "collective", *arguments)


class Runs(InAFolder):
    """Profiles in the place of tables."""
    SMALL = GOLDEN.parents[1] / "gen3/small_h200.prof.json"

    def run_in_f32(self):
        text = self.SMALL.read_text()
        for name in ["a_type", "b_type", "c_type"]:
            text = text.replace('"%s": "bf16"' % name, '"%s": "f32"' % name)
        return self.write("run.prof.json", text)

    def test_a_run_becomes_a_product_table_that_knows_its_products(self):
        profile, table = self.run_in_f32(), self.path / "products.csv"
        done = self.good("fit", "--model", "fc", profile, "-o", table)
        [row] = csv.DictReader(io.StringIO(table.read_text()))
        self.assertEqual((row["kernel_runtime"], row["machine"]), ("200", "h200-sxm-141gb"))
        done = run("predict", "--model", "fc", "--params", table, profile)
        [row] = csv.DictReader(io.StringIO(done.stdout))
        self.assertEqual((row["predicted_us"], row["predicted_exact_match"]), ("200", "1"), done.stderr)
        [row] = json.loads(run("evaluate", "--model", "fc", "--params", table, profile, "--format", "json").stdout)
        self.assertEqual((row["n"], row["mape_percent"]), (1, 0))

    def test_says_why_a_run_has_no_rows_for_a_model(self):
        self.assert_refused(1, "no measured row that seer covers", "fit", "--model", "seer", self.SMALL)

    def test_an_iteration_has_three_times(self):
        times = json.loads(run("iteration", self.SMALL).stdout)
        self.assertEqual(times["measured_us"], 1000)
        self.assertGreater(times["published_us"], 0)
        self.assertLess(times["ours_lower_us"], times["ours_us"])
        text = run("iteration", self.SMALL, "--format", "table").stdout
        self.assertEqual([line.split()[0] for line in text.splitlines() if not line.startswith(" ")],
                         ["measured", "published", "ours", "90"][:3])


class Iteration(InAFolder):
    def test_a_trace_alone_is_an_object(self):
        traces = json.loads((GOLDEN / "trace_overheads.json").read_text())
        for document in [traces[0]["trace"], {"traceEvents": traces[0]["trace"]}, traces[0]]:
            file = self.write("trace.json", json.dumps(document))
            given = json.loads(run("iteration", file).stdout)
            self.assertEqual(given["n_roots"], traces[0]["expected"]["n_roots"])

    def test_is_readable_as_text(self):
        done = run("iteration", GOLDEN / "e2e_model.json", "--format", "table")
        self.assertIn("end to end", done.stdout)

    def test_wrong_files_are_refused_with_the_place(self):
        for document, complaint in [
                ("{}", '/: missing "traceEvents"'),
                ('[{"name": "a", "ts": 1, "dur": -1}]', 'no operator ("cat": "cpu_op")'),
                ('{"t1": 1, "t2": {}, "t3": {}, "t4": {}, "t5": {}, "launches": {}, '
                 '"nodes": [{"name": "a", "kind": "rest"}]}',
                 "/nodes/0/kind: expected label, compute")]:
            self.assert_refused(1, "t.json: " + complaint, "iteration", self.write("t.json", document))


class WhatIf(InAFolder):
    # Stream 0: a 10, c 10; stream 1: b 30; d 5 behind both.
    TASKS = {"schema": "inline_prof_iteration/1", "tasks": [
        {"name": "a", "time_us": 10}, {"name": "b", "time_us": 30, "predicted_us": 22},
        {"name": "c", "time_us": 10, "waits": [{"task": 0}]},
        {"name": "d", "time_us": 5, "waits": [{"task": 1}, {"task": 2, "delay_us": 1}]}]}

    def ask(self, *arguments, document=None):
        file = self.write("tasks.json", json.dumps(document or self.TASKS))
        done = run("iteration", file, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_the_longest_path_and_its_slack(self):
        answer = self.ask()
        self.assertEqual(answer["iteration_us"], 35)
        self.assertEqual(answer["longest_path"], [1, 3])
        self.assertEqual([task["slack_us"] for task in answer["tasks"]], [9, 0, 9, 0])
        self.assertNotIn("saved_us", answer)

    def test_scaled_and_predicted_times(self):
        self.assertEqual(self.ask("--scale", "b=0.9")["saved_us"], 3)
        self.assertEqual(self.ask("--scale", "b=0")["changed_iteration_us"], 26)
        self.assertEqual(self.ask("--scale", "a=0", "--scale", "c=0")["saved_us"], 0)
        self.assertEqual(self.ask("--met-prediction")["changed_iteration_us"], 27)
        self.assertEqual(self.ask("--met-prediction", "--scale", "*=2")["changed_iteration_us"], 54)

    def test_a_meeting_waits_for_the_last_rank(self):
        tasks = [{"name": "early", "time_us": 5}, {"name": "late", "time_us": 20},
                 {"name": "sum", "time_us": 8, "waits": [{"task": 0}], "meeting": "1"},
                 {"name": "sum", "time_us": 8, "waits": [{"task": 1}], "meeting": "1"}]
        document = {"schema": "inline_prof_iteration/1", "tasks": tasks}
        self.assertEqual(self.ask("--scale", "early=0", document=document)["saved_us"], 0)
        self.assertEqual(self.ask("--scale", "late=0.5", document=document)["saved_us"], 10)

    def test_published_graphs_have_a_longest_path(self):
        done = run("iteration", "--edition", "calibrated", GOLDEN / "e2e_model.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for path, golden in zip(json.loads(done.stdout),
                                json.loads((GOLDEN / "e2e_model.json").read_text())):
            # The walk adds 5 us to each kernel and forgets launches that have none; else both
            # follow the same host and streams.
            ratio = path["iteration_us"] / golden["expected"]["e2e_time"]
            self.assertTrue(0.85 < ratio < 1.05, ratio)

    def test_what_cannot_be_asked_is_refused(self):
        file = self.write("tasks.json", json.dumps(self.TASKS))
        for arguments, status, complaint in [
                (["--scale", "e=1"], 1, '"e" fits the name of no task'),
                (["--scale", "a"], 2, "expected NAME=FACTOR"),
                (["--scale", "a=-1"], 2, "expected a factor from 0 to 1e6, found -1"),
                (["--edition", "published"], 2, "know nothing of tasks")]:
            self.assert_refused(status, complaint, "iteration", file, *arguments)
        self.assert_refused(2, "need --edition calibrated", "iteration", GOLDEN / "e2e_model.json", "--scale", "a=1")

    def test_wrong_tasks_are_refused_with_their_place(self):
        def one(task):
            return json.dumps({"schema": "inline_prof_iteration/1", "tasks": [task]})
        for document, complaint in [
                ('{"schema": "other", "tasks": []}', "/schema: expected"),
                ('{"tasks": []}', 'missing "schema"'),
                (one({"name": "a"}), '/tasks/0: missing "time_us"'),
                (one({"name": "a", "time_us": -1}), "/tasks/0/time_us: expected a time"),
                (one({"name": "a", "time_us": 1, "waits": [{"task": 1}]}),
                 "/tasks/0/waits/0/task: expected the index of one of 1 tasks, found 1"),
                (one({"name": "a", "time_us": 1, "waits": [{"task": 0}]}), "waits for itself")]:
            self.assert_refused(1, complaint, "iteration", self.write("w.json", document))


class Options(InAFolder):
    def test_a_wrong_command_line_ends_with_2(self):
        model = ["--model", "embedding_forward"]
        for arguments in [[], ["predict"], ["predict", FORWARD], ["guess"],
                          ["predict", "--model", "none", FORWARD],
                          ["predict", *model, FORWARD, "--edition", "calibrated"],
                          ["predict", *model, FORWARD, "--edition", "best"],
                          ["predict", *model, FORWARD, "--machine", "h200-sxm-141gb"],
                          ["predict", *model, FORWARD, "--params", FC_TABLE],
                          ["predict", *model, FORWARD, "--constants", "main"],
                          ["predict", *model, FORWARD, "--set", "colour=red"],
                          ["predict", *model, FORWARD, "--set", "num_sm=80"],
                          ["predict", *model, FORWARD, "--set", "num_sm"],
                          ["predict", "--model", "fc", FC],
                          ["evaluate", *model, FORWARD, "--format", "xml"],
                          ["fit", "--model", "embedding_forward", FORWARD],
                          ["iteration", GOLDEN / "e2e_model.json", "--set", "num_sm=none"]]:
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertNotEqual(done.stderr, "", arguments)

    def test_help_is_a_result(self):
        for arguments in [["--help"], ["predict", "--help"], ["--version"]]:
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
