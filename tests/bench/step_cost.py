#!/usr/bin/env python3
"""Measures what the injected library costs a training step of PyTorch: programs with it and without, in turns.

    step_cost.py --python PYTHON [--build BUILD] [--minutes N] [--json FILE] [--page FILE] [WAY]...

PYTHON is what `scripts/real_programs.sh --environment` prints; WAYs are those of tests/real_programs/programs/gpt.py (fused,
compiled, captured). In a round a program runs in every state at the same time, one process each, and all but one of them wait: they
make some steps in turn, so that what else the machine does meets all of them alike. A turn's time is the median of its steps, in
processor time of all threads; a round's ratio is the median of its turns' to the mean of the two processes without the library. The
warm-up is ten steps behind the first one: a step of it, and all together, with the planning at its end.

Two processes of one program differ, as their memory lies elsewhere. So rounds with new processes follow until the 95 % interval of the
ratio between the two without the library lies within 0.1 % of 1, or until the minutes of each way are over, which is then said. A
cell of the table is by how much the median of the rounds is above 1, and the wider side of its 95 % interval. --page replaces the table in that page.

The simulated driver is quicker than a real one, the batch is always the same one, and kernels take no time, so that the GPU is never behind. So a step
is the launching threads' time, and the ratios are upper bounds.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests/real_programs/programs"
LONG = {"INLINE_PROF_REPEAT": "300"}
SHORT = {"INLINE_PROF_OVERHEAD": "0"}
STATES = {  # name -> (arguments of prof-run, None: without it; environment)
    "without": (None, {}),
    "again": (None, {}),
    "measuring": ([], LONG),
    "done": ([], SHORT),
    "measuring, --torch": (["--torch"], LONG),
    "done, --torch": (["--torch"], SHORT),
}
WARM_UP = 11  # steps: the default of 10, and the planning
MODEL = {"noise": 0, "rules": [{"name": "*", "duration_us": 0.01}]}  # of the simulated GPU
FEW_EVENTS = {"warmup": 3, "repeat": 1, "patterns": [{"match": "*gemm"}]}
STEPS_BEFORE = {"captured": 20_000}  # compiled, captured, in their state
STEPS_OF_A_TURN = {"captured": 1000}  # a step of it takes as long as ten launches
TURNS = 15
WANTED = 0.001  # of the interval between two processes without the library
ENDLESS = 1 << 40


def program(way):
    """The program in one state: at each line of its input it makes a turn and prints its time in microseconds: first that of the
    warm-up, (median of a step, mean), then the medians of a step."""
    sys.path.insert(0, str(PROGRAMS))
    import gpt
    made = gpt.example.sequences
    before, of_a_turn = STEPS_BEFORE.get(way, 300), STEPS_OF_A_TURN.get(way, 20)
    batch, marks, steps = [], [], 0

    def turn_ends(value):
        print(json.dumps(value), flush=True)
        if not sys.stdin.readline():
            raise EOFError
        marks.clear()

    def lengths():
        return [(end - begin) * 1e6 for begin, end in zip(marks, marks[1:])]

    def sequences(*args):
        nonlocal steps
        if not batch:
            batch.append(made(*args))
        steps += 1
        marks.append(time.process_time())
        if steps == 2:
            turn_ends(0)
            marks.append(time.process_time())
        elif steps == 2 + WARM_UP:
            turn_ends([statistics.median(lengths()), statistics.mean(lengths())])
        elif steps > before and (steps - before) % (of_a_turn + 1) == 1:
            # The first step of a turn finds cold caches: its end is the first mark.
            turn_ends(statistics.median(lengths()))
        return batch[0]

    gpt.example.sequences = sequences
    try:
        gpt.WAYS[way](ENDLESS)
    except EOFError:
        pass


class Process:
    """A program in its state."""

    def __init__(self, options, way, state, folder):
        self.way, self.state, self.folder = way, state, folder
        folder.mkdir()
        arguments, settings = STATES[state]
        command = [options.python, __file__, "--program", way]
        (folder / "model.json").write_text(json.dumps(MODEL))
        environment = {**os.environ, **settings, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1",
                       "SIMGPU_MODEL": str(folder / "model.json"),
                       "TORCHINDUCTOR_CACHE_DIR": str(REPOSITORY / "build/step_cost/inductor"),
                       "TRITON_CACHE_DIR": str(REPOSITORY / "build/step_cost/triton"),
                       "LD_LIBRARY_PATH": f"{options.simulated_gpu}:{options.toolkit}"}
        if arguments is not None:
            environment["INLINE_PROF_OUT"] = str(folder / "prof.json")
            command = [str(options.build / "libinject/run/prof-run"), *arguments, "--", *command]
            if state.startswith("done"):
                (folder / "schedule.json").write_text(json.dumps(FEW_EVENTS))
                environment["INLINE_PROF_SCHEDULE"] = str(folder / "schedule.json")
        self.turns = []
        self._said = open(folder / "said", "w+", encoding="utf-8")
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                                         text=True)

    def _fail(self, words):
        sys.exit(f"step_cost.py: {self.way}, {self.state}: {words}")

    def read(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            self._fail((self._said.read().strip().splitlines() or ["no message"])[-1])
        return json.loads(line)

    def turn(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.turns.append(self.read())

    def end(self):
        """Its profile must say that it was in the state."""
        self._process.stdin.close()
        if self._process.wait() != 0:
            self._fail(f"exit status {self._process.returncode}")
        if STATES[self.state][0] is not None:
            profile = json.loads((self.folder / "prof.json").read_text())
            samples = sum(len(event["measured_times_ms"]) for event in profile["events"])
            if samples == 0 or profile["complete"] != self.state.startswith("done"):
                self._fail(f"{samples} samples, complete: {profile['complete']}: it was not in this state")


def turns_of(options, way):
    """Returns {state: microseconds of its turns} of one round; the first turn is the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        processes = [Process(options, way, state, pathlib.Path(folder) / str(number)) for number, state in enumerate(STATES)]
        for process in processes:
            process.read()
        for turn in range(TURNS + 2):
            for process in processes if turn % 2 else processes[::-1]:
                process.turn()
        for process in processes:
            process.end()
    # The second one began in the steps before.
    return {process.state: [process.turns[0], *process.turns[2:]] for process in processes}


