#!/usr/bin/env python3
"""Makes a folder of files as a run of many ranks leaves it, out of one real file.

usage: make_many_ranks.py FILE FOLDER COUNT

Each file is FILE with another host and rank, and with all its times stretched by a factor of that
rank, which lies within 2 % of one.  The same COUNT gives the same files.
"""

import json
import multiprocessing
import pathlib
import random
import sys

SERIES = ["measured_times_ms", "iter_start_to_event_start_times_ms"]


def write_rank(source, folder, rank, count):
    factor = random.Random(rank).uniform(0.98, 1.02)
    run = dict(source, host_name="node%05d" % rank, rank=rank, world_size=count)
    run["iter_time_ms"] = [time * factor for time in source["iter_time_ms"]]
    run["events"] = [dict(event, **{key: [time * factor for time in event[key]] for key in SERIES})
                     for event in source["events"]]
    text = json.dumps(run, separators=(",", ":"))
    (folder / ("node%05d.rank%d.prof.json" % (rank, rank))).write_text(text)


def write_ranks(arguments):
    file, folder, ranks, count = arguments
    source = json.loads(file.read_text())
    for rank in ranks:
        write_rank(source, folder, rank, count)


def make(file, folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    processes = multiprocessing.cpu_count()
    with multiprocessing.Pool(processes) as pool:
        pool.map(write_ranks, [(file, folder, range(first, count, processes), count)
                               for first in range(processes)])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]))
