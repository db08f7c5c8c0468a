#!/usr/bin/env python3
"""Records the launches of a program into a file of tests/data/recordings, whose README.md describes it.

    cmake build/dev -DSIMGPU_PROGRAMS=$(...)      as scripts/real_programs.sh does
    cmake --build build/dev --target simgpu launch_recorder
    tests/recordings/record.py --python $(scripts/real_programs.sh --environment) --build build/dev --steps 60 \\
      -o tests/data/recordings/gpt_fused.txt tests/real_programs/programs/gpt.py fused

The program takes `--steps` as its last argument and says where each begins (tests/real_programs/programs/steps.py).  It runs on
the simulated GPU, with the recorder preloaded.  Exit status: 0 it was recorded, 1 it failed.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

LARGEST_ZERO = 16
LONGEST_NAME = 64  # of a kernel; more tells them apart no better


def environment(options, folder):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SIMGPU_", "INLINE_PROF_", "LD_"))}
    cache = options.build / "recordings_cache"
    libraries = [f"{options.build}/simgpu/lib", str(options.toolkit)]
    if options.cuda12:
        libraries.insert(1, f"{options.cuda12}/nvidia/cuda_nvrtc/lib")
        kept.update(PYTHONPATH=str(options.cuda12), CUPY_CACHE_DIR=str(cache / "cupy"), CUDA_PATH=str(options.toolkit.parent))
    return {**kept, "LD_LIBRARY_PATH": ":".join(libraries),
            "LD_PRELOAD": str(options.build / "tests/recordings/liblaunch_recorder.so"),
            "LAUNCH_RECORDER_OUT": str(folder / "calls"), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TRITON_CACHE_DIR": str(cache / "triton")}


def run(argv, surroundings, ranks, recorded):
    """All ranks read zeros, one is recorded."""
    if ranks > 1:
        surroundings.update(SIMGPU_DEVICES=str(ranks), MASTER_ADDR="localhost", MASTER_PORT="29571", WORLD_SIZE=str(ranks))
    others = {name: value for name, value in surroundings.items() if name != "LAUNCH_RECORDER_OUT"}
    started = {rank: subprocess.Popen(argv, env={**(surroundings if rank == recorded else others), "RANK": str(rank),
                                                 "LOCAL_RANK": str(rank)},
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if rank == recorded
                                      else subprocess.DEVNULL, text=True) for rank in range(ranks)}
    errors = started[recorded].communicate()[1]
    for process in started.values():
        process.wait()
    return started[recorded].returncode, errors


def shortened(calls):
    """Words, with copies of what came before: <BACK:COUNT."""
    shortest, tried = 4, 24
    places = collections.defaultdict(list)
    words, at = [], 0
    while at < len(calls):
        best = (0, 0)
        for place in reversed(places[tuple(calls[at:at + shortest])][-tried:]):
            length = 0
            while at + length < len(calls) and calls[place + length] == calls[at + length]:
                length += 1
            best = max(best, (length, place))
        length = best[0] if best[0] >= shortest else 1
        words.append(calls[at] if length == 1 else f"<{at - best[1]}:{length}")
        for i in range(at, at + length):
            places[tuple(calls[i:i + shortest])].append(i)
        at += length
    return words


def wrapped(words, width=118):
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line += (" " if line else "") + word
    yield line


def encoded(command, steps, lines):
    kernels, graphs, calls = [], [], []
    for line in lines:
        if line.startswith("kernel "):
            kernels.append(line.split(" ", 2)[2][:LONGEST_NAME])
        elif line.startswith("graph "):
            graphs.append(line.split()[2])
        else:
            calls.append(line)
    while calls and calls[-1] == "|":  # behind the last step
        calls.pop()
    head = [f"# {command}, {steps} steps"]
    head += [f"kernel {name}" for name in kernels] + [f"graph {kernels_in_it}" for kernels_in_it in graphs]
    return "\n".join([*head, "calls", *wrapped(shortened(calls))]) + "\n", calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="the interpreter of the environment with the programs")
    parser.add_argument("--build", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--toolkit", type=pathlib.Path, default="/usr/local/cuda/lib64",
                        help="libraries that are loaded, but not called")
    parser.add_argument("--cuda12", type=pathlib.Path, help="the folder of packages for CUDA 12; for cupy alone")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--recorded-rank", type=int, default=0)
    parser.add_argument("--largest-zero", type=int, default=LARGEST_ZERO, help="bytes of the largest number that is read as 0")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        argv = [options.python, str(options.program), *options.arguments, "--steps", str(options.steps)]
        surroundings = {**environment(options, folder), "LAUNCH_RECORDER_LARGEST_ZERO": str(options.largest_zero)}
        status, errors = run(argv, surroundings, options.ranks, options.recorded_rank)
        lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    if status != 0 or not lines:
        print(f"FAILED: exit status {status}, {len(lines)} calls: {(errors.strip().splitlines() or ['nothing'])[-1]}")
        return 1
    rank = f", rank {options.recorded_rank} of {options.ranks}" if options.ranks > 1 else ""
    text, calls = encoded(" ".join([options.program.name, *options.arguments]) + rank, options.steps, lines)
    options.output.write_text(text)
    print(f"{sum(call[0] in 'kg' for call in calls)} launches {calls.count('|')} steps {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
