#!/usr/bin/env python3
"""Times prof-analyze, and what becomes of its data, for the files of very many ranks.

    tests/bench/many_ranks.py PROF_ANALYZE [report|dataset|growth|history] [--ranks N[,N...]] [--folder FOLDER]

report: `prof-analyze ranks` and the report of N ranks (1000) of 1.2 MB each, beside one Python process that reads them
(json.load and statistics.median of each event) and beside their bytes alone.  Wanted of 1000 on two cores: 2.5 s, 512 MiB, a
fifth of Python's time.
dataset: the same files as Parquet, and every query of the package on them with DuckDB; needs the interpreter of
build/dataset_venv.  Wanted: 15 s, 1 GiB, 100 MB; 2 s for each query.
growth: `prof-analyze ranks` of N small files (32 events of 10 samples, about 20 KB), eight ranks a host, for each N (1000,
10000, 100000), and up to 10,000 of them as Parquet.

history: the page of N ranks (1000) that were watched for three weeks, 121 events each (watched_run.py).  Wanted of 1000 on two
cores: 10 s.

Files are made out of the real one in tests/data/hugectr, with the times of each rank stretched by up to 2 %, in FOLDER or in
one that is removed again; for report and dataset a FOLDER that exists is taken as it is.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
REAL = SOURCE / "tests/data/hugectr/dlrm_a100_8gpu.prof.json"
SERIES = ("measured_times_ms", "iter_start_to_event_start_times_ms")
SMALL_EVENTS, SMALL_SAMPLES, SMALL_ITERATIONS = 32, 10, 50
RANKS_A_HOST = 8
MOST_AS_PARQUET = 10000  # of growth


def real_run(is_small):
    document = json.loads(REAL.read_text())
    if is_small:
        document["iter_time_ms"] = document["iter_time_ms"][:SMALL_ITERATIONS]
        first = document["events"][0]["device_id"]
        document["events"] = [event for event in document["events"] if event["device_id"] == first][:SMALL_EVENTS]
        for event in document["events"]:
            event.update({key: value[:SMALL_SAMPLES] for key, value in event.items() if isinstance(value, list)})
    return document


def write(arguments):
    folder, ranks, count, is_small = arguments
    source = real_run(is_small)
    for rank in ranks:
        factor = random.Random(rank).uniform(0.98, 1.02)
        host = "node%05d" % (rank // RANKS_A_HOST)
        run = dict(source, host_name=host, rank=rank, world_size=count, local_rank=rank % RANKS_A_HOST)
        run["iter_time_ms"] = [time * factor for time in source["iter_time_ms"]]
        run["events"] = [dict(event, **{key: [time * factor for time in event[key]] for key in SERIES}) for event in source["events"]]
        (folder / ("%s.rank%d.prof.json" % (host, rank))).write_text(json.dumps(run, separators=(",", ":")))


def make(folder, count, is_small=False, first=0):
    """Writes the ranks from `first` on; the same count gives the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    processes = os.cpu_count()
    with multiprocessing.Pool(processes) as pool:
        pool.map(write, [(folder, range(first + i, count, processes), count, is_small) for i in range(processes)])


