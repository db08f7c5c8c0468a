#!/usr/bin/env python3
"""What the injected library costs a training step of PyTorch: programs with it and without, side by side.

    step_cost.py --python PYTHON --build BUILD [--rounds N] [--steps N] [WAY]...

PYTHON is what `scripts/real_programs.sh --environment` prints; WAYs are those of tests/real_programs/programs/gpt.py (fused,
compiled, captured). Each round runs the program once in each state, one after the other; a line gives the state's median step over
that without the library, as the median of the rounds' ratios and their range, and the largest resident memory that was added. The
simulated driver is quicker than a real one and the program waits for no GPU, so that a step is the launching thread's time, and the
ratios are upper bounds.
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
STATES = {  # name -> (arguments of prof-run, None: without it; environment)
    "without": (None, {}),
    "warm-up": ([], NEVER_ENDS),
    "measuring": ([], {"INLINE_PROF_REPEAT": "300"}),
    "done": ([], {"INLINE_PROF_OVERHEAD": "0"}),
    "warm-up, --torch": (["--torch"], NEVER_ENDS),
    "done, --torch": (["--torch"], {"INLINE_PROF_OVERHEAD": "0"}),
}
FEW_EVENTS = {"warmup": 3, "repeat": 1, "patterns": [{"match": "*gemm"}]}


def step(way, steps):
    """Runs the program, and prints the median of its later steps in microseconds, and its memory in KiB."""
    sys.path.insert(0, str(PROGRAMS))
    import gpt
    begins = []
    original = gpt.example.sequences

    def sequences(*args):
        begins.append(time.perf_counter())
        return original(*args)

    gpt.example.sequences = sequences
    gpt.WAYS[way](steps)
    lengths = [(later - first) * 1e6 for first, later in zip(begins, begins[1:])][steps // 2:]
    print(json.dumps([statistics.median(lengths), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measured(options, way, state):
    arguments, settings = STATES[state]
    command = [options.python, __file__, "--program", way, "--steps", str(options.steps)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **settings, "TORCHINDUCTOR_COMPILE_THREADS": "1",
                       "TORCHINDUCTOR_CACHE_DIR": str(REPOSITORY / "build/step_cost/inductor"),
                       "TRITON_CACHE_DIR": str(REPOSITORY / "build/step_cost/triton"),
                       "LD_LIBRARY_PATH": f"{options.build / 'simgpu/lib'}:{options.toolkit}"}
        if arguments is not None:
            environment["INLINE_PROF_OUT"] = os.path.join(folder, "prof.json")
            command = [str(options.build / "libinject/run/prof-run"), *arguments, "--", *command]
            if state.startswith("done"):
                schedule = pathlib.Path(folder, "schedule.json")
                schedule.write_text(json.dumps(FEW_EVENTS))
                environment["INLINE_PROF_SCHEDULE"] = str(schedule)
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"step_cost.py: {way}, {state}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        if arguments is not None:
            with open(environment["INLINE_PROF_OUT"], encoding="utf-8") as file:
                profile = json.load(file)
            samples = sum(len(event["measured_times_ms"]) for event in profile["events"])
            is_as_meant = {"w": samples == 0, "m": samples > options.steps // 4,
                           "d": profile["complete"] and 0 < samples < options.steps // 4}[state[0]]
            if not is_as_meant:
                sys.exit(f"step_cost.py: {way}, {state}: {samples} samples in {options.steps} steps; is the program long enough?")
        return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required="--program" not in sys.argv)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=REPOSITORY / "build/dev")
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("way", nargs="*", default=["fused", "compiled", "captured"])
    options = parser.parse_args()
    if options.program:
        return step(options.program, options.steps)
    print(f"{'':10} {'':18} {'step':>8} {'ratio':>7} {'lowest':>7} {'highest':>7} {'MiB more':>8}", flush=True)
    for way in options.way:
        # A graph of the whole step is an iteration where the optimizer is known to be in it.
        states = [state for state in STATES if way != "captured" or state == "without" or state.endswith("--torch")]
        rounds = [{state: measured(options, way, state) for state in states} for _ in range(options.rounds)]
        for state in states:
            ratios = [each[state][0] / each["without"][0] for each in rounds]
            length = statistics.median(each[state][0] for each in rounds)
            more = statistics.median(each[state][1] - each["without"][1] for each in rounds) / 1024
            print(f"{way:10} {state:18} {length:5.0f} us {statistics.median(ratios):7.3f} {min(ratios):7.3f} {max(ratios):7.3f} "
                  f"{more:8.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
