#!/usr/bin/env python3
"""prof-analyze dataset and inline_prof.dataset: tables, what is refused, and the queries beside what
prof-analyze ranks and compare say.

usage: dataset_test.py PROF_ANALYZE SOURCE_DIR

Parquet is tested with the interpreter in SOURCE_DIR/build/dataset_venv, which scripts/test.sh makes.
"""

import csv
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
PACKAGE = SOURCE / "python/inline_prof"
TABLES = json.loads((PACKAGE / "dataset_schema.json").read_text())["tables"]
PYTHON = SOURCE / "build/dataset_venv/bin/python"
HAS_PARQUET = (SOURCE / "build/dataset_venv/installed").exists()
needs_parquet = unittest.skipUnless(HAS_PARQUET, "no build/dataset_venv with pyarrow and duckdb (scripts/test.sh)")
TYPES = {"int64": "BIGINT", "int32": "INTEGER", "double": "DOUBLE", "float": "FLOAT", "bool": "BOOLEAN",
         "string": "VARCHAR"}

# Run by PYTHON: writes what a query gives into a file, as JSON lines; DuckDB says on standard output how far it is.
QUERY = """
import duckdb, inline_prof.dataset, json, sys
folder, text, answer = sys.argv[1:]
connection = duckdb.connect()
for table in inline_prof.dataset.schema():
    connection.execute("CREATE VIEW %s AS SELECT * FROM read_parquet('%s/%s/**/*.parquet', hive_partitioning = true, "
                       "hive_types = {'run': VARCHAR, 'host': VARCHAR})" % (table, folder, table))
asked = connection.execute(text)
names = [column[0] for column in asked.description]
with open(answer, "w") as file:
    for row in asked.fetchall():
        print(json.dumps(dict(zip(names, row)), default=str), file=file)
"""


def run(*command, **more):
    environment = dict(os.environ, **more.pop("env", {}))
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False, env=environment, **more)


