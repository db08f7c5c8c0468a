"""The part training (claims 40, 41, 45) of gpu_check.py: what the injected library finds in loops whose course is known."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile

from host_program import Failure, Skip, preloaded, run, run_and_read

WARMUP = 10
LOOP_STEPS, BUDGET_STEPS = (int(os.environ.get("LOOP_STEPS", usual)) for usual in (1500, 15000))  # another number, for the rehearsals
TORCH_STEPS = 300
DLRM_STEPS = 2000
# The finder looks at this many launches in any case, and again when they have grown by a quarter
# (schedule/iteration_finder.hpp).
LAUNCHES_TO_FIND = 4096 * 1.25
# Two runs of one loop: the application, and the clocks.
MOST_OFF = 0.1
# A budget is spent whole, and lost samples are made up for.
ROOM = 1.1
# The set-up of the DLRM ends with the launches that end its step: an iteration that begins with them
# repeats just as well.
DLRM_MAY_BEGIN_WITH = ("generate_batch", "sgd_update_kernel")
NVTX_PUSH_POP = 59  # NVTX_EVENTS.eventType in the databases of Nsight Systems


def launches_in_order(profile):
    """Returns (first kernel, grid) of each event, as an iteration launches them."""
    events = sorted(profile["events"], key=lambda event: event["start_index"])
    return [((event["kernel_names"] or [event["event_name"]])[0], tuple(event.get("grid", ()))) for event in events]


def compare_order(ours, theirs):
    """Raises Failure unless the found launches are the marked ones."""
    if ours == theirs:
        return
    if any(theirs[turn:] + theirs[:turn] == ours for turn in range(len(theirs))):
        raise Failure(f"found to begin with {ours[0][0]}, launch {theirs.index(ours[0])} of {len(theirs)}")
    place = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    raise Failure(f"another iteration was found: launch {place} of {len(ours)} is {ours[place:place + 1]}, of the {len(theirs)} marked ones "
                  f"{theirs[place:place + 1]}")


def median_us(profile):
    times = profile["iter_time_ms"]
    if not times:
        raise Failure("no iteration times")
    return statistics.median(times) * 1e3


def compare_iterations(found, marked, may_begin_with=()):
    """Raises Failure unless the found iteration is the marked one; returns figures in words.

    Where labels make other events of the marked one's launches, only the first kernel is compared:
    one of may_begin_with.
    """
    source, ours, theirs = found["profiler"]["iteration_source"], launches_in_order(found), launches_in_order(marked)
    if source == "none" or not ours:
        raise Failure(f"no iteration was found: {found['warnings']}")
    if source in ("macro", "optimizer") or source.startswith("nvtx"):
        raise Skip(f"the iteration was not looked for: source {source}")
    if not may_begin_with:
        compare_order(ours, theirs)
    elif not any(name in ours[0][0] for name in may_begin_with):
        raise Failure(f"found to begin with {ours[0][0]}, it begins with {theirs[0][0]}")
    found_us, marked_us = median_us(found), median_us(marked)
    figures = (f"{len(ours)} events from {ours[0][0]} on, {found_us:.1f} us found and {marked_us:.1f} us marked "
               f"(source {source}, confidence {found['profiler']['iteration_confidence']:.2f}, "
               f"{found['dropped'].get('irregular_iteration', 0)} samples left out as irregular)")
    if abs(found_us / marked_us - 1) > MOST_OFF:
        raise Failure(f"more than {100 * MOST_OFF:.0f} % apart: {figures}")
    return figures


def count_iterations(profile, steps):
    """Raises Failure unless about all steps were found; for a run that was measured to its end."""
    count = len(profile["iter_time_ms"])
    launches = max(1, len(profile["events"]))
    most_missing = 2 * WARMUP + LAUNCHES_TO_FIND / launches
    figures = f"{count} of {steps} steps are iterations, the others before one was found and in the warm-up"
    if count > steps or steps - count > most_missing:
        raise Failure(f"{figures}; at most {most_missing:.0f} were to be missing")
    return figures


def pair_us(profile):
    """Returns the cost of a pair behind other work: each of its records takes the time that a pair reads too much."""
    for row in profile["calibration"]:
        if row["state"] != "busy":
            continue
        if "empty_kernel_pair_us" in row and "added_kernel_us" in row:
            return 2 * (row["empty_kernel_pair_us"]["median"] - row["added_kernel_us"]["median"])
        return 2 * row["empty_pair_us"]["median"]
    raise Skip("pairs behind other work were not calibrated")


def judge_budget(profile, budget_percent):
    """Raises Failure unless a budget is kept by the pairs, which are counted, and by the measured overhead (claim 41).

    The overhead is that of iterations with pairs; a small budget leaves most iterations without.
    """
    iterations = [number for event in profile["events"] for number in event["iterations"]]
    if not iterations:
        raise Failure(f"nothing was measured: {profile['warnings']}")
    length_us, cost_us = median_us(profile), pair_us(profile)
    # From the first iteration with pairs to the last one, which begins what is not measured any more.
    last = max(iterations)
    span = last - min(iterations)
    iterations = [number for number in iterations if number < last]
    if not iterations:
        raise Skip("a single iteration was measured")
    share = len(set(iterations)) / span
    pairs_percent = 100 * len(iterations) * cost_us / (span * length_us)
    figures = (f"budget {budget_percent:g} % of {length_us:.0f} us; {len(iterations)} pairs of {cost_us:.2f} us in "
               f"{span} iterations are {pairs_percent:.3f} %; ")
    is_too_many = pairs_percent > ROOM * budget_percent
    overhead = profile["overhead"]
    interval = overhead.get("slowdown_percent_ci95")
    if interval is None:
        raise (Failure if is_too_many else Skip)(f"{figures}no measured overhead: {overhead.get('method')}")
    low, high = (share * bound for bound in interval)
    figures += (f"overhead of {100 * share:.1f} % of the iterations, which had pairs: "
                f"{share * overhead['slowdown_percent']:+.3f} % [{low:+.3f}, {high:+.3f}]")
    if is_too_many or low > ROOM * budget_percent:
        raise Failure(figures)
    if high > ROOM * budget_percent:
        raise Skip(f"the interval is too wide to tell: {figures}")
    return figures


def compare_layers(profile, expected):
    """Raises Failure unless each launch has the layer that the loop says."""
    found = [event["layer_name"] for event in sorted(profile["events"], key=lambda event: event["start_index"])]
    if len(found) != len(expected):
        raise Failure(f"{len(found)} events, a step has {len(expected)} launches")
    wrong = [(i, ours, theirs) for i, (ours, theirs) in enumerate(zip(found, expected)) if ours != theirs]
    if wrong:
        raise Failure(f"{len(wrong)} of {len(found)} launches have another layer; launch {wrong[0][0]} has "
                      f"'{wrong[0][1]}', its ranges are '{wrong[0][2]}'")


def compare_paths(profile, paths):
    """Raises Failure unless the layers are ranges, and all innermost ranges are layers."""
    found = {event["layer_name"] for event in profile["events"]} - {""}
    others = found - set(paths)
    if others:
        raise Failure(f"layers that are no ranges: {', '.join(sorted(others)[:5])}")
    innermost = {path for path in paths if not any(other.startswith(path + ".") for other in paths)}
    if innermost - found:
        raise Failure(f"ranges without a launch: {', '.join(sorted(innermost - found)[:5])}")
    outside = sum(event["layer_name"] == "" for event in profile["events"])
    return f"{len(found)} layers; {outside} of {len(profile['events'])} events lie outside all ranges"


def ranges_in_database(path):
    if not path.exists():
        raise Failure("Nsight Systems wrote no database")
    with contextlib.closing(sqlite3.connect(path)) as database:
        try:
            return database.execute("SELECT COUNT(*) FROM NVTX_EVENTS WHERE eventType = ?",
                                    (NVTX_PUSH_POP,)).fetchone()[0]
        except sqlite3.Error as error:
            raise Failure(f"{path.name}: {error}") from error


def judge_ranges(told, said):
    if told != said["ranges"]:
        raise Failure(f"it was told of {told} ranges, {said['ranges']} were pushed")
    return f"all {told} ranges reached it"


class Loops:
    """Runs the loops under the injected library, and compares what it found with what they say of themselves."""

    def __init__(self, check):
        self.check = check
        # The rehearsal's stand-in for PyTorch on a GPU.
        torch = os.environ.get("STAND_IN_TORCH", check.scripts / "torch_programs.py")
        self.commands = {"loop": [*check.command("loops.py"), "training"], "pytorch": [sys.executable, torch, "training"]}

    def run(self, name, command, variables=None, **settings):
        """Returns (what the application says of itself, its profile)."""
        output = self.check.folder / f"{name}.json"
        self.check.need(self.check.library)
        done, profile = run_and_read(command, {**preloaded(self.check.library, output, warmup=WARMUP, **settings), **(variables or {})},
                                     output, 20)
        words = done.stdout.strip().splitlines()
        return json.loads(words[-1]) if words and words[-1].startswith("{") else {}, profile

    def iterations(self, name, steps):
        """Compares the iteration that is found with the one that the same loop marks (claim 40)."""
        command, settings = [*self.commands[name], "--steps", steps], {"overhead": 0, "repeat": 1000}
        _, marked = self.run(f"{name}_marked", [*command, "--mark"], **settings)
        said, found = self.run(f"{name}_found", command, **settings)
        if marked["profiler"]["iteration_source"] != "macro":
            raise Failure(f"the marks did not reach the injected library: source {marked['profiler']['iteration_source']}")
        return f"{compare_iterations(found, marked)}; {count_iterations(found, said['steps'])}"

    def dlrm(self):
        folder = self.check.build / "examples/dlrm"
        self.check.need(folder / "dlrm", folder / "dlrm_plain")
        self.check.need_gpu()
        steps = ["--iterations", DLRM_STEPS]
        _, marked = self.run("dlrm_marked", [folder / "dlrm", *steps], overhead=0)
        _, found = self.run("dlrm_found", [folder / "dlrm_plain", *steps], overhead=0)
        return compare_iterations(found, marked, DLRM_MAY_BEGIN_WITH)

    def budget(self, percent):
        """Spends a budget (claim 41)."""
        _, profile = self.run(f"budget_{percent:g}", [*self.commands["loop"], "--steps", BUDGET_STEPS, "--mark"], policy="adaptive",
                              budget=f"{percent:g}%", repeat=20)
        return judge_budget(profile, percent)

    def layers(self, name, command):
        """Compares layers with NVTX ranges (claim 45)."""
        said, profile = self.run(f"{name}_ranges", command, overhead=0, repeat=1)
        if "layers" in said:  # which launch lies in which is known
            compare_layers(profile, said["layers"])
        return compare_paths(profile, said["paths"])

    def tool_in_front(self, name, command):
        tool, log = self.check.program("libgpu_nvtx_tool.so"), self.check.folder / f"{name}_tool.log"
        self.check.need(tool)
        said, _ = self.run(f"{name}_tool", command, {"NVTX_INJECTION64_PATH": str(tool), "NVTX_TOOL_LOG": str(log),
                                                     "NVTX_TOOL_TAKES": "all"}, overhead=0, repeat=1)
        if not log.exists():
            raise Failure("the tool was told nothing")
        return judge_ranges(sum(line.startswith("push ") for line in log.read_text().splitlines()), said)

    def nsight_systems(self, name, command):
        if shutil.which("nsys") is None:
            raise Skip("no nsys on the path")
        # Its files name the machine and the person, and are no text to take that out of: they do not stay.
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "nsys"
            variables = preloaded(self.check.library, self.check.folder / f"{name}_nsys.json", warmup=WARMUP, overhead=0, repeat=1)
            done = run(["nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite",
                        "--force-overwrite=true", "-o", report, "env", *(f"{key}={value}" for key, value in variables.items()),
                        *command], {}, 20)
            said = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")), None)
            if said is None:
                raise Failure(f"the loop said nothing under nsys: {done.last_words}")
            return judge_ranges(ranges_in_database(report.with_suffix(".sqlite")), said)


def part_training(check):
    loops = Loops(check)
    for name, steps in (("loop", LOOP_STEPS), ("pytorch", TORCH_STEPS)):
        check.judge("40", name, loops.iterations, name, steps)
    check.judge("40", "dlrm", loops.dlrm)
    for percent in (1, 0.1):
        check.judge("41", f"{percent:g} %", loops.budget, percent)
    for name in ("loop", "pytorch"):
        command = [*loops.commands[name], "--steps", 60, "--mark", "--ranges"]
        for what, compare in ((name, loops.layers), (f"{name}, a tool in front", loops.tool_in_front),
                              (f"{name}, Nsight Systems in front", loops.nsight_systems)):
            check.judge("45", what, compare, name, command)
