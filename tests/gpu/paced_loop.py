#!/usr/bin/env python3
"""Checks the injected library's two backends on a loop whose course is known (paced_loop.cu).

    paced_loop.py --library LIBINLINE_PROF --census LIBCENSUS --loop PACED_LOOP --work DIR

Prints lines `PASS|FAIL|SKIP CLAIM: TEXT`, each with the number of its claim in docs/gpu_results.md:

  17  iteration times from origin events are those between the starts of CUPTI's records
  27  pairs recorded in CUPTI's callbacks read what pairs of the driver's wrappers read
  34  calibration inside the first launch, which several threads make at once, comes to its end
  35  the injected library leaves CUPTI while other threads launch

Exit status 1 if one failed, 77 if nothing could run.
"""

import argparse
import collections
import json
import pathlib
import statistics
import sys

from host_program import SKIPPED, Failure, Skip, injected, preloaded, run

ITERATIONS = 300
WARMUP = 5
REPEAT = 20
THREADS = 4
ROUNDS = 5  # of what may go wrong by chance
# Of event times (cuda.h, cuEventElapsedTime), once for each end, and what records take unevenly.
RESOLUTION_US = 1.5


def median_of(values):
    return statistics.median(values) if values else float("nan")


def best_offset(ours, theirs):
    """How many iterations of the longer list come before the shorter one's first."""
    def misfit(offset):
        return median_of([abs(a - b) for a, b in zip(ours, theirs[offset:])])
    return min(range(len(theirs) - len(ours) + 1), key=misfit)


def compare_iterations(profile, census):
    """Raises Failure unless iteration times are those of CUPTI; returns the figures in words."""
    if census["errors"]:
        raise Skip("CUPTI: " + census["errors"][0])
    starts = [times for name, times in census["starts"].items() if "begins" in name]
    if len(starts) != 1:
        raise Failure(f"CUPTI has records of {len(starts)} kernels that begin iterations")
    theirs = [(b - a) * 1e-3 for a, b in zip(starts[0], starts[0][1:])]
    ours = [time * 1e3 for time in profile["iter_time_ms"]]
    # The last iteration lasts until the program ends, for us alone.
    ours = ours[:len(theirs)]
    if len(ours) < 20:
        raise Failure(f"only {len(ours)} iteration times")
    offset = best_offset(ours, theirs)
    differences = sorted(abs(a - b) for a, b in zip(ours, theirs[offset:]))
    middle = median_of(differences)
    most = differences[int(0.95 * (len(differences) - 1))]
    length = median_of(theirs)
    figures = (f"{len(ours)} iterations of {min(theirs):.0f} to {max(theirs):.0f} us: median difference "
               f"{middle:.2f} us, 95 % below {most:.2f} us")
    if middle > RESOLUTION_US or most > RESOLUTION_US + 0.05 * length:
        raise Failure(figures)
    return figures


def medians_by_kernel(profile):
    """Medians in us of the first kernels of each name, less the empty pair of their state."""
    empty_us = {row["state"]: row["empty_pair_us"]["median"] for row in profile["calibration"]}
    samples = collections.defaultdict(list)
    for event in profile["events"]:
        for time, tight in zip(event["measured_times_ms"], event["tight"]):
            samples[event["kernel_name"]].append(
                time * 1e3 - empty_us["busy" if tight else "idle"])
    return {kernel: median_of(times) for kernel, times in samples.items() if times}


def compare_backends(by_wrappers, by_callbacks):
    ours, theirs = medians_by_kernel(by_wrappers), medians_by_kernel(by_callbacks)
    if not ours:
        raise Failure("no samples by wrappers")
    if set(ours) != set(theirs):
        raise Failure(f"kernels with samples: {len(ours)} by wrappers, {len(theirs)} in callbacks")
    worst = max(ours, key=lambda kernel: abs(ours[kernel] - theirs[kernel]))
    figures = (f"{len(ours)} kernels of {min(ours.values()):.1f} to {max(ours.values()):.1f} us; where the "
               f"two differ most, {ours[worst]:.2f} us by wrappers, {theirs[worst]:.2f} us in callbacks")
    errors = by_callbacks["dropped"]["cuda_errors"]
    if errors:
        raise Failure(f"{errors} errors of the driver in callbacks; {figures}")
    if abs(ours[worst] - theirs[worst]) > RESOLUTION_US + 0.05 * ours[worst]:
        raise Failure(figures)
    return figures


