#!/usr/bin/python3
"""prof-model on SEER's tables, as its user calls it.

    prof_model_seer_test.py PROF_MODEL GOLDEN_FOLDER
"""

import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROF_MODEL = sys.argv.pop(1)
GOLDEN = pathlib.Path(sys.argv.pop(1))
COEFFICIENTS = GOLDEN / "seer_coeffs.csv"
DATA = GOLDEN / "seer_data"


def prof_model(*arguments):
    return subprocess.run([PROF_MODEL, *map(str, arguments)], capture_output=True, text=True)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Predict(unittest.TestCase):
    def assert_close(self, value, expected):
        self.assertLessEqual(abs(float(value) / expected - 1), 1e-12)

    def test_takes_the_algorithm_from_the_name_of_the_file(self):
        for algorithm in (0, 1, 2, 4, 5, 6, 7):
            run = prof_model("predict", "--model", "seer", "--params", COEFFICIENTS,
                             GOLDEN / f"seer_algo{algorithm}.csv")
            self.assertEqual(run.returncode, 0, run.stderr)
            for row in rows(run.stdout):
                self.assert_close(row["predicted_us"], 1000 * float(row["t_algo"]))

    def test_takes_operators_that_lack_half_a_layer(self):
        run = prof_model("predict", "--model", "seer", "--params", COEFFICIENTS,
                         GOLDEN / "seer_other_ops.csv")
        self.assertEqual(run.returncode, 0, run.stderr)
        answer = rows(run.stdout)
        self.assertEqual(len(answer), 140)
        for row in answer:
            self.assert_close(row["predicted_us"], 1000 * float(row["t_pred"]))

    def test_gives_the_times_of_all_algorithms_and_the_pick(self):
        run = prof_model("predict", "--model", "seer_pick", "--params", COEFFICIENTS,
                         GOLDEN / "seer_pick_predicted.csv")
        for row in rows(run.stdout):
            times = [float(row[f"predicted_t{i}"]) for i in range(8)]
            self.assertEqual(int(row["predicted_algo"]), times.index(min(times)))
            self.assert_close(row["predicted_us"], 1000 * min(times))

    def test_counts_the_blocks_that_an_sm_holds(self):
        head = ("batch,in_chan,in_wid,out_chan,out_wid,ker_wid,stride,padding,algo,"
                "threads_per_block,registers_per_thread,shared_bytes_per_block\n")
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "one.csv"
            table.write_text(head + "128,64,56,128,56,3,1,1,0,256,127,16384\n")
            run = prof_model("predict", "--model", "seer", "--params", COEFFICIENTS, table)
            self.assertEqual(rows(run.stdout)[0]["predicted_block_max"], "60")  # 2 * 30 SMs
            table.write_text(head + "128,64,56,128,56,3,1,1,0,256,127,999999\n")
            run = prof_model("predict", "--model", "seer", "--params", COEFFICIENTS, table)
            self.assertEqual(rows(run.stdout)[0]["predicted_us"], "")
            self.assertIn("shared memory", rows(run.stdout)[0]["predicted_reason"])

    def test_refuses_a_machine_that_was_never_published(self):
        arguments = ("predict", "--model", "seer", "--params", COEFFICIENTS, "--machine",
                     "h200-sxm-141gb", GOLDEN / "seer_algo0.csv")
        run = prof_model(*arguments)
        self.assertEqual(run.returncode, 2)
        self.assertIn("titan-xp and titan-v only", run.stderr)
        self.assertEqual(prof_model(*arguments, "--edition", "calibrated").returncode, 0)

    def test_names_file_and_column_of_a_layer_that_is_not_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "algo0.csv"
            table.write_text("batch,in_chan,in_wid,out_chan,out_wid,ker_wid,stride\n"
                             "128,64,56,128,56,3,1\n")
            run = prof_model("predict", "--model", "seer", "--params", COEFFICIENTS, table)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"{table}: a row without padding", run.stderr)


class FitAndEvaluate(unittest.TestCase):
    def test_own_fit_predicts_as_the_published_parameters_do(self):
        with tempfile.TemporaryDirectory() as folder:
            fitted = pathlib.Path(folder) / "seer.json"
            run = prof_model("fit", "--model", "seer", "--set", "sparse_types=published",
                             *sorted(DATA.glob("*.train.csv")), *sorted(DATA.glob("Other-ops*.csv")),
                             "-o", fitted)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("kept out of the fit", run.stderr)
            run = prof_model("predict", "--model", "seer", "--params", fitted,
                             GOLDEN / "seer_algo2.csv")
            for row in rows(run.stdout):
                # The published fitter stops 1e-7 away from the minimum.
                self.assertLess(abs(float(row["predicted_us"]) / 1000 / float(row["t_algo"]) - 1), 1e-6)

    def test_prints_the_published_errors(self):
        tests = [file for file in sorted(DATA.glob("*.test.csv"))
                 if "_pre" not in file.name and "ctree" not in file.name]
        run = prof_model("evaluate", "--model", "seer", "--params", COEFFICIENTS, "--format", "csv",
                         *tests, DATA / "conv-test-set-II.csv", DATA / "Algo-pick-set.csv")
        self.assertEqual(run.returncode, 0, run.stderr)
        found = {(row["scope"], row["name"]): row for row in rows(run.stdout)}
        with open(GOLDEN / "seer_eval_metrics.csv", newline="") as file:
            expected = list(csv.DictReader(file))
        self.assertEqual(len(expected), 34)
        for row in expected:
            answer = found[row["scope"], row["name"]]
            self.assertEqual(answer["n"], row["n"])
            # The file has 12 digits.
            self.assertAlmostEqual(float(answer["rmspe_percent"]), float(row["rmspe_percent"]), 10)
            if row["rmse_ms"] != "nan":
                self.assertAlmostEqual(float(answer["rmse_ms"]), float(row["rmse_ms"]), 9)
        with open(GOLDEN / "seer_eval_by_type.csv", newline="") as file:
            by_type = [row for row in csv.DictReader(file)
                       if row["type_predicted"] in ("compute", "dram", "resource")]
        self.assertEqual(len(by_type), 48)
        for row in by_type:
            answer = found["set1_" + row["type_predicted"], row["name"]]
            for error in ("rmspe_percent", "rmse_ms"):
                self.assertLess(abs(float(answer[error]) - float(row[error + "_4dp"])), 0.51e-4, row)

    def test_counts_the_types_of_three_networks(self):
        for name, counts in (("network_1", (9, 0, 3)), ("network_2", (8, 2, 0)), ("network_3", (17, 0, 3))):
            run = prof_model("evaluate", "--model", "seer", "--params", COEFFICIENTS,
                             "--format", "csv", DATA / f"{name}.csv")
            found = {row["scope"]: int(row["n"]) for row in rows(run.stdout)}
            types = tuple(found["network_" + kind] for kind in ("compute", "dram", "resource"))
            self.assertEqual(types, counts, name)

    def test_says_which_of_several_tables_is_none_of_its_tests(self):
        run = prof_model("evaluate", "--model", "seer", "--params", COEFFICIENTS,
                         DATA / "algo5.test.csv", DATA / "algo2_pre.test.csv")
        self.assertEqual(run.returncode, 1)
        self.assertIn("algo2_pre.test.csv: the name is none of SEER's tests", run.stderr)


if __name__ == "__main__":
    unittest.main()
