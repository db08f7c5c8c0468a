#!/usr/bin/python3
"""prof-model convert, fit and plot as their user calls them, one after the other.

usage: prof_model_plot_test.py PROF_MODEL GOLDEN_DIR
"""

import csv
import ctypes.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = sys.argv[1]
GOLDEN = pathlib.Path(sys.argv[2])
CURVES = GOLDEN / "collective/collectives_curves.csv"
LOG = GOLDEN / "collective/param_format/all_reduce_4.txt"
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)


class Plots(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.params = self.path / "curves.json"

    def done(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, status, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def fit(self):
        self.done("fit", "--model", "collective", CURVES, "-o", self.params)

    def test_a_log_becomes_a_table_a_fit_and_a_picture(self):
        table = self.path / "measured.csv"
        words = self.done("convert", "--to", "collective_curve", LOG, "-o", table).stderr
        self.assertIn("28 rows", words)
        self.done("fit", "--model", "collective", table, "-o", self.params)
        picture = self.path / "picture.svg"
        self.done("plot", "--model", "collective", "--params", self.params, table, "-o", picture)
        root = xml.etree.ElementTree.parse(picture).getroot()
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertEqual(texts.count("all_reduce_4"), 2)  # time and bandwidth
        self.assertIn("saturation", texts)
        # 28 rows of time, of two bandwidths, and of the scatter, and a dot in each legend.
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 4 * 28 + 4)

    def test_one_curve_of_many(self):
        self.fit()
        picture = self.path / "picture.svg"
        done = self.done("plot", "--model", "collective", "--params", self.params, CURVES,
                         "--curve", "synth_v100x4_a2av", "--kind", "errors", "-o", picture)
        self.assertIn("30 rows: MAPE", done.stderr)

    def test_a_page_holds_picture_and_words(self):
        self.fit()
        page = self.path / "page.html"
        self.done("plot", "--model", "collective", "--params", self.params, CURVES, "-o", page)
        self.assertIn("<svg ", page.read_text())
        self.assertIn("0 rows without a prediction", page.read_text())

    @unittest.skipUnless(ctypes.util.find_library("cairo"), "no Cairo")
    def test_a_png_is_one(self):
        picture = self.path / "picture.png"
        self.done("plot", "--model", "embedding_forward",
                  GOLDEN / "dlrm/embedding_forward.csv", "-o", picture)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_a_picture_is_not_replaced_unasked(self):
        picture = self.path / "picture.svg"
        arguments = ("plot", "--model", "embedding_forward",
                     GOLDEN / "dlrm/embedding_forward.csv", "-o", picture)
        self.done(*arguments)
        self.assertIn("--force replaces it", self.refused(1, *arguments))
        self.done(*arguments, "--force")

    def test_wrong_command_lines(self):
        table = GOLDEN / "dlrm/embedding_forward.csv"
        for words, arguments in (
                ("expected a name that ends in .svg, .png or .html", ("-o", "picture.gif")),
                ("only the model collective has curves", ("--kind", "curve", "-o", "p.svg")),
                ("--kind", ("--kind", "pie", "-o", "p.svg"))):
            self.assertIn(words, self.refused(2, "plot", "--model", "embedding_forward", table,
                                              *arguments))
        self.assertIn("has no such curve",
                      self.refused(2, "plot", "--model", "collective", CURVES, "--curve", "x",
                                   "-o", self.path / "p.svg"))
        self.assertIn("nothing is called color",
                      self.refused(2, "convert", "--to", "collective", "--set", "color=red", LOG))

    def test_a_table_without_times_is_named(self):
        table = self.path / "shapes.csv"
        table.write_text("gpu,M,K,N,float8_recipe\nNVIDIA H100,1,1,1,tensorwise\n")
        self.assertIn(f"{table}: line 1: no column time_us",
                      self.refused(1, "plot", "--model", "roofline_linear", table, "-o",
                                   self.path / "p.svg"))

    def test_a_wrong_row_is_named(self):
        log = self.path / "all_reduce_4.txt"
        log.write_text(LOG.read_text().replace("84.1", "fast"))
        self.assertIn(f"{log}: line ", self.refused(1, "convert", "--to", "collective", log))

    def test_several_logs_are_one_table(self):
        rows = list(csv.DictReader(io.StringIO(
            self.done("convert", "--to", "collective", LOG,
                      GOLDEN / "collective/param_format/all_reduce_8_newest_layout.txt").stdout)))
        self.assertEqual({row["num_gpus"] for row in rows}, {"4", "8"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
