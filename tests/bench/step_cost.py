#!/usr/bin/env python3
"""What the injected library costs a training step of PyTorch: programs with it and without, taking turns.

    step_cost.py --python PYTHON [--build BUILD] [--turns N] [--only STATE]... [WAY]...

PYTHON is what `scripts/real_programs.sh --environment` prints; WAYs are those of tests/real_programs/programs/gpt.py (fused,
compiled, captured). A program runs in every state at the same time, one process each, and all but one of them wait: they make some
steps in turn, so that what else the machine does meets all of them alike. A turn's time is the median of its steps. A line gives the
state's step, by the clock and in processor time of all threads, and the ratio of the turns to those without the library that are next
to them: the median, and the interval that has it with 95 % confidence; then the largest resident memory that was added.

The simulated driver is quicker than a real one, the batch is always the same one, and the program waits for no GPU. So a step
is the launching threads' time, and the ratios are upper bounds.
"""

import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests/real_programs/programs"
NEVER_ENDS = {"INLINE_PROF_WARMUP": "1000000000"}
LONG = {"INLINE_PROF_REPEAT": "300"}
SHORT = {"INLINE_PROF_OVERHEAD": "0"}
STATES = {  # name -> (arguments of prof-run, None: without it; environment)
    "without": (None, {}),
    "warm-up": ([], NEVER_ENDS),
    "measuring": ([], LONG),
    "done": ([], SHORT),
    "warm-up, --torch": (["--torch"], NEVER_ENDS),
    "measuring, --torch": (["--torch"], LONG),
    "done, --torch": (["--torch"], SHORT),
}
FEW_EVENTS = {"warmup": 3, "repeat": 1, "patterns": [{"match": "*gemm"}]}
STEPS_BEFORE = 200  # compiled, captured, in their state
STEPS_OF_A_TURN = 20
ENDLESS = 1 << 40


def program(way):
    """The program in one state: at each line of its input it makes a turn and prints the medians of its steps in microseconds; at the
    input's end it prints its memory in KiB."""
    sys.path.insert(0, str(PROGRAMS))
    import gpt
    made = gpt.example.sequences
    batch, marks, steps = [], [], 0

    def sequences(*args):
        nonlocal steps
        if not batch:
            batch.append(made(*args))
        marks.append((time.perf_counter(), time.process_time()))
        steps += 1
        if steps > STEPS_BEFORE and (steps - STEPS_BEFORE) % (STEPS_OF_A_TURN + 1) == 1:
            pairs = list(zip(marks, marks[1:]))
            print(json.dumps([statistics.median((b[kind] - a[kind]) * 1e6 for a, b in pairs) for kind in (0, 1)]), flush=True)
            if not sys.stdin.readline():
                raise EOFError
            marks.clear()  # the first step of a turn finds cold caches: its end is the first mark
        return batch[0]

    gpt.example.sequences = sequences
    try:
        gpt.WAYS[way](ENDLESS)
    except EOFError:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


class Process:
    """A program in its state."""

    def __init__(self, options, way, state, folder):
        self.way, self.state, self.folder = way, state, pathlib.Path(folder)
        arguments, settings = STATES[state]
        command = [options.python, __file__, "--program", way]
        environment = {**os.environ, **settings, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1",
                       "TORCHINDUCTOR_CACHE_DIR": str(REPOSITORY / "build/step_cost/inductor"),
                       "TRITON_CACHE_DIR": str(REPOSITORY / "build/step_cost/triton"),
                       "LD_LIBRARY_PATH": f"{options.simulated_gpu}:{options.toolkit}"}
        if arguments is not None:
            environment["INLINE_PROF_OUT"] = str(self.folder / "prof.json")
            command = [str(options.build / "libinject/run/prof-run"), *arguments, "--", *command]
            if state.startswith("done"):
                schedule = self.folder / "schedule.json"
                schedule.write_text(json.dumps(FEW_EVENTS))
                environment["INLINE_PROF_SCHEDULE"] = str(schedule)
        self.turns = []
        self._said = open(self.folder / "said", "w+", encoding="utf-8")
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                                         text=True)
        self._read()  # it has made the steps before

    def _fail(self, words):
        sys.exit(f"step_cost.py: {self.way}, {self.state}: {words}")

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            self._fail((self._said.read().strip().splitlines() or ["no message"])[-1])
        return json.loads(line)

    def turn(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.turns.append(self._read())

    def end(self):
        """Gives its memory in KiB; the profile must say that it was in the state."""
        self._process.stdin.close()
        memory = self._read()
        if self._process.wait() != 0:
            self._fail(f"exit status {self._process.returncode}")
        if STATES[self.state][0] is not None:
            profile = json.loads((self.folder / "prof.json").read_text())
            samples = sum(len(event["measured_times_ms"]) for event in profile["events"])
            is_as_meant = {"w": samples == 0, "m": samples > 0 and not profile["complete"],
                           "d": profile["complete"] and samples > 0}[self.state[0]]
            if not is_as_meant:
                self._fail(f"{samples} samples, complete: {profile['complete']}: it was not in this state")
        return memory


def with_confidence(ratios):
    """(median, lower, upper): the median's 95 % interval by the order of the values."""
    ratios, half = sorted(ratios), 0.98 * math.sqrt(len(ratios))
    middle = len(ratios) / 2
    return (statistics.median(ratios), ratios[max(0, math.floor(middle - half))],
            ratios[min(len(ratios) - 1, math.ceil(middle + half))])


def measure(options, way):
    # A graph of the whole step is an iteration where the optimizer is known to be in it, and has hardly a sample in so few steps.
    states = [state for state in STATES if way != "captured" or state in ("without", "warm-up, --torch")]
    states = [state for state in states if not options.only or state in ("without", *options.only)]
    with tempfile.TemporaryDirectory() as folder:
        # What is compiled is in the cache then: a process that compiles is larger and slower.
        Process(options, way, "without", folder).end()
        processes = []
        for number, state in enumerate(states):
            (pathlib.Path(folder) / str(number)).mkdir()
            processes.append(Process(options, way, state, pathlib.Path(folder) / str(number)))
        without = processes[0]
        for turn in range(options.turns):
            for process in processes if turn % 2 else processes[::-1]:
                process.turn()
        memories = [process.end() for process in processes]
    for process, memory in zip(processes, memories):
        words = ""
        for kind in (0, 1):
            ratios = [own[kind] / other[kind] for own, other in zip(process.turns, without.turns)]
            length = statistics.median(own[kind] for own in process.turns)
            words += " %6.0f us %6.3f (%5.3f to %5.3f)" % (length, *with_confidence(ratios))
        print(f"{way:9} {process.state:18}{words} {(memory - memories[0]) / 1024:6.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required="--program" not in sys.argv)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=REPOSITORY / "build/dev")
    parser.add_argument("--simulated-gpu", help="its folder of libraries; of the build if not given")
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--only", action="append", choices=STATES, help="a state beside that without the library")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("way", nargs="*", default=["fused", "compiled", "captured"])
    options = parser.parse_args()
    if options.program:
        program(options.program)
        return 0
    options.simulated_gpu = options.simulated_gpu or options.build / "simgpu/lib"
    print("load of the machine: %.1f %.1f %.1f" % os.getloadavg())
    print(f"{'':28} {'clock':>9} {'ratio':>6} {'':16} {'processor':>9} {'ratio':>6} {'':16} {'MiB more':>6}", flush=True)
    for way in options.way:
        measure(options, way)
    print("load of the machine: %.1f %.1f %.1f" % os.getloadavg())
    return 0


if __name__ == "__main__":
    sys.exit(main())
