#!/usr/bin/env python3
"""How long the files of a thousand ranks take to become a dataset, and each query on it.

usage: build/dataset_venv/bin/python tests/bench/dataset.py PROF_ANALYZE [--files N] [--folder FOLDER]

Makes N files of 1.2 MB (1000) out of the real one in tests/data/hugectr, in FOLDER or in one that is
removed again, writes them with pyarrow as Parquet, and runs every query of the package with DuckDB.

Wanted of N = 1000 on two cores: 15 s, 1 GiB, 100 MB; 2 s for each query.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import make_many_ranks
from many_ranks import REAL, timed

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"


def query(folder, text):
    import duckdb

    from inline_prof import dataset

    connection = duckdb.connect()
    for table in dataset.schema():
        connection.execute("CREATE VIEW %s AS SELECT * FROM read_parquet('%s/%s/**/*.parquet', hive_partitioning = true)"
                           % (table, folder, table))
    connection.execute(text).fetchall()


def measure(program, source, output):
    sys.path.insert(0, str(PACKAGE))
    from inline_prof import dataset

    megabytes = sum(file.stat().st_size for file in source.iterdir()) / 1e6
    print("%d files, %.0f MB, %d processors, load %.1f" %
          (len(list(source.iterdir())), megabytes, os.cpu_count(), os.getloadavg()[0]))
    print("%-34s %8s %12s %9s" % ("", "clock s", "processor s", "peak MiB"))

    def line(name, work):
        print("%-34s %8.2f %12.2f %9.0f" % ((name,) + timed(work)), flush=True)

    line("to Parquet", lambda: dataset.write([source], output, run="run", analyzer=str(program)))
    for table in sorted(output.iterdir()):
        files = [file for file in table.glob("**/*") if file.is_file()]
        print("  %-12s %5d files %8.1f MB" % (table.name, len(files), sum(file.stat().st_size for file in files) / 1e6))
    for file in sorted((PACKAGE / "inline_prof/queries").glob("*.sql")):
        line(file.name, lambda: query(output, file.read_text()))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        source = arguments.folder or pathlib.Path(made) / "run"
        if not source.exists():
            make_many_ranks.make(REAL, source, arguments.files)
        measure(arguments.program.resolve(), source, pathlib.Path(made) / "tables")


if __name__ == "__main__":
    sys.exit(main())
