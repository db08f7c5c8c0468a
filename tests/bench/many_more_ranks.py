#!/usr/bin/env python3
"""How time and memory grow with the number of ranks, up to a hundred thousand.

usage: build/dataset_venv/bin/python tests/bench/many_more_ranks.py PROF_ANALYZE [--ranks N,N,...] [--dataset N] [--folder FOLDER]

Makes small files (32 events of 10 samples, about 20 KB) for the largest N out of the real one in
tests/data/hugectr, eight ranks a host, one folder for each step, and reads the first N with `prof-analyze
ranks`; up to --dataset N ranks it also writes them as Parquet with pyarrow.  What it makes in FOLDER, or in
one of its own, is removed again.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile

from many_ranks import REAL, run, timed

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
EVENTS, SAMPLES, ITERATIONS = 32, 10, 50
SERIES = ("measured_times_ms", "iter_start_to_event_start_times_ms")


def small(file):
    document = json.loads(file.read_text())
    document["iter_time_ms"] = document["iter_time_ms"][:ITERATIONS]
    first = document["events"][0]["device_id"]
    document["events"] = [event for event in document["events"] if event["device_id"] == first][:EVENTS]
    for event in document["events"]:
        for key, value in event.items():
            if isinstance(value, list) and len(value) > SAMPLES:
                event[key] = value[:SAMPLES]
    return document


def write(arguments):
    folder, ranks, count = arguments
    source = small(REAL)
    for rank in ranks:
        factor = random.Random(rank).uniform(0.98, 1.02)
        host = "node%05d" % (rank // 8)
        events = [dict(event, **{key: [time * factor for time in event[key]] for key in SERIES}) for event in source["events"]]
        document = dict(source, host_name=host, rank=rank, world_size=count, local_rank=rank % 8, events=events)
        (folder / ("%s.rank%d.prof.json" % (host, rank))).write_text(json.dumps(document, separators=(",", ":")))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--ranks", default="1000,10000,100000")
    parser.add_argument("--dataset", type=int, default=10000)
    parser.add_argument("--folder", type=pathlib.Path)
    given = parser.parse_args()
    sys.path.insert(0, str(PACKAGE))
    from inline_prof import dataset

    print("%-34s %8s %12s %9s %12s" % ("", "clock s", "processor s", "peak MiB", "ms a rank"))
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = pathlib.Path(made) / "run"
        folder.mkdir()
        before = 0
        for count in map(int, given.ranks.split(",")):
            processes = os.cpu_count()
            with multiprocessing.Pool(processes) as pool:
                pool.map(write, [(folder, range(before + first, count, processes), count) for first in range(processes)])
            before = count
            work = [("ranks", run(given.program.resolve(), "ranks", folder))]
            if count <= given.dataset:
                tables = pathlib.Path(made) / "tables"
                work.append(("to Parquet", lambda: dataset.write([folder], tables, analyzer=str(given.program.resolve()))))
            for name, todo in work:
                clock, processor, peak = timed(todo)
                print("%-34s %8.2f %12.2f %9.0f %12.3f" % ("%s of %d" % (name, count), clock, processor, peak,
                                                           1e3 * processor / count), flush=True)
            shutil.rmtree(pathlib.Path(made) / "tables", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
