#!/usr/bin/python3
"""prof-analyze as its user calls it: files, pipes, options, exit statuses.

usage: prof_analyze_test.py PROF_ANALYZE TEST_DATA_DIR
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
DATA = pathlib.Path(sys.argv[2])
SMALL = DATA / "gen3/small_h200.prof.json"


def run(*arguments, text=None, stdout=subprocess.PIPE):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, stdout=stdout,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def test_a_file_gives_a_table(self):
        done = run(SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertIn("measured and predicted                0.440 ms    44.0 %", done.stdout)

    def test_a_pipe_is_as_good_as_a_file(self):
        done = subprocess.run(["bash", "-c", '"$0" <(cat "$1")', PROGRAM, str(SMALL)],
                              stdout=subprocess.PIPE, check=True)
        self.assertIn(b"44.0 %", done.stdout)

    def test_several_files_are_the_ranks_of_a_run(self):
        report = json.loads(run(SMALL, SMALL, "--format", "json").stdout)
        self.assertEqual(len(report["runs"]), 2)
        self.assertEqual(len(report["rows"]), 12)
        self.assertEqual(len(report["merged_rows"]), 6)

    def test_a_folder_stands_for_the_profiles_in_it(self):
        self.assertEqual(run(self.path).returncode, 1)
        self.assertIn("holds no prof.json", run(self.path).stderr)
        for rank in range(3):
            document = json.loads(SMALL.read_text())
            document["rank"] = rank
            (self.path / ("n1.rank%d.prof.json" % rank)).write_text(json.dumps(document))
        (self.path / "notes.json").write_text("not ours")
        report = json.loads(run(self.path, "--format", "json").stdout)
        self.assertEqual([run["rank"] for run in report["runs"]], [0, 1, 2])

    def test_bad_files_are_named_and_end_with_1(self):
        (self.path / "cut.json").write_text(SMALL.read_text()[:1000])
        (self.path / "empty.json").write_text("")
        (self.path / "garbage.json").write_bytes(os.urandom(1000))
        os.truncate(os.open(self.path / "sparse.json", os.O_CREAT | os.O_WRONLY), 1 << 40)
        for name in ["cut.json", "empty.json", "garbage.json", "sparse.json", "none.json"]:
            done = run(self.path / name)
            self.assertEqual(done.returncode, 1, name)
            self.assertEqual(done.stdout, "", name)
            self.assertTrue(done.stderr.startswith("prof-analyze: %s: " % (self.path / name)),
                            done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_every_truncation_of_a_file_is_refused(self):
        text = SMALL.read_text().rstrip()
        for length in range(0, len(text), 97):
            self.assertEqual(run("/dev/stdin", text=text[:length]).returncode, 1, length)


class Options(unittest.TestCase):
    def test_a_wrong_command_line_ends_with_2(self):
        for arguments in [[], ["--no-such-option", SMALL], [SMALL, "--format", "xml"],
                          [SMALL, "--event-bias", "5us"], [SMALL, "--event-bias", "-1"],
                          [SMALL, "--event-bias", "nan"], [SMALL, "--machine", "a100"],
                          [SMALL, "--machine", "h300"], [SMALL, "--top", "0"],
                          [SMALL, "--statistic", "mode"]]:
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertNotEqual(done.stderr, "", arguments)

    def test_a_bare_family_is_refused_with_its_variants(self):
        self.assertIn("a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb",
                      run(SMALL, "--machine", "A100").stderr)

    def test_help_shows_examples(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("prof-analyze prof.json --top 10", done.stdout)

    def test_a_given_machine_wins_over_the_file(self):
        report = json.loads(run(SMALL, "--machine", "A100-SXM4-40GB", "--format", "json").stdout)
        self.assertEqual(report["machine"], "a100-sxm4-40gb")
        # 2 * 4096^3 FLOP at 0.78 * 312e12 FLOP/s.
        self.assertAlmostEqual(report["rows"][1]["predicted_us"], 564.756, 3)

    def test_a_layers_file_names_what_the_guest_could_not_see(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as layers:
            json.dump({"let": {"B": 88320000},
                       "rules": [{"match": "loss", "layer": "Loss",
                                  "op": {"kind": "memory", "read_bytes": "B"}}]}, layers)
            layers.flush()
            report = json.loads(run(SMALL, "--layers", layers.name, "--format", "json").stdout)
        loss = report["rows"][4]
        self.assertEqual(loss["layer"], "Loss")
        # 88.32e6 bytes at 0.92 * 4800e9 bytes/s.
        self.assertAlmostEqual(loss["predicted_us"], 20.0, 6)

    def test_the_event_bias_can_be_chosen(self):
        for choice, corrected in [("auto", 200), ("off", 205), ("4.5", 200.5)]:
            report = json.loads(run(SMALL, "--event-bias", choice, "--format", "json").stdout)
            self.assertAlmostEqual(report["rows"][1]["corrected_us"], corrected, 6)


class Documentation(unittest.TestCase):
    def test_shows_the_report_that_its_command_gives(self):
        root = DATA.parent.parent
        blocks = (root / "docs/reading_a_report.md").read_text().split("```")
        command = next(b for b in blocks if b.startswith("sh\nprof-analyze tests/data/hugectr"))
        arguments = command[len("sh\nprof-analyze "):].replace("\\\n", " ").split()
        done = subprocess.run([PROGRAM, *arguments], cwd=root, stdout=subprocess.PIPE,
                              universal_newlines=True, check=True)
        shown = blocks[blocks.index(command) + 2]
        self.assertEqual(done.stdout, shown.lstrip("\n"))


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name) / "report.json"

    def test_goes_to_a_file_and_nothing_else_is_left(self):
        self.assertEqual(run(SMALL, "--format", "json", "-o", self.out).returncode, 0)
        self.assertEqual(json.loads(self.out.read_text())["schema"], "inline_prof_report/1")
        self.assertEqual(os.listdir(self.folder.name), ["report.json"])

    def test_never_replaces_a_file_unasked(self):
        self.out.write_text("mine")
        done = run(SMALL, "-o", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--force", done.stderr)
        self.assertEqual(self.out.read_text(), "mine")
        self.assertEqual(run(SMALL, "-o", self.out, "--force").returncode, 0)
        self.assertIn("44.0 %", self.out.read_text())

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = run(SMALL, stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