def ratios_of(turns):
    """Returns {row of the table: ratio} of a round."""
    bare = [(one + other) / 2 for one, other in zip(turns["without"][1:], turns["again"][1:])]
    found = {"without": statistics.median(one / other for one, other in zip(turns["again"][1:], turns["without"][1:]))}
    for state, own in turns.items():
        if state in ("without", "again"):
            continue
        if state.startswith("measuring"):
            for kind, row in enumerate(("warm-up", "all of the warm-up")):
                found[state.replace("measuring", row)] = 2 * own[0][kind] / (turns["without"][0][kind] + turns["again"][0][kind])
        found[state] = statistics.median(one / other for one, other in zip(own[1:], bare))
    return found


def interval(values):
    """Returns (median, lower and upper end of its 95 % interval, from the order of the values): six at least."""
    ordered, count = sorted(values), len(values)
    chance, outside = 0.0, 0
    while outside < count // 2:
        chance += 2 * math.comb(count, outside) / 2 ** count
        if chance > 0.05:
            break
        outside += 1
    middle = statistics.median(ordered)
    return (middle, ordered[outside - 1], ordered[count - outside]) if outside else (middle, None, None)


def text_of(ratio, low, high):
    """In percent above 1."""
    wide = "" if low is None else f"±{100 * max(high - ratio, ratio - low):.1f}"
    return f"{100 * ratio - 100:+.1f}{wide}"


def measure(options, way):
    if way == "compiled":  # what is compiled is in the cache then: a process that compiles is larger and slower
        turns_of(options, way)
    ends = time.monotonic() + 60 * options.minutes
    rounds, lengths = [], []
    is_sure = False
    while not is_sure and time.monotonic() < ends:
        turns = turns_of(options, way)
        lengths.append(statistics.median(turns["without"][1:]))
        rounds.append(ratios_of(turns))
        same, low, high = interval([each["without"] for each in rounds])
        print(f"{way}: round {len(rounds)}, two without the library: {text_of(same, low, high)} %", file=sys.stderr, flush=True)
        is_sure = low is not None and 1 - WANTED <= low and high <= 1 + WANTED
    rows = {row: dict(zip(("ratio", "low", "high"), interval([each[row] for each in rounds]))) for row in rounds[0]}
    return {"step_us": statistics.median(lengths), "rounds": len(rounds), "is_sure": is_sure, "rows": rows}


def table_of(found):
    """Returns the lines of the table."""
    lines = ["| % more for a step of a GPT | " + " | ".join(f"{way}, {each['step_us']:.0f} us" for way, each in found.items()) + " |",
             "|---" * (len(found) + 1) + "|"]
    for row in next(iter(found.values()))["rows"]:
        state, comma, option = row.partition(", ")
        state = state.replace("without", "two processes without the library")
        cells = [text_of(**each["rows"][row]) for each in found.values()]
        lines.append("| " + " | ".join([state + comma + (f"`{option}`" if option else ""), *cells]) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required="--program" not in sys.argv)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=REPOSITORY / "build/dev")
    parser.add_argument("--simulated-gpu", help="its folder of libraries; of the build if not given")
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64")
    parser.add_argument("--minutes", type=float, default=15, help="for each way, if two without the library still differ")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the same as JSON")
    parser.add_argument("--page", type=pathlib.Path, help="a page whose first table below `What it costs` is replaced")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("way", nargs="*", default=["fused", "compiled", "captured"])
    options = parser.parse_args()
    if options.program:
        program(options.program)
        return 0
    options.simulated_gpu = options.simulated_gpu or options.build / "simgpu/lib"
    found = {way: measure(options, way) for way in options.way}
    text = "\n".join(table_of(found)) + "\n"
    print(text, end="")
    for way, each in found.items():
        if not each["is_sure"]:
            print(f"{way}: after {each['rounds']} rounds two processes without the library are not within {WANTED:.1%}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.page:
        before, heading, behind = options.page.read_text().partition("\n## What it costs\n")
        options.page.write_text(before + heading + re.sub(r"(?m)(^\|.*\n)+", lambda _: text, behind, count=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
