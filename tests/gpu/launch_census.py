#!/usr/bin/env python3
"""Counts the launches of one program by CUPTI and by the injected library, and compares.

    launch_census.py --library LIBINLINE_PROF --census LIBCENSUS --work DIR -- PROGRAM [ARGUMENT...]
    launch_census.py --library LIBINLINE_PROF --expect KERNELS,GRAPHS --work DIR -- PROGRAM [ARGUMENT...]

The program runs three times: under CUPTI alone, under the injected library alone, and under both.  The injected library is
told to stay in its warm-up, in which it counts every launch, for longer than the program runs.
With --expect, for the simulated GPU, which CUPTI does not know, it runs under the injected library alone, and
the counts of kernel and graph launches are given.
Prints one line `PASS|FAIL|SKIP PROGRAM: figures`; exit status 0, 1, or 77 for a skip.
"""

import argparse
import json
import pathlib
import sys

from host_program import SKIPPED, Failure, Skip, preloaded, run

WHOLE_RUN = 1_000_000_000  # warm-up iterations; no program comes near
GRAPH_LAUNCHES = ("cuGraphLaunch", "cuGraphLaunch_ptsz")


def read_json(path, who):
    if not path.exists():
        raise Failure(f"{who} wrote no {path.name}")
    return json.loads(path.read_text())


def kernel_launches(census):
    """Launches of kernels by the application, without graph replays."""
    return sum(count for function, count in census["driver_calls"].items()
               if function not in GRAPH_LAUNCHES)


def graph_launches(census):
    return sum(census["driver_calls"].get(function, 0) for function in GRAPH_LAUNCHES)


def launches_seen(profile):
    return profile["overhead"]["launches_seen"]


def graphs_seen(profile):
    return profile["overhead"]["graph_launches_seen"]


def empty_folder(work):
    work.mkdir(parents=True, exist_ok=True)
    # Files of an earlier run would be taken for this one's.
    for old in work.glob("*.json"):
        old.unlink()


def library_variables(options, path):
    return preloaded(options.library, path, warmup=WHOLE_RUN)


def compare_with_expected(options):
    """Runs the program under the injected library alone; raises Failure unless the counts are as given."""
    empty_folder(options.work)
    path = options.work / "library_alone.json"
    run(options.program, library_variables(options, path), options.timeout)
    profile = read_json(path, "the injected library")
    seen = f"{launches_seen(profile)},{graphs_seen(profile)}"
    if seen != options.expect:
        raise Failure(f"expected {options.expect} kernel and graph launches, library {seen}")
    return f"library {seen} kernel and graph launches, as expected"


def take_census(options):
    empty_folder(options.work)

    def cupti(path):
        return {"CUDA_INJECTION64_PATH": str(options.census), "CENSUS_OUT": str(path),
                "CENSUS_ACTIVITIES": "0"}

    alone, ours, both = (options.work / name for name in
                         ("cupti_alone.json", "library_alone.json", "cupti_beside_library.json"))
    ours_beside = options.work / "library_beside_cupti.json"
    run(options.program, cupti(alone), options.timeout)
    run(options.program, library_variables(options, ours), options.timeout)
    run(options.program, {**cupti(both), **library_variables(options, ours_beside)}, options.timeout)
    return (read_json(alone, "CUPTI"), read_json(ours, "the injected library"), read_json(both, "CUPTI"),
            read_json(ours_beside, "the injected library"))


def compare(alone, ours, both, ours_beside):
    """Raises Failure unless all four counts agree; returns the figures in words."""
    for census in (alone, both):
        if census["errors"]:
            raise Skip("CUPTI: " + census["errors"][0])
    expected = (kernel_launches(alone), graph_launches(alone))
    seen = (launches_seen(ours), graphs_seen(ours))
    beside = (launches_seen(ours_beside), graphs_seen(ours_beside))
    figures = (f"kernel and graph launches: CUPTI {expected}, library {seen}; side by side: CUPTI "
               f"{(kernel_launches(both), graph_launches(both))}, library {beside}")
    if sum(expected) == 0:
        raise Failure("CUPTI saw no launch at all; " + figures)
    if seen != expected or beside != expected:
        raise Failure(figures)
    # CUPTI sees the launches of the injected library's own calibration too; the injected library does not count those.
    if kernel_launches(both) < expected[0] or graph_launches(both) < expected[1]:
        raise Failure(figures)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    against = parser.add_mutually_exclusive_group(required=True)
    against.add_argument("--census", type=pathlib.Path)
    against.add_argument("--expect", help="KERNELS,GRAPHS")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each run")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    name = " ".join([pathlib.Path(options.program[0]).name, *options.program[1:]])
    try:
        figures = (compare_with_expected(options) if options.expect
                   else compare(*take_census(options)))
        print(f"PASS {name}: {figures}")
        return 0
    except Skip as reason:
        print(f"SKIP {name}: {reason}")
        return SKIPPED
    except Failure as reason:
        print(f"FAIL {name}: {reason}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