def timed(work):
    """Seconds by the clock, seconds of processor time and the peak in MiB of a child that does `work`."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # the child must not go on with the parent's work
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit("a reading failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def line(name, work, more=lambda clock, processor: ""):
    clock, processor, peak = timed(work)
    print("%-34s %8.2f s %8.2f s of processors %7.0f MiB  %s" % (name, clock, processor, peak, more(clock, processor)), flush=True)
    return clock, processor


def program(*command):
    def replace():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], list(map(str, command)))
    return replace


def read_in_python(folder):
    medians = {}
    for file in sorted(folder.iterdir()):
        for event in json.loads(file.read_text())["events"]:
            key = (event["layer_name"], event["name"], event["same_name_events_occured_order_in_code"])
            medians.setdefault(key, []).append(statistics.median(event["measured_times_ms"]))
    return {key: statistics.median(values) for key, values in medians.items()}


def read_bytes(folder):
    for file in folder.iterdir():
        with open(file, "rb", buffering=0) as raw:
            while raw.read(1 << 20):
                pass


def files_of(given, made):
    folder = given.folder or made / "run"
    if not folder.exists():
        make(folder, given.ranks[0])
    files = list(folder.iterdir())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    print("%d files, %.0f MB, %d processors, load %.1f" % (len(files), megabytes, os.cpu_count(), os.getloadavg()[0]))
    return folder, megabytes


def report(given, made):
    folder, megabytes = files_of(given, made)

    def measured(name, work):
        return line(name, work, lambda clock, _: "%.0f MB/s" % (megabytes / clock))

    measured("bytes alone, one thread", lambda: read_bytes(folder))
    ours = [(name, measured(name, program(given.program, *words, folder)))
            for name, *words in (["prof-analyze ranks", "ranks"], ["prof-analyze"])]
    python = measured("Python, json and statistics", lambda: read_in_python(folder))
    for name, (clock, processor) in ours:
        print("%s: %.1f times as fast as Python by the clock, %.1f in processor time" % (name, python[0] / clock, python[1] / processor))


def query(folder, text):
    import duckdb

    from inline_prof import dataset

    connection = duckdb.connect()
    for table in dataset.schema():
        connection.execute("CREATE VIEW %s AS SELECT * FROM read_parquet('%s/%s/**/*.parquet', hive_partitioning = true)"
                           % (table, folder, table))
    connection.execute(text).fetchall()


def to_parquet(given, folder, output):
    from inline_prof import dataset

    dataset.write([folder], output, run="run", analyzer=str(given.program))


def as_dataset(given, made):
    folder, _ = files_of(given, made)
    output = made / "tables"
    line("to Parquet", lambda: to_parquet(given, folder, output))
    for table in sorted(output.iterdir()):
        files = [file for file in table.glob("**/*") if file.is_file()]
        print("  %-12s %5d files %8.1f MB" % (table.name, len(files), sum(file.stat().st_size for file in files) / 1e6))
    for file in sorted((SOURCE / "python/inline_prof/queries").glob("*.sql")):
        line(file.name, lambda: query(output, file.read_text()))


def growth(given, made):
    folder, output, before = made / "run", made / "tables", 0
    for count in given.ranks:
        make(folder, count, is_small=True, first=before)
        before = count

        def per_rank(_, processor):
            return "%.3f ms a rank" % (1e3 * processor / count)

        line("ranks of %d" % count, program(given.program, "ranks", folder), per_rank)
        if count <= MOST_AS_PARQUET:
            line("to Parquet of %d" % count, lambda: to_parquet(given, folder, output), per_rank)
            shutil.rmtree(output)


def history(given, made):
    import watched_run

    folder = given.folder or made / "run"
    if not folder.exists():
        watched_run.make(folder, given.ranks[0], 24, 21.0, ("throttled", "slower", "uneven"))
    page = made / "history.html"
    line("history of %d" % given.ranks[0], program(given.program, "history", folder, "--format", "html", "-o", page))
    print("%.1f MB of files, a page of %.1f MB" % (sum(file.stat().st_size for file in folder.iterdir()) / 1e6, page.stat().st_size / 1e6))


def main():
    measures = {"report": (report, "1000"), "dataset": (as_dataset, "1000"), "growth": (growth, "1000,10000,100000"), "history": (history, "1000")}
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("measure", nargs="?", default="report", choices=measures)
    parser.add_argument("--ranks")
    parser.add_argument("--folder", type=pathlib.Path)
    given = parser.parse_args()
    measure, usual = measures[given.measure]
    given.ranks = [int(count) for count in (given.ranks or usual).split(",")]
    sys.path.insert(0, str(SOURCE / "python"))
    with tempfile.TemporaryDirectory() as made:
        measure(given, pathlib.Path(made))


if __name__ == "__main__":
    main()
