#!/usr/bin/env python3
"""What the injected library costs a program, as ratios with intervals.

    overhead.py --library LIBINLINE_PROF --loop OVERHEAD_LOOP [--torch OVERHEAD_TORCH.py]
                [--seconds S] [--short]

Two ways of comparing:

  toggled   one process, in which measuring goes on and off in blocks (off, on, on, off); the first
            four are not counted: in them is what is done once
  pairs     whole processes in the same pattern: bare, with, with, bare

Each pattern gives one ratio (on + on) / (off + off); their mean has a bootstrap interval of 95 %.
Prints lines `PASS|FAIL|FIGURE|SKIP TEXT`.  Goals: measuring costs less than 0.1 %, and the interval
excludes 0.3 %; afterwards 0 lies within it.  --short: a few blocks, whose ratios mean nothing.
"""

import argparse
import pathlib
import random
import statistics
import sys
import tempfile

from host_program import Failure, Skip, injected, preloaded, run

GOAL = 0.001
EXCLUDED = 0.003
RESAMPLES = 2000


def quads(blocks):
    """Ratios of on to off of each off, on, on, off."""
    ratios = []
    for i in range(0, len(blocks) - 3, 4):
        (s0, t0), (s1, t1), (s2, t2), (s3, t3) = blocks[i:i + 4]
        if (s0, s1, s2, s3) != ("off", "on", "on", "off"):
            raise ValueError(f"expected blocks off on on off, found {s0} {s1} {s2} {s3}")
        ratios.append((t1 + t2) / (t0 + t3))
    return ratios


def interval(ratios, seed=1):
    """Mean and its bootstrap interval of 95 %, less 1."""
    random_numbers = random.Random(seed)
    means = sorted(statistics.fmean(random_numbers.choices(ratios, k=len(ratios)))
                   for _ in range(RESAMPLES))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
    return statistics.fmean(ratios) - 1, low - 1, high - 1


def words(found, count):
    mean, low, high = (f"{100 * value:+.3f}" for value in found)
    return f"{mean} % (95 %: {low} to {high}, {count} patterns)"


def judge_measuring(found):
    """True, False, or None where the interval is too wide to tell."""
    mean, low, high = found
    if mean < GOAL and high < EXCLUDED:
        return True
    return False if low > GOAL else None


def judge_afterwards(found):
    return found[1] <= 0 <= found[2]


def blocks_of(command, variables, timeout_s):
    lines = [line.split() for line in run(command, variables, timeout_s).stdout.splitlines()]
    return [(state, float(time)) for state, time in lines]


class Comparison:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failed = False
        self.files = 0

    def say(self, verdict, text):
        print(f"{verdict} {text}", flush=True)
        self.failed = self.failed or verdict == "FAIL"

    def output(self):
        self.files += 1
        return f"{self.folder}/prof.{self.files}.json"

    def preloaded(self, **settings):
        return preloaded(self.options.library, self.output(), **settings)

    def injected(self):
        return injected(self.options.library, self.output(), backend="cupti")

    def attempt(self, name, measure, judge=None):
        try:
            ratios = measure()
        except Skip as reason:
            self.say("SKIP", f"{name}: {reason}")
            return
        except (Failure, ValueError) as error:
            self.say("FAIL", f"{name}: {error}")
            return
        if not ratios:
            self.say("FAIL", f"{name}: no blocks")
            return
        found = interval(ratios)
        answer = judge(found) if judge else None
        verdict = "FIGURE" if answer is None else "PASS" if answer else "FAIL"
        if self.options.short:
            verdict = "FIGURE"
        self.say(verdict, f"{name}: {words(found, len(ratios))}")

    def toggled(self, command, variables):
        return lambda: quads(blocks_of(command, variables, self.options.seconds))[1:]

    def pairs(self, bare, other, drop=0):
        """Process pairs; `drop` blocks at the start of each are not counted."""
        (bare_command, bare_variables), (command, variables) = bare, other

        def measure():
            ratios = []
            for _ in range(self.options.pairs):
                blocks = []
                for state in ("off", "on", "on", "off"):
                    is_on = state == "on"
                    times = [time for _, time in
                             blocks_of(command if is_on else bare_command,
                                       variables() if is_on else bare_variables,
                                       self.options.seconds)][drop:]
                    blocks.append((state, statistics.median(times)))
                ratios += quads(blocks)
            return ratios
        return measure


# More samples of each event than the loops have iterations, so that measuring never ends by itself.
TOGGLE = {"trigger": "signal:USR1", "warmup": "2", "overhead": "0", "repeat": "1000"}
# The settings for a run that nobody watches.
ADAPTIVE = {**TOGGLE, "policy": "adaptive", "target_ci": "0.0001"}
EVERY_ITERATION = TOGGLE


def compare_loops(comparison):
    options = comparison.options
    size = ["--blocks", "8", "--iterations", "2"] if options.short else []
    pair_size = ["--blocks", "4", "--iterations", "2"] if options.short else ["--blocks", "12"]
    for work in ("launch", "gpu", "graph"):
        loop = [str(options.loop), work, *size]
        single = [str(options.loop), work, *pair_size]
        comparison.attempt(f"{work}, measuring within the budget, toggled",
                           comparison.toggled([*loop, "--toggle"], comparison.preloaded(**ADAPTIVE)),
                           judge_measuring)
        comparison.attempt(f"{work}, a pair in every iteration, toggled",
                           comparison.toggled([*loop, "--toggle"],
                                              comparison.preloaded(**EVERY_ITERATION)))
        bare = (single, {})
        comparison.attempt(f"{work}, nothing beside nothing, pairs",
                           comparison.pairs(bare, (single, dict)), judge_afterwards)
        comparison.attempt(f"{work}, measured all it wanted, pairs",
                           comparison.pairs(bare, (single, lambda: comparison.preloaded(
                               mode="fine_grained", warmup="2", repeat="1", overhead="0")),
                               drop=2),
                           judge_afterwards)
        comparison.attempt(f"{work}, NVTX ranges that nobody reads, pairs",
                           comparison.pairs(bare, ([*single, "--nvtx"], dict)))
        comparison.attempt(f"{work}, backend cupti, pairs",
                           comparison.pairs(bare, (single, comparison.injected)))


def compare_torch(comparison):
    options = comparison.options
    command = [sys.executable, str(options.torch)]
    if options.short:
        command += ["--blocks", "8", "--iterations", "2"]
    comparison.attempt("PyTorch, measuring within the budget, toggled",
                       comparison.toggled([*command, "--toggle"], comparison.preloaded(**ADAPTIVE)),
                       judge_measuring)
    comparison.attempt("PyTorch, torch.profiler, toggled",
                       comparison.toggled([*command, "--profiler"], {}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--loop", type=pathlib.Path, required=True)
    parser.add_argument("--torch", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60, help="for each process")
    parser.add_argument("--pairs", type=int, default=4, help="patterns of processes")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        options.pairs = 1
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, folder)
        compare_loops(comparison)
        if options.torch:
            compare_torch(comparison)
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