def profile(rank, world_size, factor=1.0, wait_ms=0.0, seed=0, **more):
    """Two layers and a collective, with noise that has as many digits as numbers can have."""
    noise = random.Random("%d %d" % (rank, seed))

    def event(name, layer, index, time_ms, **more):
        return {"event_name": name, "layer_name": layer, "device_id": 0, "stream": "0x1",
                "start_index": 2 * index, "end_index": 2 * index + 1, "met_times_within_this_stream": 0,
                "measured_times_ms": [time_ms * noise.uniform(0.995, 1.005) for _ in range(20)],
                "iterations": list(range(11, 31)), **more}

    memory = {"kind": "memory", "read_bytes": 1 << 22, "write_bytes": 1 << 22}
    return {"schema": "inline_prof/1", "rank": rank, "world_size": world_size, "host_name": "n%d" % (rank // 2),
            "started_at": "2026-11-23T0%d:00:00Z" % seed, "iter_time_ms": [1 + 0.0001 * i for i in range(20)],
            "devices": [{"device_id": 0, "name": "NVIDIA H200", "uuid": "GPU-%d" % rank}],
            "events": [event("gemm", "fc1", 0, 0.1 * factor, op=memory), event("relu", "fc2", 1, 0.05 * factor, op=memory),
                       event("reduce", "grads", 2, 0.07 + wait_ms,
                             op={"kind": "collective", "op": "all_reduce", "comm": "0xabc", "sequence": 0})], **more}


class Dataset(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="data set ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "tables"

    def write_run(self, name, count=8, slow=None, late=None, seed=0, factor=1.0):
        folder = self.folder / name
        folder.mkdir()
        for rank in range(count):
            document = profile(rank, count, 1.5 * factor if rank == slow else factor, 0 if rank == late else 0.03, seed)
            (folder / ("n%d.rank%d.prof.json" % (rank // 2, rank))).write_text(json.dumps(document))
        return folder

    def csv(self, *words):
        return run(PROGRAM, "dataset", "--format", "csv", "-o", self.output, *words)

    def refused(self, words, *arguments, status=1):
        done = self.csv(*arguments)
        self.assertEqual(done.returncode, status)
        self.assertRegex(done.stderr, words)

    def rows(self, table):
        rows = []
        for file in sorted((self.output / table).glob("**/*.csv")):
            with open(file, newline="") as text:
                rows += list(csv.DictReader(text))
        return rows

    def files(self):
        return {str(file.relative_to(self.output)): file.read_bytes()
                for file in self.output.glob("**/*") if file.is_file()}

    # -- the tables

    def test_the_schema_the_page_and_the_program_agree(self):
        folder = self.write_run("one", 2)
        (folder / "broken.prof.json").write_text("{")
        done = subprocess.run([str(PROGRAM), "dataset", "--format", "stream", str(folder)], stdout=subprocess.PIPE, check=True)
        found, rest = {}, done.stdout
        while True:
            line, _, rest = rest.partition(b"\n")
            header = json.loads(line)
            if not header["table"]:
                break
            found[header["table"]] = {column["name"]: column["type"] for column in header["columns"]}
            for column in header["columns"]:
                self.assertTrue(all(size % 64 == 0 for size in column["sizes"]))
                rest = rest[sum(column["sizes"]):]
        self.assertEqual(rest, b"")
        self.assertEqual(found, TABLES)
        shown = {}
        with (SOURCE / "docs/schemas/dataset.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                shown.setdefault(row["table"], {})[row["column"]] = row["type"]
        self.assertEqual(shown, TABLES)

    def test_phases_have_rows_and_events_their_numbers(self):
        folder = self.write_run("night", 2)
        for file in folder.iterdir():
            document = json.loads(file.read_text())
            events = document["events"]
            for event, number in zip(events, (1, 0, 1)):
                event["phase"] = number
            document["phases"] = [
                {"stretches": [[1, 12]], "iterations": 12, "measured": True, "iter_time_ms": [9, 9], "kernel_launches": 1,
                 "graph_launches": 0, "graph_kernels": 0, "reason": "the first iterations"},
                {"stretches": [[13, 300], [400, 500]], "iterations": 389, "measured": True, "iter_time_ms": [2, 2, 2],
                 "kernel_launches": 2, "graph_launches": 0, "graph_kernels": 0, "reason": "other launches"},
                {"stretches": [[301, 303]], "iterations": 3, "measured": False, "iter_time_ms": [], "kernel_launches": 1,
                 "graph_launches": 0, "graph_kernels": 0, "reason": "other launches"}]
            file.write_text(json.dumps(document))
        self.assertEqual(self.csv(folder).returncode, 0)
        phases = [row for row in self.rows("phase") if row["rank"] == "0"]
        self.assertEqual([(row["phase"], row["is_main_phase"], row["measured"], row["stretches"]) for row in phases],
                         [("1", "false", "true", "1"), ("2", "true", "true", "2"), ("3", "false", "false", "1")])
        found = {row["event"]: row for row in self.rows("event") if row["rank"] == "0"}
        self.assertEqual({name: (row["event_index"], row["phase"], row["is_main_phase"]) for name, row in found.items()},
                         {"gemm": ("0", "2", "true"), "relu": ("1", "1", "false"), "reduce": ("2", "2", "true")})
        times = {row["phase"]: row["time_ms"] for row in self.rows("iteration")}
        self.assertEqual(times, {"1": "9", "2": "2"})
        samples = [row["measured_ms"] for row in self.rows("sample") if row["rank"] == "0" and row["event_index"] == "1"]
        self.assertEqual(samples, [repr(time) for time in profile(0, 2, 1, 0.03)["events"][1]["measured_times_ms"]])
        self.assertEqual(self.rows("run")[0]["iteration_us"], "2000")

    def test_a_broken_rank_is_a_finding(self):
        folder = self.write_run("night", 4)
        file = folder / "n1.rank3.prof.json"
        file.write_text(file.read_text()[:-50])
        done = self.csv(folder)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(len(self.rows("run")), 3)
        findings = {row["kind"]: row for row in self.rows("finding")}
        self.assertTrue(findings["left out"]["file"].endswith("n1.rank3.prof.json"))
        self.assertIn("no file of rank 3", findings["run"]["text"])
        self.assertEqual({row["measured_ms"] for row in self.rows("sample") if row["rank"] == "0" and row["event_index"] == "0"},
                         {repr(time) for time in profile(0, 4, 1, 0.03)["events"][0]["measured_times_ms"]})

    def test_what_stands_is_never_rewritten(self):
        first = self.write_run("first", 2)
        self.assertEqual(self.csv(first).returncode, 0)
        before = self.files()
        self.refused("stands already", first)
        self.assertEqual(self.files(), before)
        self.assertEqual(self.csv(self.write_run("second", 2)).returncode, 0)
        after = self.files()
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual({row.split("/")[1] for row in after}, {"run=first", "run=second"})

    def test_two_runs_of_one_name_and_files_without_one_are_refused(self):
        first = self.write_run("first", 2)
        (self.folder / "other").mkdir()
        second = self.write_run("other/first", 2)
        self.refused("two folders are called first", first, second, status=2)
        self.assertFalse(self.output.exists())
        self.refused("--run must say which it belongs to", next(first.iterdir()), status=2)
        self.assertEqual(self.csv(*sorted(first.iterdir()), "--run", "a/b").returncode, 0)
        self.assertTrue((self.output / "run/run=a%2Fb/host=n0/n0.rank0.csv").exists())

    def test_every_table_is_there_though_it_has_no_rows(self):
        folder = self.folder / "night"
        folder.mkdir()
        (folder / "prof.json").write_text(json.dumps(dict(profile(0, 1), devices=[], events=[])))
        self.assertEqual(self.csv(folder).returncode, 0)
        self.assertEqual({path.name for path in self.output.iterdir()}, set(TABLES))
        self.assertEqual((self.rows("event"), self.rows("sample")), ([], []))
        (header,) = {file.read_text() for file in self.output.glob("sample/**/*.csv")}
        self.assertEqual(header.strip().split(","), list(TABLES["sample"]))

    def test_what_was_cut_off_is_told_from_what_stands(self):
        folder = self.write_run("night", 1)
        self.assertEqual(self.csv(folder).returncode, 0)
        (row,) = (self.output / "run").glob("**/*.csv")
        row.unlink()
        self.refused("n0.rank0.csv: stands already, without a row in the table run: the writing of it was cut off; "
                     "remove it\n", folder)

    def test_another_version_and_another_kind_of_file_are_refused(self):
        folder = self.write_run("night", 1)
        self.assertEqual(self.csv("--run", "first", *folder.iterdir()).returncode, 0)
        before = self.files()
        for file in (self.output / "run").glob("**/*.csv"):
            names, row = file.read_text().splitlines()
            file.write_text("%s\n7,%s\n" % (names, row.split(",", 1)[1]))
        self.refused(r"^prof-analyze: .*/tables: a dataset of version 7 \(.*/n0.rank0.csv\), and this inline_prof writes "
                     r"version \d+; expected another folder\n$", folder)
        self.assertEqual(set(self.files()), set(before))
        file.rename(file.with_suffix(".parquet"))
        self.refused(r"n0.rank0.parquet is there, and a dataset has files of one kind; expected another folder for CSV\n$",
                     folder)

    def test_nodes_write_their_own_parts_of_a_run(self):
        folder = self.write_run("night", 4)
        for node in range(2):
            done = self.csv("--run", "night", *sorted(folder.glob("n%d.*" % node)))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["rank"] for row in self.rows("run")}, set("0123"))
        self.assertEqual([row for row in self.rows("finding") if row["kind"] == "run"], [])  # nothing is missing

    def test_bad_input_and_a_full_disk_leave_nothing(self):
        folder = self.write_run("night", 2)
        empty = self.folder / "empty"
        empty.mkdir()
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "prof.json").write_text("[")
        for source, words in [(empty, "empty"), (broken, "prof.json: "), (self.folder / "absent", "absent")]:
            done = self.csv(source)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(words, done.stderr)
            self.assertEqual(list(self.output.glob("*")), [])
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        done = run("/bin/sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM, "dataset", "--format", "csv", "-o", self.output,
                   folder, preexec_fn=limit)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^prof-analyze: .*tables: File too large\n$")
        self.assertEqual(list(self.output.glob("*")), [])

    def test_without_pyarrow_and_duckdb_it_is_csv_and_says_so(self):
        folder = self.write_run("night", 2)
        done = run(sys.executable, "-S", "-m", "inline_prof.dataset", folder, "-o", self.output, "--analyzer", PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "dataset: neither pyarrow nor duckdb is installed: CSV instead of Parquet\n")
        self.assertEqual(len(self.rows("run")), 2)
        done = run(PROGRAM, "dataset", folder, "-o", self.folder / "again", env={"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stderr), (1, "prof-analyze: python3: No such file or directory\n"))

    # -- Parquet and the queries

    def parquet(self, *words, status=0):
        done = run(PYTHON, "-m", "inline_prof.dataset", "--analyzer", PROGRAM, "-o", self.output, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def ask(self, query):
        text = (PACKAGE / "queries" / (query + ".sql")).read_text() if " " not in query else query
        answer = self.folder / "answer"
        done = run(PYTHON, "-c", QUERY, self.output, text, answer)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in answer.read_text().splitlines()]

    def ranks(self, folder):
        return json.loads(run(PROGRAM, "ranks", folder, "--format", "json").stdout)

    @needs_parquet
    def test_pyarrow_duckdb_and_prof_analyze_write_the_same(self):
        folder = self.write_run("night", 4)
        (folder / "broken.prof.json").write_text("{")
        seen = []
        for engine in ("pyarrow", "duckdb"):
            self.output = self.folder / engine
            self.parquet("--engine", engine, folder)
            self.assertEqual({path.name for path in self.output.iterdir()}, set(TABLES))
            seen.append({table: self.ask("SELECT * FROM %s ORDER BY ALL" % table) for table in TABLES})
            for table, columns in TABLES.items():
                described = {row["column_name"]: row["column_type"] for row in self.ask("DESCRIBE SELECT * FROM " + table)}
                self.assertEqual({**{name: TYPES[kind] for name, kind in columns.items()}, "run": "VARCHAR", "host": "VARCHAR"},
                                 described)
        self.assertEqual(seen[0], seen[1])
        self.output = self.folder / "by prof-analyze"
        done = run(PROGRAM, "dataset", folder, "-o", self.output,
                   env={"PATH": "%s:%s" % (PYTHON.parent, os.environ["PATH"])})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({table: self.ask("SELECT * FROM %s ORDER BY ALL" % table) for table in TABLES}, seen[0])

    @needs_parquet
    def test_a_failure_of_parquet_leaves_what_stands(self):
        folder = self.write_run("night", 2)
        self.parquet(folder)
        before = self.files()
        self.assertIn("stands already", self.parquet(folder, status=1))
        self.assertIn("absent", self.parquet(self.folder / "absent", status=1))
        self.assertEqual(self.files(), before)
        done = run(PYTHON, "-m", "inline_prof.dataset", "--analyzer", "/bin/true", "-o", self.output, folder)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.files(), before)

    @needs_parquet
    def test_parquet_of_another_version_and_csv_are_refused(self):
        folder = self.write_run("night", 1)
        self.parquet("--run", "first", *folder.iterdir())
        (file,) = (self.output / "run").glob("**/*.parquet")
        done = run(PYTHON, "-c", "import pyarrow as pa, pyarrow.parquet as pq, sys; table = pq.ParquetFile(sys.argv[1]).read(); "
                   "pq.write_table(table.set_column(0, 'version', pa.array([7], pa.int32())), sys.argv[1])", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        before = self.files()
        for engine in ("pyarrow", "duckdb"):
            self.assertRegex(self.parquet(folder, "--engine", engine, status=1),
                             r"^prof-analyze: .*/tables: a dataset of version 7 \(.*\), and this inline_prof writes version \d+; "
                             r"expected another folder\n$")
            self.assertEqual(self.files(), before)
        self.output = self.folder / "csv"
        self.assertEqual(self.csv(folder).returncode, 0)
        self.assertIn("expected another folder for Parquet", self.parquet(folder, status=1))

    @needs_parquet
    def test_the_queries_say_what_ranks_says(self):
        folder = self.write_run("night", 8, slow=2, late=5)
        self.parquet(folder)
        report = self.ranks(folder)
        found = self.ask("stragglers")
        self.assertTrue(found)
        self.assertEqual([(row["rank"], row["layer"], row["event"], row["occurrence"], row["time_us"], row["median_us"], row["ratio"])
                          for row in found],
                         [(s["device"]["rank"], s["layer"], s["event"], s["occurrence"], s["time_us"], s["median_us"], s["ratio"])
                          for s in report["stragglers"]])
        (wait,), (split,) = self.ask("collective_waits"), report["collectives"]
        self.assertEqual((wait["last_rank"], wait["iterations"], wait["transfer_us"]),
                         (split["last"]["rank"], split["iterations"], split["transfer_us"]))
        # A mean over 8 devices: engines add them in an order of their own.
        self.assertAlmostEqual(wait["wait_us"], split["wait_us"], 9)

    @needs_parquet
    def test_the_queries_say_what_compare_says(self):
        runs = [self.write_run("run%d" % i, 1, seed=i, factor=1 + 0.1 * i) for i in range(3)]
        self.parquet(*runs)
        report = json.loads(run(PROGRAM, "compare", runs[1], runs[2], "--format", "json").stdout)
        compared = {(e["layer"], e["event"]): (e["before_us"], e["after_us"], e["ratio"]) for e in report["events"]}
        found = {(row["layer"], row["event"]): (row["before_us"], row["after_us"], row["ratio"])
                 for row in self.ask("last_two_runs")}
        self.assertEqual(found, compared)
        drift = [row for row in self.ask("layer_drift") if row["layer"] == "fc1"]
        layers = {layer["layer"]: layer for layer in report["layers"]}
        self.assertEqual([row["run"] for row in drift], ["run0", "run1", "run2"])
        self.assertEqual(drift[2]["over_run_before"], layers["fc1"]["ratio"])
        self.assertEqual([row["layer"] for row in self.ask("above_prediction")], ["fc1", "fc2"])

    @needs_parquet
    def test_what_is_slow_in_several_runs_is_named(self):
        for seed, slow in enumerate((2, 2, 6)):
            self.parquet(self.write_run("run%d" % seed, 8, slow=slow, seed=seed))
        self.assertEqual({(row["host"], row["event"], row["runs"]) for row in self.ask("slow_hardware")},
                         {("n1", "gemm", 2), ("n1", "relu", 2)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
