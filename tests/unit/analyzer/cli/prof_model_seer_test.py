#!/usr/bin/python3
"""prof-model on SEER's tables, as its user calls it.

    prof_model_seer_test.py PROF_MODEL GOLDEN_FOLDER
"""

import csv
import io
import pathlib
import sys
import unittest

from program_in_a_folder import InAFolder

GOLDEN = pathlib.Path(sys.argv[2])
COEFFICIENTS = GOLDEN / "seer_coeffs.csv"
DATA = GOLDEN / "seer_data"


def rows(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


class Predict(InAFolder):
    def assert_close(self, value, expected):
        self.assertLessEqual(abs(float(value) / expected - 1), 1e-12)

    def predict(self, *arguments):
        return self.good("predict", "--model", "seer", "--params", COEFFICIENTS, *arguments)

    def test_takes_the_algorithm_from_the_name_of_the_file(self):
        for algorithm in (0, 1, 2, 4, 5, 6, 7):
            for row in rows(self.predict(GOLDEN / f"seer_algo{algorithm}.csv")):
                self.assert_close(row["predicted_us"], 1000 * float(row["t_algo"]))

    def test_takes_operators_that_lack_half_a_layer(self):
        answer = rows(self.predict(GOLDEN / "seer_other_ops.csv"))
        self.assertEqual(len(answer), 140)
        for row in answer:
            self.assert_close(row["predicted_us"], 1000 * float(row["t_pred"]))

    def test_gives_the_times_of_all_algorithms_and_the_pick(self):
        for row in rows(self.good("predict", "--model", "seer_pick", "--params", COEFFICIENTS,
                                  GOLDEN / "seer_pick_predicted.csv")):
            times = [float(row[f"predicted_t{i}"]) for i in range(8)]
            self.assertEqual(int(row["predicted_algo"]), times.index(min(times)))
            self.assert_close(row["predicted_us"], 1000 * min(times))

    def test_counts_the_blocks_that_an_sm_holds(self):
        head = ("batch,in_chan,in_wid,out_chan,out_wid,ker_wid,stride,padding,algo,"
                "threads_per_block,registers_per_thread,shared_bytes_per_block\n")
        row, = rows(self.predict(self.write("one.csv", head + "128,64,56,128,56,3,1,1,0,256,127,16384\n")))
        self.assertEqual(row["predicted_block_max"], "60")  # 2 * 30 SMs
        row, = rows(self.predict(self.write("one.csv", head + "128,64,56,128,56,3,1,1,0,256,127,999999\n")))
        self.assertEqual(row["predicted_us"], "")
        self.assertIn("shared memory", row["predicted_reason"])

    def test_refuses_a_machine_that_was_never_published(self):
        arguments = ("predict", "--model", "seer", "--params", COEFFICIENTS, "--machine",
                     "h200-sxm-141gb", GOLDEN / "seer_algo0.csv")
        self.assert_refused(2, "titan-xp and titan-v only", *arguments)
        self.good(*arguments, "--edition", "calibrated")

    def test_names_file_and_column_of_a_layer_that_is_not_whole(self):
        table = self.write("algo0.csv", "batch,in_chan,in_wid,out_chan,out_wid,ker_wid,stride\n128,64,56,128,56,3,1\n")
        self.assert_refused(1, f"{table}: a row without padding", "predict", "--model", "seer", "--params", COEFFICIENTS, table)


class FitAndEvaluate(InAFolder):
    def evaluate(self, *tables):
        return rows(self.good("evaluate", "--model", "seer", "--params", COEFFICIENTS, "--format", "csv", *tables))

    def test_own_fit_predicts_as_the_published_parameters_do(self):
        fitted = self.path / "seer.json"
        done = self.good("fit", "--model", "seer", "--set", "sparse_types=published",
                         *sorted(DATA.glob("*.train.csv")), *sorted(DATA.glob("Other-ops*.csv")), "-o", fitted)
        self.assertIn("kept out of the fit", done.stderr)
        for row in rows(self.good("predict", "--model", "seer", "--params", fitted, GOLDEN / "seer_algo2.csv")):
            # The published fitter stops 1e-7 away from the minimum.
            self.assertLess(abs(float(row["predicted_us"]) / 1000 / float(row["t_algo"]) - 1), 1e-6)

    def test_prints_the_published_errors(self):
        tests = [file for file in sorted(DATA.glob("*.test.csv"))
                 if "_pre" not in file.name and "ctree" not in file.name]
        found = {(row["scope"], row["name"]): row
                 for row in self.evaluate(*tests, DATA / "conv-test-set-II.csv", DATA / "Algo-pick-set.csv")}
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
            found = {row["scope"]: int(row["n"]) for row in self.evaluate(DATA / f"{name}.csv")}
            types = tuple(found["network_" + kind] for kind in ("compute", "dram", "resource"))
            self.assertEqual(types, counts, name)

    def test_says_which_of_several_tables_is_none_of_its_tests(self):
        self.assert_refused(1, "algo2_pre.test.csv: the name is none of SEER's tests", "evaluate", "--model", "seer",
                            "--params", COEFFICIENTS, DATA / "algo5.test.csv", DATA / "algo2_pre.test.csv")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
