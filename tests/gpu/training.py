#!/usr/bin/env python3
"""Checks what the injected library finds in training loops whose course is known.

    training.py --library LIBINLINE_PROF --loop TRAINING_LOOP --torch TORCH_TRAINING.py --work DIR
                [--dlrm DLRM --dlrm-plain DLRM_PLAIN] [--nvtx-tool LIBRARY] [--timeout S]

Prints lines `PASS|FAIL|SKIP|FIGURE CLAIM: NAME: TEXT`, each with the number of its claim in
docs/gpu_results.md:

  40  the iteration of a loop is found in its launches, as the same loop marks it
  41  policy adaptive takes no more than its budget: by its pairs, and by the measured overhead
  45  NVTX ranges are the layers of the launches inside; a tool in front of the injected library gets every range

Exit status 1 if one failed, 77 if nothing could run.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile

from host_program import SKIPPED, Failure, Skip, preloaded, run

WARMUP = 10
LOOP_STEPS = 1500
BUDGET_STEPS = 15000
TORCH_STEPS = 300
DLRM_STEPS = 2000
# The finder looks at this many launches in any case, and again when they have grown by a quarter
# (schedule/iteration_finder.hpp).
LAUNCHES_TO_FIND = 4096 * 1.25
# Two runs of one loop: the application, and the clocks.
MOST_OFF = 0.1
# A budget is spent whole, and lost samples are made up for.
ROOM = 1.1
# The set-up of the DLRM ends with the launches that end its step: an iteration that begins with them
# repeats just as well.
DLRM_MAY_BEGIN_WITH = ("generate_batch", "sgd_update_kernel")
NVTX_PUSH_POP = 59  # NVTX_EVENTS.eventType in the databases of Nsight Systems


def first_kernel(event):
    return event["kernel_names"][0] if event["kernel_names"] else event["event_name"]


def launches_in_order(profile):
    """(first kernel, grid) of each event, as an iteration launches them."""
    events = sorted(profile["events"], key=lambda event: event["start_index"])
    return [(first_kernel(event), tuple(event.get("grid", ()))) for event in events]


def turned_by(found, marked):
    """How many launches after the marked one the found iteration begins; None if it is another one."""
    if len(found) != len(marked):
        return None
    return next((turn for turn in range(len(marked)) if marked[turn:] + marked[:turn] == found), None)


def difference(found, marked):
    """Where the orders of launches part, in words."""
    place = next((i for i, (a, b) in enumerate(zip(found, marked)) if a != b), min(len(found), len(marked)))
    return " ".join(f"{who} launch {place} of {len(order)} is "
                    f"{' '.join(map(str, order[place])) if place < len(order) else 'not there'};"
                    for who, order in (("found", found), ("marked", marked))).rstrip(";")


def median_us(profile):
    times = profile["iter_time_ms"]
    if not times:
        raise Failure("no iteration times")
    return statistics.median(times) * 1e3


def check_found(profile):
    source = profile["profiler"]["iteration_source"]
    if source == "none":
        raise Failure(f"no iteration was found: {profile['warnings']}")
    if source in ("macro", "optimizer") or source.startswith("nvtx"):
        raise Skip(f"the iteration was not looked for: source {source}")
    return source


def compare_iterations(found, marked, may_begin_with=()):
    """Figures in words; raises Failure unless the found iteration is the marked one.

    Where labels make other events of the marked one's launches, only the first kernel is compared:
    one of may_begin_with.
    """
    source = check_found(found)
    ours, theirs = launches_in_order(found), launches_in_order(marked)
    if not ours or not theirs:
        raise Failure(f"{len(ours)} events where the iteration was to be found, {len(theirs)} where it was marked")
    if not may_begin_with:
        turn = turned_by(ours, theirs)
        if turn is None:
            raise Failure(f"another iteration was found: {difference(ours, theirs)}")
        if turn:
            raise Failure(f"found to begin {turn} of {len(ours)} launches after its first, with {ours[0][0]}")
    elif not any(name in ours[0][0] for name in may_begin_with):
        raise Failure(f"found to begin with {ours[0][0]}, it begins with {theirs[0][0]}")
    found_us, marked_us = median_us(found), median_us(marked)
    figures = (f"{len(ours)} events from {ours[0][0]} on, {found_us:.1f} us found and {marked_us:.1f} us marked "
               f"(source {source}, confidence {found['profiler']['iteration_confidence']:.2f}, "
               f"{found['dropped'].get('irregular_iteration', 0)} samples left out as irregular)")
    if abs(found_us / marked_us - 1) > MOST_OFF:
        raise Failure(f"more than {100 * MOST_OFF:.0f} % apart: {figures}")
    return figures


def count_iterations(profile, steps):
    """The same for how many were found; only of a run that was measured to its end."""
    count = len(profile["iter_time_ms"])
    launches = max(1, len(profile["events"]))
    most_missing = 2 * WARMUP + LAUNCHES_TO_FIND / launches
    figures = f"{count} of {steps} steps are iterations, the others before one was found and in the warm-up"
    if count > steps or steps - count > most_missing:
        raise Failure(f"{figures}; at most {most_missing:.0f} were to be missing")
    return figures


def pair_us(profile):
    """What a pair costs behind other work: each of its records takes what a pair reads too much."""
    for row in profile["calibration"]:
        if row["state"] != "busy":
            continue
        if "empty_kernel_pair_us" in row and "added_kernel_us" in row:
            return 2 * (row["empty_kernel_pair_us"]["median"] - row["added_kernel_us"]["median"])
        return 2 * row["empty_pair_us"]["median"]
    raise Skip("pairs behind other work were not calibrated")


def judge_budget(profile, budget_percent):
    """(word, text): by the pairs, which can be counted, and by the measured overhead, which has an interval.

    The overhead is that of iterations with pairs; a small budget leaves most iterations without.
    """
    iterations = [number for event in profile["events"] for number in event["iterations"]]
    if not iterations:
        raise Failure(f"nothing was measured: {profile['warnings']}")
    length_us, cost_us = median_us(profile), pair_us(profile)
    # From the first iteration with pairs to the last one, which begins what is not measured any more.
    last = max(iterations)
    span = last - min(iterations)
    iterations = [number for number in iterations if number < last]
    if not iterations:
        raise Skip("a single iteration was measured")
    share = len(set(iterations)) / span
    pairs_percent = 100 * len(iterations) * cost_us / (span * length_us)
    figures = (f"budget {budget_percent:g} % of {length_us:.0f} us; {len(iterations)} pairs of {cost_us:.2f} us in "
               f"{span} iterations are {pairs_percent:.3f} %; ")
    is_too_many = pairs_percent > ROOM * budget_percent
    overhead = profile["overhead"]
    interval = overhead.get("slowdown_percent_ci95")
    if interval is None:
        return "FAIL" if is_too_many else "SKIP", f"{figures}no measured overhead: {overhead.get('method')}"
    low, high = (share * bound for bound in interval)
    figures += (f"overhead of {100 * share:.1f} % of the iterations, which had pairs: "
                f"{share * overhead['slowdown_percent']:+.3f} % [{low:+.3f}, {high:+.3f}]")
    if is_too_many or low > ROOM * budget_percent:
        return "FAIL", figures
    if high > ROOM * budget_percent:
        return "SKIP", f"the interval is too wide to tell: {figures}"
    return "PASS", figures


def compare_layers(profile, expected):
    """Of a loop that says which path each launch of a step has."""
    found = [event["layer_name"] for event in sorted(profile["events"], key=lambda event: event["start_index"])]
    if len(found) != len(expected):
        raise Failure(f"{len(found)} events, a step has {len(expected)} launches")
    wrong = [(i, ours, theirs) for i, (ours, theirs) in enumerate(zip(found, expected)) if ours != theirs]
    if wrong:
        raise Failure(f"{len(wrong)} of {len(found)} launches have another layer; launch {wrong[0][0]} has "
                      f"'{wrong[0][1]}', its ranges are '{wrong[0][2]}'")
    return f"{len(found)} launches in {len(set(found))} layers"


def compare_paths(profile, paths):
    """Of a loop that only knows which ranges there were: no others are layers, and all innermost ones are."""
    found = {event["layer_name"] for event in profile["events"]} - {""}
    others = found - set(paths)
    if others:
        raise Failure(f"layers that are no ranges: {', '.join(sorted(others)[:5])}")
    innermost = {path for path in paths if not any(other.startswith(path + ".") for other in paths)}
    if innermost - found:
        raise Failure(f"ranges without a launch: {', '.join(sorted(innermost - found)[:5])}")
    outside = sum(event["layer_name"] == "" for event in profile["events"])
    return f"{len(found)} layers; {outside} of {len(profile['events'])} events lie outside all ranges"


def ranges_in_log(path):
    """How many ranges the tool of the tests was told of (tests/inject/tools/nvtx_tool.cpp)."""
    if not path.exists():
        raise Failure("the tool was told nothing")
    return sum(line.startswith("push ") for line in path.read_text().splitlines())


def ranges_in_database(path):
    if not path.exists():
        raise Failure(f"Nsight Systems wrote no {path.name}")
    with contextlib.closing(sqlite3.connect(path)) as database:
        try:
            return database.execute("SELECT COUNT(*) FROM NVTX_EVENTS WHERE eventType = ?",
                                    (NVTX_PUSH_POP,)).fetchone()[0]
        except sqlite3.Error as error:
            raise Failure(f"{path.name}: {error}") from error


class Checks:
    def __init__(self, options):
        self.options = options
        self.words = collections.Counter()

    def say(self, word, text):
        self.words[word] += 1
        print(f"{word} {text}", flush=True)

    @contextlib.contextmanager
    def claim(self, number, name):
        """Says what is raised inside."""
        try:
            yield
        except Skip as reason:
            self.say("SKIP", f"{number}: {name}: {reason}")
        except Failure as reason:
            self.say("FAIL", f"{number}: {name}: {reason}")
        except (KeyError, IndexError, TypeError, ValueError) as error:
            self.say("FAIL", f"{number}: {name}: prof.json is not as expected: {error!r}")

    def under_library(self, name, command, variables=None, **settings):
        """(what the application says of itself, its profile)"""
        output = self.options.work / f"{name}.json"
        done = run([str(word) for word in command],
                   {**preloaded(self.options.library, output, warmup=WARMUP, **settings), **(variables or {})},
                   self.options.timeout)
        if not output.exists():
            raise Failure(f"no {output.name} was written: {done.last_words}")
        words = done.stdout.strip().splitlines()
        said = json.loads(words[-1]) if words and words[-1].startswith("{") else {}
        return said, json.loads(output.read_text())

    def iterations(self):
        for name, command in (("loop", [self.options.loop, "--steps", LOOP_STEPS]),
                              ("pytorch", self.torch_command())):
            with self.claim(40, name):
                settings = {"overhead": 0, "repeat": 1000}
                marked_said, marked = self.under_library(f"{name}_marked", [*command, "--mark"], **settings)
                said, found = self.under_library(f"{name}_found", command, **settings)
                if marked["profiler"]["iteration_source"] != "macro":
                    raise Failure(f"the marks did not reach the injected library: source {marked['profiler']['iteration_source']}")
                figures = compare_iterations(found, marked)
                if "launches_of_step" in said and len(found["events"]) != said["launches_of_step"]:
                    raise Failure(f"{len(found['events'])} events, a step has {said['launches_of_step']} launches")
                if said.get("first_kernel", "") not in launches_in_order(found)[0][0]:
                    raise Failure(f"begins with {launches_in_order(found)[0][0]}, a step with {said['first_kernel']}")
                self.say("PASS", f"40: {name}: {figures}; {count_iterations(found, said['steps'])}")
        with self.claim(40, "dlrm"):
            if not self.options.dlrm or not self.options.dlrm_plain:
                raise Skip("the example was not built")
            # The example takes a missing GPU for an error.
            run([str(self.options.loop), "--steps", "1"], {}, self.options.timeout)
            steps = ["--iterations", DLRM_STEPS]
            _, marked = self.under_library("dlrm_marked", [self.options.dlrm, *steps], overhead=0)
            _, found = self.under_library("dlrm_found", [self.options.dlrm_plain, *steps], overhead=0)
            self.say("PASS", f"40: dlrm: {compare_iterations(found, marked, DLRM_MAY_BEGIN_WITH)}")

    def budgets(self):
        for percent in (1, 0.1):
            name = f"{percent:g} %"
            with self.claim(41, name):
                _, profile = self.under_library(f"budget_{percent:g}",
                                              [self.options.loop, "--steps", BUDGET_STEPS, "--mark"],
                                              policy="adaptive", budget=f"{percent:g}%", repeat=20)
                word, text = judge_budget(profile, percent)
                self.say(word, f"41: {name}: {text}")

    def layers(self):
        for name, command in (("loop", [self.options.loop, "--steps", 60, "--mark", "--ranges"]),
                              ("pytorch", [*self.torch_command(60), "--mark", "--ranges"])):
            with self.claim(45, name):
                said, profile = self.under_library(f"{name}_ranges", command, overhead=0, repeat=1)
                figures = (compare_layers(profile, said["layers"]) if "layers" in said
                           else compare_paths(profile, said["paths"]))
                self.say("PASS", f"45: {name}: {figures}")
            with self.claim(45, f"{name}, a tool in front"):
                if not self.options.nvtx_tool or not self.options.nvtx_tool.exists():
                    raise Skip("the tool of the tests was not built")
                log = self.options.work / f"{name}_tool.log"
                log.unlink(missing_ok=True)
                said, _ = self.under_library(f"{name}_tool", command,
                                           {"NVTX_INJECTION64_PATH": str(self.options.nvtx_tool),
                                            "NVTX_TOOL_LOG": str(log), "NVTX_TOOL_TAKES": "all"}, overhead=0, repeat=1)
                self.judge_ranges(f"{name}, a tool in front", ranges_in_log(log), said)
            with self.claim(45, f"{name}, Nsight Systems in front"):
                self.nsight_systems(name, command)

    def nsight_systems(self, name, command):
        nsys = shutil.which("nsys")
        if nsys is None:
            raise Skip("no nsys on the path")
        # Its files name the machine and the person, and are no text to take that out of: they do not stay.
        with tempfile.TemporaryDirectory() as folder:
            self.under_nsight_systems(nsys, pathlib.Path(folder) / f"{name}_nsys", name, command)

    def under_nsight_systems(self, nsys, report, name, command):
        under_library = preloaded(self.options.library, self.options.work / f"{name}_nsys.json",
                                warmup=WARMUP, overhead=0, repeat=1)
        done = run([nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite",
                    "--force-overwrite=true", "-o", str(report), "env",
                    *(f"{key}={value}" for key, value in under_library.items()),
                    *(str(word) for word in command)], {}, self.options.timeout)
        said = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")), None)
        if said is None:
            raise Failure(f"the loop said nothing under nsys: {done.last_words}")
        self.judge_ranges(f"{name}, Nsight Systems in front", ranges_in_database(report.with_suffix(".sqlite")), said)

    def judge_ranges(self, name, told, said):
        if told != said["ranges"]:
            raise Failure(f"it was told of {told} ranges, {said['ranges']} were pushed")
        self.say("PASS", f"45: {name}: all {told} ranges reached it")

    def torch_command(self, steps=TORCH_STEPS):
        return [sys.executable, self.options.torch, "--steps", steps]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--loop", type=pathlib.Path, required=True)
    parser.add_argument("--torch", type=pathlib.Path, required=True)
    parser.add_argument("--dlrm", type=pathlib.Path)
    parser.add_argument("--dlrm-plain", type=pathlib.Path)
    parser.add_argument("--nvtx-tool", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=20, help="seconds for each run")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    # Files of an earlier run would be taken for this one's.
    for old in options.work.glob("*"):
        if old.is_file():
            old.unlink()
    checks = Checks(options)
    checks.iterations()
    checks.budgets()
    checks.layers()
    if checks.words["FAIL"]:
        return 1
    return 0 if checks.words["PASS"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
