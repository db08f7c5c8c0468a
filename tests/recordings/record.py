#!/usr/bin/env python3
"""Records launch sequences of real programs into tests/data/recordings, whose README.md describes the files.

    cmake build/dev -DSIMGPU_PROGRAMS=$(...)      as scripts/real_programs.sh does
    cmake --build build/dev --target simgpu launch_recorder
    tests/recordings/record.py --python $(scripts/real_programs.sh --environment) --build build/dev [NAME]...

Each program runs once on the simulated GPU, with the recorder preloaded.  Names that are given are patterns of the
shell; without any, all are recorded.  Exit status: 0 all were recorded, 1 a program failed.
"""

import argparse
import collections
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
REAL = "real_programs/programs/"
LOOPS = "recordings/loops.py"
LOOPS_OF_FRAMEWORKS = "recordings/frameworks.py"

# Name: file, arguments, steps.
TABLE = {
    "gpt_fused": (REAL + "gpt.py", "fused", 60),
    "gpt_fused_12_layers": (REAL + "gpt.py", "fused --layers 12 --batch 2", 45),
    "gpt_fused_1_layer": (REAL + "gpt.py", "fused --layers 1 --batch 32", 120),
    "gpt_fused_16_layers": (REAL + "gpt.py", "fused --layers 16 --batch 4", 45),
    "gpt_foreach": (REAL + "gpt.py", "foreach", 60),
    "gpt_foreach_8_layers": (REAL + "gpt.py", "foreach --layers 8", 45),
    "gpt_scaled": (REAL + "gpt.py", "scaled", 60),
    "gpt_scaled_2_layers": (REAL + "gpt.py", "scaled --layers 2", 60),
    "gpt_accumulated_4": (REAL + "gpt.py", "accumulated", 60),
    "gpt_accumulated_16": (REAL + "gpt.py", "accumulated --layers 1 --accumulate 16", 60),
    "gpt_accumulated_2_deep": (REAL + "gpt.py", "accumulated --layers 10 --accumulate 2", 45),
    "gpt_checkpointed": (REAL + "gpt.py", "checkpointed", 60),
    "gpt_checkpointed_8_layers": (REAL + "gpt.py", "checkpointed --layers 8 --batch 4", 45),
    "gpt_evaluated": (REAL + "gpt.py", "evaluated", 80),
    "gpt_compiled": (REAL + "gpt.py", "compiled", 60),
    "gpt_compiled_6_layers": (REAL + "gpt.py", "compiled --layers 6", 60),
    "gpt_compiled_with_graphs": (REAL + "gpt.py", "compiled_with_graphs", 80),
    "gpt_compiled_with_graphs_2_layers": (REAL + "gpt.py", "compiled_with_graphs --layers 2", 60),
    "gpt_captured": (REAL + "gpt.py", "captured", 80),
    "gpt_graphed_callables": (REAL + "gpt.py", "graphed_callables", 80),
    "trainer_llama": (REAL + "transformers_models.py", "trainer_llama", 60),
    "trainer_llama_8_layers": (REAL + "transformers_models.py", "trainer_llama --layers 8", 50),
    "trainer_llama_accumulated": (REAL + "transformers_models.py", "trainer_llama_accumulated", 50),
    "trainer_bert": (REAL + "transformers_models.py", "trainer_bert", 60),
    "trainer_bert_6_layers": (REAL + "transformers_models.py", "trainer_bert --layers 6", 50),
    "generate_static": (REAL + "transformers_models.py", "generate_static", 80),
    "generate_static_3_layers": (REAL + "transformers_models.py", "generate_static --layers 3", 80),
    "generate_static_8_layers": (REAL + "transformers_models.py", "generate_static --layers 8", 60),
    "generate_dynamic": (REAL + "transformers_models.py", "generate_dynamic", 80),
    "generate_dynamic_6_layers": (REAL + "transformers_models.py", "generate_dynamic --layers 6", 60),
    "resnet50": (REAL + "resnet.py", "", 40),
    "resnet18": (REAL + "resnet.py", "--model resnet18 --images 16", 50),
    "lightning": (REAL + "lightning_loop.py", "", 200),
    "triton": (REAL + "triton_kernels.py", "", 400),
    "cupy": (REAL + "cupy_arrays.py", "", 300),
    "fsdp2": (REAL + "distributed.py", "fsdp2", 80),
    "switching_captured": (REAL + "switching.py", "captured", 120),
    "switching_compiled": (REAL + "switching.py", "compiled", 120),
    "switching_smaller": (REAL + "switching.py", "smaller", 120),
    "switching_epochs": (REAL + "switching.py", "epochs", 200),
    "loader": (REAL + "loader.py", "", 200),
    "loader_short": (REAL + "loader.py", "", 60),
    "dlrm": (LOOPS, "dlrm --size 8", 60),
    "dlrm_26_tables": (LOOPS, "dlrm --size 26", 50),
    "dlrm_adagrad": (LOOPS, "dlrm_adagrad --size 4", 60),
    "read_loss": (LOOPS, "read_loss --size 2", 60),
    "read_loss_6_layers": (LOOPS, "read_loss --size 6", 50),
    "on_device": (LOOPS, "on_device --size 2", 60),
    "on_device_8_layers": (LOOPS, "on_device --size 8", 50),
    "perceptron_2": (LOOPS, "perceptron --size 2", 300),
    "perceptron_6": (LOOPS, "perceptron --size 6", 200),
    "perceptron_10": (LOOPS, "perceptron --size 10", 100),
    "vit": (LOOPS, "vit --size 2", 45),
    "mobilenet": (LOOPS, "mobilenet --size 4", 45),
    "warmed_accumulation_4": (LOOPS, "warmed_accumulation --size 4", 60),
    "warmed_accumulation_16": (LOOPS, "warmed_accumulation --size 16", 60),
    "accumulation_8": (LOOPS, "accumulation --size 8", 60),
    "accumulation_16": (LOOPS, "accumulation --size 16", 60),
    "evaluated_every_5": (LOOPS, "evaluated --size 5", 80),
    "evaluated_every_12": (LOOPS, "evaluated --size 12", 80),
    "evaluated_every_20": (LOOPS, "evaluated --size 20", 100),
    "adversaries_10": (LOOPS, "adversaries --size 10", 45),
    "adversaries": (LOOPS, "adversaries --size 2", 60),
    "recurrent_12": (LOOPS, "recurrent --size 12", 60),
    "recurrent_40": (LOOPS, "recurrent --size 40", 50),
    "diffusion_10": (LOOPS, "diffusion --size 10", 60),
    "diffusion_25": (LOOPS, "diffusion --size 25", 50),
    "experts_2": (LOOPS, "experts --size 2", 80),
    "experts_5": (LOOPS, "experts --size 5", 60),
    "policy_8": (LOOPS, "policy --size 8", 60),
    "policy_12": (LOOPS, "policy --size 12", 50),
    "policy_32": (LOOPS, "policy --size 32", 50),
    "words_of_any_length": (LOOPS, "words_of_any_length --size 3", 60),
    "average": (LOOPS, "average --size 2", 80),
    "none_notebook_1": (LOOPS, "none_notebook --size 1", 400),
    "none_notebook_2": (LOOPS, "none_notebook --size 2", 400),
    "none_requests_1": (LOOPS, "none_requests --size 1", 60),
    "none_requests_2": (LOOPS, "none_requests --size 2", 60),
    "none_requests_8": (LOOPS, "none_requests --size 8", 80),
    "none_search_1": (LOOPS, "none_search --size 1", 100),
    "none_search_2": (LOOPS, "none_search --size 2", 100),
    "none_loading": (LOOPS, "none_loading --size 32", 1),
    "none_layers": (LOOPS, "none_layers --size 48", 1),
}
# Name: loop, size, ranks, the one that is recorded, steps, bytes of the largest number that is read as 0.
FRAMEWORKS = {
    "accelerate_accumulated_4": ("accelerate_accumulated", 4, 2, 0, 60, 0),
    "accelerate_accumulated_16": ("accelerate_accumulated", 16, 2, 0, 45, 0),
    "accelerate_evaluated_1": ("accelerate_evaluated", 1, 1, 0, 60, 0),
    "accelerate_evaluated_4": ("accelerate_evaluated", 4, 2, 0, 60, 0),
    "accelerate_evaluated_8": ("accelerate_evaluated", 8, 2, 0, 60, 0),
    "accelerate_evaluated_alone_4": ("accelerate_evaluated", 4, 1, 0, 60, 4),
    "accelerate_evaluated_often_2": ("accelerate_evaluated_often", 2, 2, 0, 60, 0),
    "accelerate_read_1": ("accelerate_read", 1, 1, 0, 60, 0),
    "accelerate_read_8": ("accelerate_read", 8, 1, 0, 60, 4),
    "deepspeed_zero1_2": ("deepspeed_zero1", 2, 2, 0, 60, 4),
    "deepspeed_zero1_8": ("deepspeed_zero1", 8, 2, 0, 60, 4),
    "deepspeed_zero2_1": ("deepspeed_zero2", 1, 2, 0, 60, 4),
    "deepspeed_zero2_4": ("deepspeed_zero2", 4, 2, 0, 60, 4),
    "deepspeed_zero3_2": ("deepspeed_zero3", 2, 2, 0, 60, 4),
    "deepspeed_zero3_8": ("deepspeed_zero3", 8, 2, 0, 45, 4),
    "megatron_data_1": ("megatron_data", 1, 2, 0, 60, 4),
    "megatron_data_4": ("megatron_data", 4, 2, 0, 60, 4),
    "megatron_data_sharded_2": ("megatron_data_sharded", 2, 2, 0, 60, 4),
    "megatron_evaluated_8_first": ("megatron_pipeline_evaluated", 8, 2, 0, 45, 4),
    "megatron_pipeline_4_first": ("megatron_pipeline", 4, 2, 0, 60, 4),
    "megatron_pipeline_4_last": ("megatron_pipeline", 4, 2, 1, 60, 4),
    "megatron_pipeline_8_last": ("megatron_pipeline", 8, 2, 1, 45, 4),
    "megatron_pipeline_16_first": ("megatron_pipeline", 16, 2, 0, 40, 4),
    "megatron_pipeline_evaluated": ("megatron_pipeline_evaluated", 4, 2, 1, 60, 4),
    "megatron_sharded_8": ("megatron_data_sharded", 8, 2, 0, 45, 4),
    "megatron_tensor_2": ("megatron_tensor", 2, 2, 0, 60, 4),
    "megatron_tensor_8": ("megatron_tensor", 8, 2, 1, 45, 4),
    "replicated_1": ("replicated", 1, 2, 0, 60, 4),
    "replicated_2": ("replicated", 2, 2, 0, 60, 4),
    "replicated_4": ("replicated", 4, 2, 0, 60, 4),
    "replicated_16": ("replicated", 16, 2, 0, 60, 4),
    "sharded_accumulated_4": ("sharded_accumulated", 4, 2, 0, 60, 4),
    "sharded_accumulated_16": ("sharded_accumulated", 16, 2, 0, 45, 4),
    "sharded_evaluated_6": ("sharded_evaluated", 6, 2, 0, 60, 4),
    "sharded_evaluated_20": ("sharded_evaluated", 20, 2, 0, 80, 4),
    "titan_sharded": ("titan_sharded", 1, 2, 0, 60, 4),
    "titan_sharded_accumulated_4": ("titan_sharded_accumulated", 4, 2, 0, 45, 4),
    "titan_sharded_last": ("titan_sharded", 1, 2, 1, 60, 4),
    "titan_sharded_unlogged_10": ("titan_sharded_unlogged", 10, 2, 0, 60, 4),
    "titan_tensor": ("titan_tensor", 1, 2, 0, 60, 4),
}
LARGEST_ZERO = 16
LONGEST_NAME = 64  # of a kernel; more tells them apart no better


