# Answers prof-analyze and prof-model, one line for each of theirs, with the estimates of the package
# nvidia-matmul-heuristics.  Runs as `python3 -c TEXT MACHINE TARGET`; a crash of the package's library
# ends this process and no other.
#
# First line: "ready VERSION", "missing", or "failed WHY".  Then for each "m n k batch layout a_type
# b_type c_type compute_type" either "time SECONDS" or "none WHY".
import os
import sys

# Our own names of machines, as the package calls them.
GPUS = {
    "a100-pcie-80gb": "A100_PCIE_80GB",
    "a100-sxm4-80gb": "A100_SXM_80GB",
    "b200-sxm-180gb": "B200",
    "gb200": "GB200_NVL",
    "h100-pcie-80gb": "H100_PCIE",
    "h100-sxm5-80gb": "H100_SXM",
    "h200-sxm-141gb": "H200_SXM",
    "l40s": "L40S",
    "rtx-4090": "RTX_4090",
}
# Letters of its precisions, and of what it computes in.
TYPES = {"f64": "D", "f32": "S", "f16": "H", "bf16": "T", "f8e4m3": "Q", "f8e5m2": "R"}
COMPUTES = {"f64": "D", "f32": "S", "tf32": "F", "f16": "H"}


def said(error):
    """An exception as one line; an assertion without words by what it asserts."""
    text = " ".join(str(error).split())
    if not text and error.__traceback__ is not None:
        import traceback
        text = traceback.extract_tb(error.__traceback__)[-1].line
    return "%s: %s" % (type(error).__name__, text)


def precision_of(a_type, b_type, c_type, compute_type):
    """Letters of A, compute, C where A and B are alike; of A, B, C, compute, D for 8 bits."""
    a, b, c = TYPES.get(a_type), TYPES.get(b_type), TYPES.get(c_type)
    compute = COMPUTES.get(compute_type)
    if not (a and b and c and compute):
        return None
    if a in "QR":
        # An 8-bit result is scaled from a 16-bit C.
        return a + b + ("T" if c in "QR" else c) + compute + c
    return a + compute + c if a == b else None


def estimate(package, heuristics, line):
    m, n, k, batch, layout, *types = line.split()
    precision = precision_of(*types)
    if precision is None:
        return "none it has no letters for %s" % " x ".join(types)
    layout = package.NvMatmulHeuristicsMatmulLayout[layout + "_ROW_MAJOR"]
    problem = heuristics.makeNvMatmulHeuristicsProblem(int(m), int(n), int(k), layout, int(batch))
    kernels = heuristics.get(problem, 1, precision=precision)
    if not kernels:
        return "none it knows no kernel of precision %s" % precision
    return "time %r" % float(kernels[0]["runtime"])


def main():
    # Keep what the package prints away from the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(text):
        answers.write(" ".join(text.split()) + "\n")
        answers.flush()

    if sys.path and sys.path[0] == "":
        del sys.path[0]  # no package out of the folder where the user happens to be
    name = "nvMatmulHeuristics"
    try:
        import nvMatmulHeuristics as package
        gpu = getattr(package.NvMatmulHeuristicsNvidiaGpu, GPUS.get(sys.argv[1], ""), None)
        if gpu is None:
            return answer("failed it has no GPU like %s" % sys.argv[1])
        # As its vendor ranks kernels with it: internal measurements where it has them, and the
        # performance model decides.
        heuristics = package.NvMatmulHeuristicsInterfaceEx(
            backend=package.NvMatmulHeuristicsTarget[sys.argv[2].upper()],
            flags=package.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
            load_discovery_implicitly=True, gpu=gpu)
    except ModuleNotFoundError as error:
        return answer("missing" if error.name == name else "failed " + said(error))
    except BaseException as error:
        return answer("failed " + said(error))
    try:
        import importlib.metadata
        version = importlib.metadata.version("nvidia-matmul-heuristics")
    except Exception:
        version = "of unknown version"
    answer("ready " + version)
    for line in sys.stdin:
        try:
            answer(estimate(package, heuristics, line))
        except Exception as error:
            answer("none " + said(error))


main()
