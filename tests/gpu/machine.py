"""The parts machine (claim 30) and build of gpu_check.py."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from host_program import Skip

QUERY = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,pstate,mig.mode.current,persistence_mode"


def output_of(command, timeout_s=8):
    """Returns (status, text) of a command of which nothing depends."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout


def note(name, command):
    status, text = output_of(command)
    pathlib.Path(name).write_text(text)
    return status, (text.strip().splitlines() or ["(nothing said)"])[-1]


def part_machine(check):
    for tool in ("nvidia-smi", "nvcc", "cmake", "g++"):
        if shutil.which(tool) is None:
            check.say("SKIP", f"no {tool} on the path")
    note("uname.txt", ["uname", "-srm"])
    note("glibc.txt", ["ldd", "--version"])
    note("nvcc.txt", ["nvcc", "--version"])
    note("torch.txt", [sys.executable, "-c",
                       "import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())"])
    pathlib.Path("environment.txt").write_text("".join(
        f"{name}={value}\n" for name, value in sorted(os.environ.items()) if re.match("CUDA|NVIDIA|NCCL|LD_", name)))
    if check.taken_out:
        check.say("FIGURE", f"taken out of the environment, for every part: {' '.join(check.taken_out)}")
    if os.environ.get("LD_PRELOAD"):
        check.say("FIGURE", f"LD_PRELOAD is {os.environ['LD_PRELOAD']}, in every part")
    with check.claim("30"):
        if shutil.which("nvidia-smi") is None:
            raise Skip("no nvidia-smi")
        status, last = note("nvidia_smi.txt", ["nvidia-smi", "-q"])
        if status != 0:
            raise Skip(f"nvidia-smi: {last}")
        check.say("FIGURE", f"30: {note('gpu.csv', ['nvidia-smi', '--format=csv', f'--query-gpu={QUERY}'])[1]}")
        if output_of(["pgrep", "-x", "nvidia-cuda-mps"])[0] == 0:
            check.say("FIGURE", "30: an MPS daemon runs")
        else:
            check.say("SKIP", "30: no MPS daemon runs, so that MPS cannot be recognised")
        if "Enabled" not in output_of(["nvidia-smi", "--query-gpu=mig.mode.current", "--format=csv,noheader"])[1]:
            check.say("SKIP", "30: the GPU is not cut up, so that MIG cannot be recognised")


def wheel_file(pattern):
    """Returns a file of NVIDIA's Python packages, for toolkits that came without it; None if there is none."""
    try:
        import nvidia
    except ImportError:
        return None
    return next((file for folder in nvidia.__path__ for file in sorted(pathlib.Path(folder).rglob(pattern))), None)


def wheel_folders():
    """Returns the folders of the libraries that come with PyTorch, for programs that load them by name."""
    files = map(wheel_file, ("libcudnn.so.*", "libnccl.so.*", "libcublas.so.*"))
    return [str(file.parent) for file in files if file]


def toolkit_has(header):
    root = pathlib.Path(os.environ.get("CUDAToolkit_ROOT", "/usr/local/cuda"))
    return any((folder / header).exists() for folder in (root / "include", root / "extras/CUPTI/include", pathlib.Path("/usr/include")))


def options_for_wheels():
    """Returns CMake options for what the toolkit came without and PyTorch's packages have; extends the compilers' folders."""
    options = []
    for header, libraries in (("cublas_v2.h", ("cublas", "cublasLt")), ("cupti.h", ("cupti",)), ("nvtx3/nvToolsExt.h", ())):
        file = None if toolkit_has(header) else wheel_file(header)
        if file is None:
            continue
        folder = str(file)[:-len(header) - 1]
        for name in ("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"):
            os.environ[name] = ":".join(filter(None, [folder, os.environ.get(name)]))
        options += [f"-DCUDA_{name}_LIBRARY={wheel_file(f'lib{name}.so.*')}" for name in libraries]
        if header == "cupti.h":
            options += [f"-DCUDAToolkit_CUPTI_INCLUDE_DIR={folder}", f"-DINLINE_PROF_CUPTI_INCLUDE_DIR={folder}"]
    for name in ("cudnn", "nccl"):
        header, library = wheel_file(f"{name}.h"), wheel_file(f"lib{name}.so.*")
        if not toolkit_has(f"{name}.h") and header and library:
            options += [f"-DINLINE_PROF_{name.upper()}_INCLUDE_DIR={header.parent}", f"-DINLINE_PROF_{name.upper()}_LIBRARY={library}"]
    return options


def logged(check, log, command):
    """Runs a command in the source folder; returns its status and the text of its log."""
    file = check.folder / log
    with file.open("w") as output:
        status = subprocess.run([str(word) for word in command], cwd=check.source, stdout=output, stderr=subprocess.STDOUT,
                                check=False).returncode
    return status, file.read_text(errors="replace")


def first_error(text):
    return next((line for line in text.splitlines() if re.search("error|Error", line)), (text.splitlines() or [""])[-1])


def missing_library(text):
    """Returns the library that a failed configuration names as missing."""
    found = re.search(r'"(?:Find)?(Eigen3|fmt|nlohmann_json|CLI11|simdjson|GTest)|Could NOT find (GTest)', text)
    return next(filter(None, found.groups())) if found else ""


def part_build(check):
    started = time.monotonic()
    for tool in ("cmake", "c++"):
        if shutil.which(tool) is None:
            return check.say("SKIP", f"no {tool} on the path")
    if shutil.which(os.environ.get("CUDACXX", "nvcc")) is None and not os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
        return check.say("SKIP", "no nvcc, on the path or in /usr/local/cuda/bin")
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DINLINE_PROF_GPU_TESTS=ON", "-DINLINE_PROF_BENCH=OFF",
               "-DCMAKE_CUDA_ARCHITECTURES=native", *options_for_wheels()]
    if (check.source / "third_party_offline/usr").is_dir():
        options.append(f"-DCMAKE_PREFIX_PATH={check.source}/third_party_offline/usr")
    if shutil.which("ninja"):  # else the makefiles do
        options += ["-G", "Ninja"]
    status, text = logged(check, "configure.log", ["cmake", "-B", check.build, *options])
    if status != 0:
        missing = missing_library(text)
        why = f"{missing} is missing, scripts/offline_deps.sh collects what is needed: " if missing else ""
        words = re.search(r"CMake Error.*(?:\n.*){0,2}", text)
        return check.say("FAIL", f"configure: {why}{' '.join(words.group().split()) if words else first_error(text)}")
    # In the order of importance.  Only Ninja knows folders as targets.
    for folder in ("libinject", "examples", "analyzer") if check.call == 3 else ("libinject", "tests/gpu", "simgpu", "examples", "analyzer"):
        if not (check.build / folder).is_dir():
            continue
        target = "simgpu" if folder == "simgpu" else f"{folder}/all"  # the libraries without their tests
        status, text = logged(check, f"build_{folder.replace('/', '_')}.log", [
            "cmake", "--build", check.build, "--parallel", os.cpu_count(),
            *(["--target", target] if (check.build / "build.ninja").exists() else [])])
        if status == 0:
            check.say("PASS", f"{folder} built after {time.monotonic() - started:.0f} s")
        else:
            check.say("FAIL", f"{folder}: {first_error(text)}")
    note("ldd_library.txt", ["ldd", str(check.library)])