def is_for_judging(name):
    """A third, by FNV-1a."""
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return (value >> 16) % 3 == 0


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
    parser.add_argument("--out", type=pathlib.Path, default=TESTS / "data/recordings")
    parser.add_argument("name", nargs="*", default=["*"])
    options = parser.parse_args()
    failed = 0
    table = {name: ("", file, arguments, 2 if name == "fsdp2" else 1, 0, steps, LARGEST_ZERO)
             for name, (file, arguments, steps) in TABLE.items()}
    table.update({name: ("frameworks" + ("_judged" if is_for_judging(name) else ""), LOOPS_OF_FRAMEWORKS, f"{loop} --size {size}",
                         ranks, recorded, steps, largest)
                  for name, (loop, size, ranks, recorded, steps, largest) in FRAMEWORKS.items()})
    for name, (kept_in, file, arguments, ranks, recorded, steps, largest) in table.items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in options.name):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            argv = [options.python, str(TESTS / file), *arguments.split(), "--steps", str(steps)]
            status, errors = run(argv, {**environment(options, folder), "LAUNCH_RECORDER_LARGEST_ZERO": str(largest)}, ranks,
                                 recorded)
            lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
        if status != 0 or not lines:
            failed += 1
            print(f"FAILED  {name}: exit status {status}, {len(lines)} calls: "
                  f"{(errors.strip().splitlines() or ['nothing'])[-1]}", flush=True)
            continue
        rank = f", rank {recorded} of {ranks}" if ranks > 1 else ""
        text, calls = encoded(f"{pathlib.Path(file).name} {arguments}".strip() + rank, steps, lines)
        (options.out / kept_in / f"{name}.txt").write_text(text)
        launches = sum(call[0] in "kg" for call in calls)
        print(f"{name:28} {launches:7} launches {calls.count('|'):5} steps {len(text):7} bytes", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
