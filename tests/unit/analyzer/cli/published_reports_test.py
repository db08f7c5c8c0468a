#!/usr/bin/python3
"""Published models in reports of recorded runs, and the parameters that runs give.

    published_reports_test.py PROF_ANALYZE PROF_MODEL TEST_DATA
"""

import csv
import io
import json
import pathlib
import subprocess
import sys
import unittest

from program_in_a_folder import InAFolder

PROF_ANALYZE = sys.argv.pop(1)
PROF_MODEL = sys.argv.pop(1)
DATA = pathlib.Path(sys.argv.pop(1))
ALLREDUCE = DATA / "published/allreduce_v100.prof.json.gz"
DLRM = DATA / "published/dlrm_plain_h100.prof.json.gz"
CONV = DATA / "published/conv_titan_xp.prof.json.gz"
SEER = DATA / "golden/seer/seer_coeffs.csv"
PRODUCTS = DATA / "golden/dlrm/fc_microbench_table_xla_h100_f32.csv"


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


def report(*arguments, models="published"):
    done = run(PROF_ANALYZE, *arguments, "--models", models, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(kind, document):
    return [row for row in document["rows"] if row["op"] == kind]


class Reports(InAFolder):
    def test_a_collective_is_predicted_by_the_published_curve(self):
        rows = rows_of("collective", report(ALLREDUCE))
        self.assertEqual(len(rows), 4)
        table = self.write("one.csv", "op,num_gpus,bytes\nall_reduce,8,33554432\n")
        done = run(PROF_MODEL, "predict", "--model", "collective", table)
        expected = float(next(csv.DictReader(io.StringIO(done.stdout)))["predicted_us"])
        for row in rows:
            self.assertEqual((row["model"], row["predicted_us"]), ("collective published", expected))

    def test_a_cast_is_predicted_by_torchaos_roofline(self):
        rows = rows_of("cast", report(DLRM, "--layers", DATA / "published/casts.json"))
        self.assertGreater(len(rows), 5)
        self.assertEqual({row["model"] for row in rows}, {"roofline_cast"})

    def test_convolutions_and_their_gradients_are_seers(self):
        rows = rows_of("conv", report(CONV, "--params", f"seer={SEER}"))
        self.assertEqual(len(rows), 5)
        self.assertEqual({row["model"] for row in rows}, {"seer published"})

    def test_a_bad_choice_is_one_sentence_for_each_model(self):
        for choice, words in [
                ([ALLREDUCE, "--params", f"seer={DATA}/no_such.csv"], []),  # no convolution asks for it
                ([CONV, "--params", f"seer={SEER}", "--machine", "a100-sxm4-40gb"], ["titan-xp and titan-v only"]),
                ([CONV, "--params", f"seer={DATA}/no_such.csv"], ["seer published, seer calibrated, seer_pick published, seer_pick calibrated: "]),
                ([DLRM, "--params", f"fc={PRODUCTS}"], ["fc: the parameters hold none of 20 operations: "
                                                        "the table has no products of f16"])]:
            warnings = report(*choice, models="all")["warnings"]
            said = [text for text in warnings if text.startswith(("seer", "fc"))]
            self.assertEqual(len(said), len(words), warnings)
            for text, word in zip(sorted(said), sorted(words)):
                self.assertIn(word, text)

    def test_parameters_of_another_algorithm_are_one_sentence(self):
        lines = SEER.read_text().splitlines(keepends=True)
        table = self.write("algo5.csv", lines[0] + "".join(line for line in lines if line.startswith("algo5")))
        warnings = report(CONV, "--params", f"seer={table}", models="all")["warnings"]
        said = [text for text in warnings if text.startswith("seer calibrated, seer published: ")]
        self.assertEqual(len(said), 1, warnings)
        self.assertIn("the parameters hold none of 3 operations: no 2 coefficients flop of algo1_", said[0])

    def test_an_attribute_that_a_model_does_not_take_is_said_once(self):
        layers = self.write("layers.json", {"rules": [{"match": "*convert_array*", "op": {
            "kind": "embedding", "batch": 2048, "tables": 26, "rows": 100, "bag": 2000000, "dim": 128}}]})
        warnings = report(DLRM, "--layers", layers, models="all")["warnings"]
        said = [text for text in warnings if text.startswith("embedding_forward, embedding_v2: ")]
        self.assertEqual(len(said), 1, warnings)
        self.assertIn("bag_size: expected an integer from 0", said[0])


class Fits(InAFolder):
    def test_a_run_gives_seer_its_times(self):
        fitted = self.path / "seer.json"
        done = run(PROF_MODEL, "fit", "--model", "seer", "--prior", SEER, CONV, "-o", fitted)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(fitted.read_text())["machine"], "titan-xp")
        for row in rows_of("conv", report(CONV, "--params", f"seer={fitted}")):
            self.assertLess(abs(row["predicted_us"] / row["corrected_us"] - 1), 0.05, row)
        picks = [each for each in report(CONV, "--params", f"seer={fitted}", models="all")["models"]
                 if each["model"] == "seer_pick published"]
        self.assertEqual([each["predicted"] for each in picks], [2])

    def test_a_run_alone_does_not_say_what_only_counters_tell(self):
        done = run(PROF_MODEL, "fit", "--model", "seer", "--machine", "titan-xp", ALLREDUCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no measured row that seer covers", done.stderr)
        done = run(PROF_MODEL, "fit", "--model", "seer", "--machine", "titan-xp", CONV)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out: 2 convolutions that need --prior", done.stderr)

    def test_a_half_precision_run_gives_a_product_table(self):
        table = self.path / "products.csv"
        done = run(PROF_MODEL, "fit", "--model", "fc", DLRM, "-o", table)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["type"] for row in csv.DictReader(io.StringIO(table.read_text()))}, {"f16"})
        for row in rows_of("gemm", report(DLRM, "--params", f"fc={table}")):
            self.assertEqual(row["model"], "fc")


if __name__ == "__main__":
    unittest.main()
