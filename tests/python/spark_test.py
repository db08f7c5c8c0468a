#!/usr/bin/env python3
"""The queries of inline_prof.dataset run unchanged on Spark, and say what they say on DuckDB.

usage: spark_test.py PROF_ANALYZE SOURCE_DIR

Needs Java, and build/spark_venv beside build/dataset_venv, which scripts/test.sh makes.
"""

import json
import shutil
import unittest

import dataset_test
from dataset_test import PACKAGE, SOURCE, run

PYTHON = SOURCE / "build/spark_venv/bin/python"

# Run by PYTHON: answers all queries, one file each.  What compiles queries to Java is off, for they are small.
ASK = """
import json, pathlib, sys
from pyspark.sql import SparkSession
import inline_prof.dataset
tables, queries, answers = map(pathlib.Path, sys.argv[1:])
builder = SparkSession.builder.master("local[1]").appName("queries")
for key, value in {
        "driver.bindAddress": "127.0.0.1", "driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "driver.host": "127.0.0.1", "driver.memory": "512m", "sql.adaptive.enabled": "false",
        "sql.codegen.factoryMode": "NO_CODEGEN", "sql.codegen.wholeStage": "false", "sql.shuffle.partitions": "1",
        "ui.enabled": "false", "ui.showConsoleProgress": "false"}.items():
    builder = builder.config("spark." + key, value)
spark = builder.getOrCreate()
for table in inline_prof.dataset.schema():
    spark.read.parquet(str(tables / table)).createOrReplaceTempView(table)
for file in queries.glob("*.sql"):
    rows = spark.sql(file.read_text()).collect()
    (answers / (file.stem + ".json")).write_text(json.dumps([row.asDict() for row in rows], default=str))
spark.stop()
"""

# Sums and means over devices: each engine adds them in an order of its own.
ADDED = {"after_us", "before_us", "mean_predicted_us", "mean_ratio", "mean_us", "over_first_run", "over_run_before", "saved_us",
         "time_us of layer_drift", "ratio of above_prediction", "ratio of last_two_runs", "wait_us"}


@unittest.skipUnless(dataset_test.HAS_PARQUET and (SOURCE / "build/spark_venv/installed").exists() and shutil.which("java"),
                     "no Java, build/spark_venv or build/dataset_venv (scripts/test.sh)")
class Spark(unittest.TestCase):
    setUp, write_run = dataset_test.Dataset.setUp, dataset_test.Dataset.write_run
    parquet, ask, ranks = dataset_test.Dataset.parquet, dataset_test.Dataset.ask, dataset_test.Dataset.ranks

    def test_the_queries_say_what_they_say_on_duckdb(self):
        runs = [self.write_run("run%d" % seed, 4, slow=2, late=3, seed=seed) for seed in range(2)]
        self.parquet(*runs)
        answers = self.folder / "answers"
        answers.mkdir()
        done = run(PYTHON, "-c", ASK, self.output, PACKAGE / "queries", answers,
                   env={"PYTHONPATH": str(PACKAGE.parent), "SPARK_LOCAL_DIRS": str(self.folder), "PYSPARK_PYTHON": str(PYTHON)})
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        queries = sorted(file.stem for file in (PACKAGE / "queries").glob("*.sql"))
        self.assertEqual(sorted(file.stem for file in answers.iterdir()), queries)
        for query in queries:
            on_spark, on_duckdb = json.loads((answers / (query + ".json")).read_text()), self.ask(query)
            self.assertTrue(on_duckdb, query)
            self.assertEqual(len(on_spark), len(on_duckdb), query)
            for row, expected in zip(on_spark, on_duckdb):
                self.assertEqual(list(row), list(expected))
                for column, value in expected.items():
                    if ADDED & {column, "%s of %s" % (column, query)} and value is not None:
                        self.assertAlmostEqual(row[column] / value, 1, 12, (query, column))
                    else:
                        self.assertEqual(row[column], value, (query, column))
        stragglers = [row for row in json.loads((answers / "stragglers.json").read_text()) if row["run"] == "run0"]
        self.assertEqual([(row["rank"], row["event"], row["time_us"], row["median_us"], row["ratio"]) for row in stragglers],
                         [(s["device"]["rank"], s["event"], s["time_us"], s["median_us"], s["ratio"])
                          for s in self.ranks(runs[0])["stragglers"]])


if __name__ == "__main__":
    unittest.main(argv=[__file__])