def check_calibration(profile):
    """Raises Failure unless the states of streams were calibrated, and launches were seen."""
    found = {row["state"]: row["empty_pair_us"] for row in profile["calibration"]}
    for state in ("idle", "busy"):
        if state not in found or found[state]["count"] == 0:
            raise Failure(f"no calibration of state {state}: {profile['warnings']}")
    return ", ".join(f"{state} {pair['median']:.2f} us" for state, pair in sorted(found.items()))


class Checks:
    def __init__(self, options):
        self.options = options
        self.words = collections.Counter()

    def loop(self, variables, threads=0):
        command = [str(self.options.loop), "--iterations", str(ITERATIONS), "--threads", str(threads)]
        said = run(command, variables, self.options.timeout).last_words
        if "another one has it" in said:  # CUPTI, which serves one tool at a time
            raise Skip(said)

    def read(self, name, must_be_complete=True):
        path = self.options.work / name
        if not path.exists():
            raise Failure(f"no {name} was written")
        content = json.loads(path.read_text())
        if must_be_complete and content.get("complete") is not True:
            raise Failure(f"{name} is not complete: {content['warnings']}")
        return content

    def say(self, claim, check):
        try:
            word, text = "PASS", check()
        except Skip as reason:
            word, text = "SKIP", str(reason)
        except Failure as reason:
            word, text = "FAIL", str(reason)
        self.words[word] += 1
        print(f"{word} {claim}: {text}", flush=True)

    def iterations(self):
        output = self.options.work / "origins.json"
        census = self.options.work / "origins_census.json"
        # The overhead measurement begins after the last sample; its origin events go on to the end.
        self.loop({**preloaded(self.options.library, output, warmup=WARMUP, repeat=REPEAT),
                   "CUDA_INJECTION64_PATH": str(self.options.census), "CENSUS_OUT": str(census)})
        return compare_iterations(self.read(output.name, must_be_complete=False),
                                  self.read(census.name, must_be_complete=False))

    def backends(self):
        outputs = [self.options.work / name for name in ("wrappers.json", "callbacks.json")]
        settings = {"warmup": WARMUP, "repeat": REPEAT, "overhead": 0}
        self.loop(preloaded(self.options.library, outputs[0], **settings))
        self.loop(injected(self.options.library, outputs[1], **settings))
        return compare_backends(*(self.read(output.name) for output in outputs))

    def first_launches(self):
        figures = ""
        for turn in range(ROUNDS):
            output = self.options.work / f"first_launches.{turn}.json"
            self.loop(injected(self.options.library, output, warmup=WARMUP, repeat=1, overhead=0),
                      threads=THREADS)
            figures = check_calibration(self.read(output.name, must_be_complete=False))
        return f"{ROUNDS} times with {THREADS + 1} threads at the first launch; empty pairs: {figures}"

    def leaving(self):
        schedule = self.options.work / "one_kernel.json"
        schedule.write_text('{"patterns": [{"kernel": "*paced*100*"}]}\n')
        for turn in range(ROUNDS):
            output = self.options.work / f"leaving.{turn}.json"
            self.loop(injected(self.options.library, output, warmup=WARMUP, repeat=REPEAT, overhead=0,
                               schedule=schedule), threads=THREADS)
            iterations = len(self.read(output.name)["iter_time_ms"])
            if iterations > ITERATIONS // 2:
                raise Failure(f"the injected library was there for {iterations} of {ITERATIONS} iterations")
        return f"{ROUNDS} times, before half-time, beside {THREADS} threads that launched to the end"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--census", type=pathlib.Path, required=True)
    parser.add_argument("--loop", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=15, help="seconds for each run")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    # Files of an earlier run would be taken for this one's.
    for old in options.work.glob("*.json"):
        old.unlink()
    checks = Checks(options)
    for claim, check in ((17, checks.iterations), (27, checks.backends),
                         (34, checks.first_launches), (35, checks.leaving)):
        checks.say(claim, check)
    if checks.words["FAIL"]:
        return 1
    return 0 if checks.words["PASS"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
