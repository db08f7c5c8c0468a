"""The parts census (claims 1 to 6, 8 to 11, 36, 56) and torch (7, 8, 57) of gpu_check.py: launches are counted by CUPTI and
by the injected library, each alone and side by side.

The injected library is told to stay in its warm-up, in which it counts every launch, for longer than the program runs.
"""

import contextlib
import json

from host_program import Failure, Skip, preloaded, run, run_and_read

WHOLE_RUN = 1_000_000_000  # warm-up iterations; no program comes near
GRAPH_LAUNCHES = ("cuGraphLaunch", "cuGraphLaunch_ptsz")
# Name: claim, program, arguments.
HOSTS = {"static": (1, "launch_forms_static", ["streams"]), "static_graph": (5, "launch_forms_static", ["graph"]),
         "shared": (2, "launch_forms", ["streams"]), "shared_graph": (5, "launch_forms", ["graph"]),
         "driver": (6, "driver_kernels", []), "thrust": (56, "launch_forms", ["thrust"]),
         **{name: (claim, "library_calls.py", [name]) for name, claim in (("cublas", 3), ("cublaslt", 4), ("cudnn", 9), ("nccl", 8))}}


def durations_ns(census):
    """Returns {kernel: [ns]} of CUPTI's records, in the order of their starts."""
    return {name: [end - start for start, end in sorted(times)] for name, times in census["activities"].items()}


def counts_of_cupti(census):
    """Returns the application's launches of kernels, and its graph launches."""
    graphs = sum(census["driver_calls"].get(function, 0) for function in GRAPH_LAUNCHES)
    return sum(census["driver_calls"].values()) - graphs, graphs


def counts_of_library(profile):
    return profile["overhead"]["launches_seen"], profile["overhead"]["graph_launches_seen"]


def compare(alone, ours, both, ours_beside):
    """Raises Failure unless all four counts agree; returns the figures in words."""
    for census in (alone, both):
        if census["errors"]:
            raise Skip("CUPTI: " + census["errors"][0])
    expected, beside_library = counts_of_cupti(alone), counts_of_cupti(both)
    seen, beside_cupti = counts_of_library(ours), counts_of_library(ours_beside)
    figures = (f"kernel and graph launches: CUPTI {expected}, library {seen}; side by side: CUPTI {beside_library}, "
               f"library {beside_cupti}")
    if sum(expected) == 0:
        raise Failure("CUPTI saw no launch at all; " + figures)
    # CUPTI sees the launches of the injected library's own calibration, too; the injected library does not count those.
    if seen != expected or beside_cupti != expected or beside_library[0] < expected[0] or beside_library[1] < expected[1]:
        raise Failure(figures)
    return figures


def take_census(check, name, command, timeout_s):
    """Runs the program under each, and returns what they have counted."""
    check.need(check.library, check.census)

    def counted(who, *tools):
        census, profile = check.folder / f"{name}.{who}.census.json", check.folder / f"{name}.{who}.prof.json"
        variables = {"cupti": {"CUDA_INJECTION64_PATH": str(check.census), "CENSUS_OUT": str(census), "CENSUS_ACTIVITIES": "0"},
                     "library": preloaded(check.library, profile, warmup=WHOLE_RUN)}
        under = {key: value for tool in tools for key, value in variables[tool].items()}
        _, found = run_and_read(command, under, census if "cupti" in tools else profile, timeout_s)
        return (found, json.loads(profile.read_text())) if len(tools) == 2 else (found,)

    return *counted("alone", "cupti"), *counted("alone", "library"), *counted("beside", "cupti", "library")


def census_of(check, name, claim, command, timeout_s=20):
    check.judge(f"{claim}, 10, 11, 36", name, lambda: compare(*take_census(check, name, command, timeout_s)))


def part_census(check):
    for name, (claim, program, arguments) in HOSTS.items():
        census_of(check, name, claim, [*check.command(program), *arguments])


def part_torch(check):
    host = [*check.command("torch_programs.py"), "census"]
    census_of(check, "torch", "7, 8", [*host, "--nccl"], 30)
    # Both counts must come from kernels that are compiled already.
    with contextlib.suppress(Skip, Failure):
        run([*host, "--compile"], {}, 30)
    census_of(check, "torch_compile", 57, [*host, "--compile"], 30)
