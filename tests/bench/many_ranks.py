#!/usr/bin/env python3
"""How long prof-analyze takes for the files of a thousand ranks, beside a reading of them in Python.

usage: tests/bench/many_ranks.py PROF_ANALYZE [--files N] [--folder FOLDER]

Makes N files of 1.2 MB (1000) out of the real one in tests/data/hugectr, in FOLDER or in one that is
removed again, and reads them with `prof-analyze ranks`, with the report of prof-analyze and with one
Python process (json.load and statistics.median of each event), one after the other in this one run.
The bytes alone say what the disk (or its cache) takes of it.

Wanted of N = 1000 on two cores: 2.5 s, 512 MiB, a fifth of Python's time.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import make_many_ranks

REAL = pathlib.Path(__file__).resolve().parent.parent / "data/hugectr/dlrm_a100_8gpu.prof.json"


def read_in_python(folder):
    medians = {}
    for file in sorted(folder.iterdir()):
        with open(file) as text:
            run = json.load(text)
        for event in run["events"]:
            key = (event["layer_name"], event["name"], event["same_name_events_occured_order_in_code"])
            medians.setdefault(key, []).append(statistics.median(event["measured_times_ms"]))
    return {key: statistics.median(values) for key, values in medians.items()}


def read_bytes(folder):
    for file in folder.iterdir():
        with open(file, "rb", buffering=0) as raw:
            while raw.read(1 << 20):
                pass


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


def run(*command):
    def replace():
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execv(command[0], list(map(str, command)))
    return replace


def measure(program, folder, count):
    megabytes = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print("%d files, %.0f MB, %d processors, load %.1f" %
          (count, megabytes, os.cpu_count(), os.getloadavg()[0]))
    print("%-34s %8s %10s %9s %9s" % ("", "clock s", "processor s", "peak MiB", "MB/s"))
    results = {}
    for name, work in [("bytes alone, one thread", lambda: read_bytes(folder)),
                       ("prof-analyze ranks", run(program, "ranks", folder)),
                       ("prof-analyze", run(program, folder)),
                       ("Python, json and statistics", lambda: read_in_python(folder))]:
        results[name] = clock, processor, peak = timed(work)
        print("%-34s %8.2f %10.2f %9.0f %9.0f" % (name, clock, processor, peak, megabytes / clock),
              flush=True)
    python = results["Python, json and statistics"]
    for name in ["prof-analyze ranks", "prof-analyze"]:
        print("%s: %.1f times as fast as Python by the clock, %.1f in processor time" %
              (name, python[0] / results[name][0], python[1] / results[name][1]))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    if arguments.folder and arguments.folder.exists():
        return measure(program, arguments.folder, len(list(arguments.folder.iterdir())))
    if arguments.folder:
        make_many_ranks.make(REAL, arguments.folder, arguments.files)
        return measure(program, arguments.folder, arguments.files)
    with tempfile.TemporaryDirectory() as made:
        make_many_ranks.make(REAL, pathlib.Path(made), arguments.files)
        return measure(program, pathlib.Path(made), arguments.files)


if __name__ == "__main__":
    sys.exit(main())
