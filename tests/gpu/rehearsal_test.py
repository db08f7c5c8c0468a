#!/usr/bin/env python3
"""Runs parts of scripts/gpu_check.sh, as the first GPU will meet them, on the simulated GPU.

    rehearsal_test.py --list
    rehearsal_test.py BUILD NAME

Each row of the table has the parts, the variables, and what must be said, in any order; a word of FORBIDDEN must not.
REHEARSAL_OLDER_DRIVER is the folder of a driver without cuFuncGetName, REHEARSAL_PYTORCH an interpreter that has PyTorch.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import gpu_check

HERE = pathlib.Path(__file__).resolve().parent
MODEL = {"SIMGPU_MODEL": str(HERE / "training_model.json")}
EXAMPLES = {"SIMGPU_MODEL": str(gpu_check.SOURCE / "examples/graph/simgpu_model.json")}
EVERY_PART = [part for part in gpu_check.PARTS if part != "build"]
NOTHING_BUT_SKIPS = ["FAIL  ", "PASS  ", "FIGURE"]
ALL_GIVE = r"PASS +libraries: 42{}: {}: {} calls .*, all give their operations"

# Name: parts, variables, expected expressions, forbidden ones.
TABLE = {
    "Census": (["census"], {}, [
        # The static runtime needs more of a driver than the simulated one has.
        "SKIP +census: 1, .*static: ", "SKIP +census: 5, .*static_graph: ",
        r"PASS +census: 2, .*shared: .*CUPTI \(1403, 0\)", r"PASS +census: 5, .*shared_graph: .*CUPTI \(203, 800\)",
        r"PASS +census: 6, .*driver: .*CUPTI \(160, 0\)", "PASS +census: 3, .*cublas: ", "PASS +census: 4, .*cublaslt: ",
        "PASS +census: 9, .*cudnn: ", "PASS +census: 8, .*nccl: ", "PASS +census: 56, .*thrust: "], ["FAIL  "]),
    "Bias": (["bias"], MODEL, ["PASS +bias: 14: ", "PASS +bias: 16: ", "FIGURE +bias: 12, 58: large pair around 1000 us: minus CUPTI [0-9]",
                               "FIGURE +bias: 13: busy pair around an empty kernel [0-9.]+ us, minus CUPTI [0-9]"], ["FAIL  "]),
    "Backends": (["backends"], {"SIMGPU_MODEL": str(HERE / "paced_loop_model.json")}, [
        "PASS +backends: 17: ", "PASS +backends: 27: ", "PASS +backends: 34: ", "PASS +backends: 35: ",
        "SKIP +backends: 18: .*does not overlap them"], ["FAIL  "]),
    "BackendsBesideAnotherTool": (["backends"], {"SIMGPU_MODEL": str(HERE / "paced_loop_model.json"),
                                                 "SIMGPU_FAIL": "cuptiSubscribe:39,cuptiSubscribe_v2:39"}, [
        "SKIP +backends: 17: .*MULTIPLE_SUBSCRIBERS", "SKIP +backends: 27: .*another one has it", "SKIP +backends: 34: ",
        "SKIP +backends: 35: "], ["FAIL  "]),
    "Graphs": (["graphs"], {"SIMGPU_MODEL": str(HERE / "graph_rehearsal_model.json")}, [
        r"PASS +graphs: 48: a node in a chain .* 2 us [+]0.30, .* 1000 us [+]0.30",
        r"PASS +graphs: 48: a node in a branch .* 2 us [+]0.30, .* 1000 us [+]0.30",
        "PASS +graphs: 26: a chain of 400 nodes", "PASS +graphs: 26: a graph whose", "PASS +graphs: 49: other events",
        "PASS +graphs: 23: 10 of 10 timed clones", "FIGURE +graphs: 24: clone and exec",
        "PASS +graphs: 25: a clone keeps .* destroyed 0 times .*, 1 after all"], ["FAIL  "]),
    # Every kernel takes 2 us in the usual model, whatever its name says.
    "GraphsThatAreTooShort": (["graphs"], {}, ["FAIL +graphs: 48: a node in a chain"], []),
    "ResultsAndRate": (["results", "rate"], {}, [
        "PASS +results: 50: results with the injected library", "PASS +results: 50: results with backend cupti",
        "PASS +results: 50: results after a device reset", "SKIP +results: 51: ", "FIGURE +rate: 19, .*round 3: bare [0-9]",
        "FIGURE +rate: 29: 3 kernels take 1.000 times as long"], ["FAIL  "]),
    "Overhead": (["overhead"], {}, [
        f"FIGURE +overhead: 52: {work}, {how}" for work in ("launch", "gpu", "graph")
        for how in ("measuring within the budget, toggled: .* 1 patterns", "a pair in every iteration", "nothing beside nothing",
                    "measured all it wanted", "NVTX ranges", "backend cupti")], ["FAIL  "]),
    "Training": (["training"], MODEL, [
        "PASS +training: 40: loop: ", "PASS +training: 40: dlrm: ", "PASS +training: 40: pytorch: ", "PASS +training: 41: 1 %: ",
        *(f"PASS +training: 45: {loop}{tool}: " for loop in ("loop", "pytorch") for tool in ("", ", a tool in front", ", Nsight Systems in front"))],
        ["FAIL  "]),
    # Too short for its iteration to be found.
    "TrainingThatIsTooShort": (["training"], {**MODEL, "LOOP_STEPS": "60"}, [
        "FAIL +training: 40: loop: no iteration was found", "SKIP +training: 41: 1 %: ", "PASS +training: 45: loop: "], []),
    "Demo": (["demo"], {}, ["PASS +demo: 32: the example alone", "FIGURE +demo: 15, 21: complete True", "PASS +demo: 31: report: ",
                            "PASS +demo: 32: without macros: "], ["FAIL  "]),
    "Examples": (["examples"], EXAMPLES, ["PASS +examples: 59: dlrm: ", "PASS +examples: 60: dlrm: ",
                                          "PASS +examples: 13: graph: with --event-bias chain, "], []),
    # Without its empty kernel the calibration knows empty pairs alone.
    "ExamplesThatReadTooLong": (["examples"], {**EXAMPLES, "SIMGPU_FAIL": "cuModuleLoadData:200:count=1"}, [
        "FAIL +examples: 59: graph: ", "SKIP +examples: 13: graph: no chain"], []),
    "Measure": (["measure", "--at-most", "150"], {}, [
        "FIGURE +measure: 53: in 70 s [1-9][0-9]* rows in [1-9][0-9]* tables", "SKIP +measure: 54: gemm: .* rows, but a fit of",
        "FIGURE +measure: 54: memory on h200-sxm-141gb: ", "FIGURE +measure: 55: prof.json: [1-9][0-9]* shapes alone"], ["FAIL  "]),
    # With two GPUs, so that NCCL launches.
    "Libraries": (["libraries"], {"SIMGPU_DEVICES": "2"}, [
        "PASS +libraries: 44: ", "PASS +libraries: 38: ", ALL_GIVE.format("", "cublas", 15), ALL_GIVE.format("", "cudnn", 16),
        ALL_GIVE.format(", 43", "nccl", 7), ALL_GIVE.format("", "conv", 2), "SKIP +libraries: 37: simulated GPU",
        "SKIP +libraries: 46: the driver knows CUDA 13.0", "PASS +libraries: 39: all 15 products", "PASS +libraries: 39: all 21 convolutions",
        "FIGURE +libraries: 39: 31 of 31 calls launch as many", "PASS +libraries: 47: 4 ncclAllReduce", "SKIP +libraries: 47: weights",
        "PASS +libraries: 47: the early rank"], ["FAIL  "]),
    "LibrariesOnOneRank": (["libraries"], {"SIMGPU_DEVICES": "1", "SIMGPU_FAIL": "cublasSgemm:14,cublasSgemmBatched:14"}, [
        "FAIL +libraries: 42: cublas: sgemm: the library refused it: cublasSgemm_v2 answers ", ALL_GIVE.format("", "cublas", 12),
        "libraries: 42, 43: nccl: 7 calls",
        "SKIP +libraries: 47: 1 GPU here, 2 are needed"], []),
    "LibrariesThatFail": (["libraries"], {
        "SIMGPU_DEVICES": "2", "LIBRARY_CALLS": "with another shape",
        "SIMGPU_FAIL": "cudnnConvolutionForward:3000:after=9,ncclAllReduce:3:after=50,cudnnBackendGetAttribute:2000"}, [
            "FAIL +libraries: 42: cublas: 15 calls .*: sgemm: m 48, expected 47; n 64, expected 65",
            "FAIL +libraries: 37: exit status 1 .*cudnnConvolutionForward", "FAIL +libraries: 47: exit status 1.*ncclAllReduce",
            "FAIL +libraries: 38, 44: forward, 1 groups: cudnnBackendGetAttribute answers"], []),
    "LibrariesOfAnOlderDriver": (["libraries"], {"SIMGPU_DRIVER_VERSION": "12020", "SIMGPU_RUNTIME_VERSION": "12020"}, [
        "PASS +libraries: 46: the driver knows CUDA 12.2: [0-9]+ kernels of libraries, 0 without a name"], []),
    "PyTorch": (["torch", "libraries"], {"SIMGPU_DEVICES": "2"}, [
        r"PASS +torch: 7, 8, .*torch: .*CUPTI \([1-9][0-9]+, 40\)", "PASS +torch: 57, .*torch_compile: ",
        ALL_GIVE.format("", "torch", 7)], ["FAIL  "]),
    "WithoutAGpu": (EVERY_PART, {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": ""}, [f"SKIP +{part}: " for part in EVERY_PART],
                    NOTHING_BUT_SKIPS),
    "WithoutADevice": (EVERY_PART, {"SIMGPU_FAIL": "cuInit:100"}, [f"SKIP +{part}: " for part in EVERY_PART], NOTHING_BUT_SKIPS),
    "WithoutMemory": (["demo", "examples", "measure"], {"SIMGPU_MODEL": str(HERE / "small_gpu_model.json")}, [
        "SKIP +demo: .*out of memory", "SKIP +examples: 59, 60: dlrm: .*out of memory", "SKIP +measure: 53, .*too little memory"],
        NOTHING_BUT_SKIPS),
    "AnOlderDriverSaysLess": (["machine"], {"NVIDIA_SMI": "echo 535.104.05"}, ["SKIP +machine: 30: the GPU is not cut up"], ["FAIL  "]),
    "ABrokenDriver": (["machine"], {"NVIDIA_SMI": "echo 'no device was found'; exit 6"}, [
        "SKIP +machine: 30: nvidia-smi: no device was found"], ["FAIL  "]),
}


def script(folder, name, commands):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/bash\n{commands}\n")
    file.chmod(0o755)


def rehearse(build, name):
    words, variables, expected, forbidden = TABLE[name]
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        libraries = f"{build}/simgpu/lib"
        needed = {"LibrariesOfAnOlderDriver": "REHEARSAL_OLDER_DRIVER", "PyTorch": "REHEARSAL_PYTORCH"}.get(name)
        if needed and not os.environ.get(needed):
            print(f"skipped: no {needed} here")
            return 77
        if name == "LibrariesOfAnOlderDriver":
            libraries = f"{os.environ[needed]}:{libraries}"
        stand_ins = {"STAND_IN_NVTX_TOOL": str(build / "tests/gpu/libgpu_nvtx_tool.so")}
        if "Without" not in name:
            stand_ins |= {"PATH": f"{HERE}/stand_ins:{os.environ['PATH']}", "STAND_IN_TORCH": str(HERE / "loops.py")}
        if name == "PyTorch":
            script(folder, "bin/python3", f'exec {os.environ[needed]} "$@"')
        if "NVIDIA_SMI" in variables:
            script(folder, "bin/nvidia-smi", variables["NVIDIA_SMI"])
        if (folder / "bin").exists():
            stand_ins["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
        if "LIBRARY_CALLS" in variables:
            known = (HERE / "library_calls.json").read_text()
            (folder / "calls.json").write_text(known.replace('"m": 48, "n": 64', '"m": 47, "n": 65'))
            variables = {**variables, "LIBRARY_CALLS": str(folder / "calls.json")}
        arguments, parts = [], iter(words)
        for word in parts:
            arguments += [word, next(parts)] if word.startswith("--") else ["--only", word]
        done = subprocess.run([gpu_check.SOURCE / "scripts/gpu_check.sh", "--build-dir", build, "--results", folder / "results", *arguments],
                              env={**os.environ, "GPU_CHECK_REHEARSAL": "1", "LD_LIBRARY_PATH": libraries, "OUT": str(folder / "out"),
                                   **stand_ins, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        lines = done.stdout.splitlines()
        faults = [f"nothing says {expression}" for expression in [*expected, r"gpu_results.tar.gz: \d+ MiB"]
                  if not any(re.search(expression, line) for line in lines)]
        faults += [f"forbidden: {line}" for line in lines if any(line.startswith(word) for word in forbidden)]
        if name == "WithoutAGpu":
            said = {claim for line in lines for claim in gpu_check.claims_of_line(line)}
            faults += [f"no part speaks of claim {claim}" for claim in sorted(set(gpu_check.claims()) - said)]
        print("\n".join(faults))
        return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(TABLE))
        sys.exit(0)
    sys.exit(rehearse(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
