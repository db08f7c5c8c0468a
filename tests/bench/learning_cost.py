#!/usr/bin/env python3
"""Measures what learning operators costs: the step of the warm-up in which it is done, and the steps beside it.

    learning_cost.py --build DIR --python INTERPRETER [--rounds N] [PROGRAM]...

Each round is a process of one of tests/real_programs/programs, as in "gpt.py fused", on the simulated GPU, under the library
with --torch; a step's time is the processor time of all its threads.  The table says of each program the median of the steps
before the one in which operators are learned, that step, and their ratio; medians of all rounds.
"""

import argparse
import os
import pathlib
import runpy
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "real_programs/programs"
WARMUP = 24  # iterations, of which the last of the first half is learned from


def run_program(command):
    """In the process that is measured: prints a line for each step, its microseconds and whether operators were learned in it."""
    sys.path.insert(0, str(PROGRAMS))
    import steps
    import torch

    times, learned = [], []

    def begins():
        # The mode is put on this thread's stack between two steps.
        times.append(time.process_time_ns())
        learned.append(torch._C._len_torch_dispatch_stack() > 0)

    steps.begins = begins
    script, *arguments = command.split()
    sys.argv = [script, *arguments, "--steps", str(WARMUP)]
    runpy.run_path(str(PROGRAMS / script), run_name="__main__")
    for before, after, is_learned in zip(times, times[1:], learned):
        print(f"step {(after - before) / 1000:.1f} {int(is_learned)}")


def measure(options, program):
    """(microseconds of a step before, of the one with learning) of one process."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SIMGPU_", "INLINE_PROF_"))}
    with tempfile.TemporaryDirectory() as folder:
        environment.update(LD_LIBRARY_PATH=f"{options.build}/simgpu/lib:{options.toolkit}", INLINE_PROF_WARMUP=str(WARMUP),
                           INLINE_PROF_OUT=f"{folder}/prof.json")
        done = subprocess.run(
            [options.build / "libinject/run/prof-run", "--torch", "--", options.python, __file__, "--run", program],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("step ")]
    at = next((i for i, row in enumerate(rows) if row[2] == "1"), None)
    if done.returncode != 0 or at is None:
        sys.exit(f"learning_cost.py: {program}: no step with learning; {done.stderr.strip()[-500:]}")
    before = statistics.median(float(row[1]) for row in rows[at - 5:at])
    return before, float(rows[at][1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/dev"))
    parser.add_argument("--python", default=sys.executable, help="an interpreter with PyTorch 2")
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs="*", default=["gpt.py fused", "gpt.py foreach", "transformers_models.py trainer_bert",
                                                       "resnet.py", "lightning_loop.py"])
    options = parser.parse_args()
    if options.run:
        return run_program(options.run)
    options.build = options.build.resolve()
    print(f"{'program':36} {'step':>8}  {'learning':>8}  ratio")
    for program in options.program:
        rounds = [measure(options, program) for _ in range(options.rounds)]
        before, learning = (statistics.median(column) for column in zip(*rounds))
        ratio = statistics.median(learning / before for before, learning in rounds)
        print(f"{program:36} {before / 1000:5.1f} ms  {learning / 1000:5.1f} ms  {ratio:5.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
