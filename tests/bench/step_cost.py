#!/usr/bin/env python3
"""Measures what the injected library costs a training step of PyTorch: programs with it and without, in turns.

    step_cost.py --python PYTHON [--build BUILD] [--rounds N] [--turns N] [--only STATE]... [WAY]...

PYTHON is what `scripts/real_programs.sh --environment` prints; WAYs are those of tests/real_programs/programs/gpt.py (fused,
compiled, captured). In a round a program runs in every state at the same time, one process each, and all but one of them wait: they
make some steps in turn, so that what else the machine does meets all of them alike. A turn's time is the median of its steps, and a
round's ratio the median of the turns' to those without the library that are next to them. A line gives the state's step, by the clock and
in processor time of all threads, and the ratio: the median of the rounds, the least and the largest; then the largest resident memory that was added.
Two processes of one program differ, as their memory lies elsewhere: by how much, the line `again` says, which is without the library, too.

The simulated driver is quicker than a real one, the batch is always the same one, and kernels take no time, so that the GPU is never behind. So a step
is the launching threads' time, and the ratios are upper bounds.
"""

import argparse
import json
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
    "again": (None, {}),
    "warm-up": ([], NEVER_ENDS),
    "measuring": ([], LONG),
    "done": ([], SHORT),
    "warm-up, --torch": (["--torch"], NEVER_ENDS),
    "measuring, --torch": (["--torch"], LONG),
    "done, --torch": (["--torch"], SHORT),
}
MODEL = {"noise": 0, "rules": [{"name": "*", "duration_us": 0.01}]}  # of the simulated GPU
FEW_EVENTS = {"warmup": 3, "repeat": 1, "patterns": [{"match": "*gemm"}]}
STEPS_BEFORE = {"captured": 20_000}  # compiled, captured, in their state
STEPS_OF_A_TURN = {"captured": 1000}  # a step of it takes as long as ten launches
ENDLESS = 1 << 40


def program(way):
    """The program in one state: at each line of its input it makes a turn and prints the medians of its steps in microseconds; at the
    input's end it prints its memory in KiB."""
    sys.path.insert(0, str(PROGRAMS))
    import gpt
    made = gpt.example.sequences
    before, of_a_turn = STEPS_BEFORE.get(way, 300), STEPS_OF_A_TURN.get(way, 20)
    batch, marks, steps = [], [], 0

    def sequences(*args):
        nonlocal steps
        if not batch:
            batch.append(made(*args))
        marks.append((time.perf_counter(), time.process_time()))
        steps += 1
        if steps > before and (steps - before) % (of_a_turn + 1) == 1:
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
        (self.folder / "model.json").write_text(json.dumps(MODEL))
        environment = {**os.environ, **settings, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1",
                       "SIMGPU_MODEL": str(self.folder / "model.json"),
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

    def wait(self):
        """It has made the steps before."""
        self._read()

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


def measure(options, way):
    states = [state for state in STATES if not options.only or state in ("without", "again", *options.only)]
    rounds = {state: [] for state in states}
    if way == "compiled":  # what is compiled is in the cache then: a process that compiles is larger and slower
        with tempfile.TemporaryDirectory() as folder:
            first = Process(options, way, "without", folder)
            first.wait()
            first.end()
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            processes = []
            for number, state in enumerate(states):
                (pathlib.Path(folder) / str(number)).mkdir()
                processes.append(Process(options, way, state, pathlib.Path(folder) / str(number)))
            for process in processes:
                process.wait()
            for turn in range(options.turns):
                for process in processes if turn % 2 else processes[::-1]:
                    process.turn()
            memories = [process.end() for process in processes]
        for process, memory in zip(processes, memories):
            ratios = [statistics.median(own[kind] / other[kind] for own, other in zip(process.turns, processes[0].turns))
                      for kind in (0, 1)]
            lengths = [statistics.median(own[kind] for own in process.turns) for kind in (0, 1)]
            rounds[process.state].append((lengths, ratios, (memory - memories[0]) / 1024))
    for state, found in rounds.items():
        words = ""
        for kind in (0, 1):
            ratios = [each[1][kind] for each in found]
            length = statistics.median(each[0][kind] for each in found)
            words += " %6.0f us %6.3f (%5.3f to %5.3f)" % (length, statistics.median(ratios), min(ratios), max(ratios))
        print(f"{way:9} {state:18}{words} {max(each[2] for each in found):6.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required="--program" not in sys.argv)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=REPOSITORY / "build/dev")
    parser.add_argument("--simulated-gpu", help="its folder of libraries; of the build if not given")
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=50)
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
