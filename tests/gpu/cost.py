"""The parts results (claims 50, 51), rate (19, 20, 22, 28, 29, 33) and overhead (52) of gpu_check.py: what the injected library
costs an application, and that it changes nothing else."""

import csv
import io
import itertools
import json
import os
import random
import shutil
import statistics

from census import durations_ns
from host_program import IS_REHEARSAL, Failure, Skip, injected, preloaded, run, run_and_read

# --- results


def compare_results(check, name, under, arguments, alone):
    """Compares what the program prints under the injected library with what it prints alone (claim 50)."""
    with check.claim("50", name):
        for form, words in alone.items():
            profile = check.folder / f"{name.replace(' ', '_')}_{form}.json"
            said, found = run_and_read([check.program("launch_forms"), form, *arguments], under(check.library, profile, repeat=2, warmup=3),
                                       profile, 9)
            if "profiling is off: CUPTI" in said.last_words:
                raise Skip(said.last_words)
            if not said.stdout or not words.startswith(said.stdout):
                raise Failure(f"{form}: other bits: {said.stdout.strip()!r}")
            if not found["complete"]:
                raise Failure(f"{form}: no complete prof.json: {said.last_words}")
        check.say("PASS", f"50: {name}: all bits are those of the program alone")


def compute_sanitizer(check):
    """Runs the program under the injected library and compute-sanitizer (claim 51)."""
    sanitizer = shutil.which("compute-sanitizer", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if sanitizer is None:
        raise Skip("no compute-sanitizer here")
    words = []
    for form in ("streams", "graph"):
        try:
            said = run([sanitizer, "--tool", "memcheck", "--error-exitcode", "99", check.program("launch_forms"), form],
                       preloaded(check.library, check.folder / f"sanitized_{form}.json", repeat=2, warmup=3), 12)
        except Failure as failure:
            if "Internal Sanitizer Error" in str(failure):
                raise Skip(str(failure)) from failure
            raise
        words.append(next((line for line in said.stdout.splitlines() if "ERROR SUMMARY" in line), "no error"))
    return "; ".join(words)


def part_results(check):
    with check.claim("50, 51", "the program alone"):
        check.need(check.program("launch_forms"), check.library)
        alone, again = ({form: run([check.program("launch_forms"), form, "--reset"], {}, 9).stdout for form in ("streams", "graph")}
                        for _ in range(2))
        if again != alone:
            raise Failure("it does not repeat its own results")
        compare_results(check, "results with the injected library", preloaded, [], alone)
        compare_results(check, "results with backend cupti", injected, [], alone)
        compare_results(check, "results after a device reset", preloaded, ["--reset"], alone)
        check.judge("51", "", compute_sanitizer, check)


# --- rate

# Settings of the injected library by state; 100 events, each measured once, are done by half-time.
STATES = {"counting": {"warmup": 1_000_000_000, "repeat": 50}, "measuring": {"warmup": 5, "repeat": 100_000},
          "detached": {"warmup": 5, "repeat": 1}}


def part_rate(check):
    claims, words = "19, 20, 22, 28, 33", {}
    states = {"bare": {}, **{state: preloaded(check.library, check.folder / "rate.%p.json", **settings) for state, settings in STATES.items()},
              "CUPTI callback": {"CUDA_INJECTION64_PATH": str(check.census), "CENSUS_ACTIVITIES": "0",
                                 "CENSUS_OUT": str(check.folder / "cupti.json")}}
    command = [*check.command("loops.py"), "rate", "--iterations", 150 if IS_REHEARSAL else 1200, "--launches", 100]
    # Interleaved, so that a drift of the clocks falls on all states alike.
    for turn, state in itertools.product((1, 2, 3), states):
        with check.claim(claims, f"{state}, round {turn}"):
            check.need(check.census if state == "CUPTI callback" else check.library)
            words.pop(state, None)
            words[state] = run(command, states[state], 8).stdout.strip()
        if state == "CUPTI callback" and words:
            check.say("FIGURE", f"{claims}: ns a launch (median p05 p95), round {turn}: "
                                f"{'; '.join(f'{state} {value}' for state, value in words.items())}")
        elif state not in words:
            break  # the others would take the time of later parts
    with check.claim("29"):
        check.say("FIGURE", f"29: {compare_counted(check)}")


def durations_of_ncu(text):
    """Returns {kernel: [us]} of what `ncu --csv --page raw` printed."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        if (row.get("ID") or "").isdigit():  # the line below the heading has the units
            found.setdefault(row["Kernel Name"], []).append(float(row["gpu__time_duration.sum"].replace(",", "")) * 1e-3)
    return found


def compare_counted(check):
    """Compares how long kernels take with and without counters read by Nsight Compute (claim 29)."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise Skip("no ncu on the path")
    check.need(check.census)
    command, census = [*check.command("loops.py"), "paced", "--iterations", "20"], check.folder / "uncounted.json"
    run(command, {"CUDA_INJECTION64_PATH": str(check.census), "CENSUS_OUT": str(census)}, 10)
    counted = durations_of_ncu(run([ncu, "--csv", "--page", "raw", "--clock-control", "none", "--print-units", "base", "--metrics",
                                    "gpu__time_duration.sum,dram__bytes_read.sum,lts__t_bytes.sum", *command], {}, 15).stdout)
    ratios = [statistics.median(counted[name]) / (statistics.median(times) * 1e-3)
              for name, times in durations_ns(json.loads(census.read_text())).items() if "paced" in name and name in counted]
    if not ratios:
        raise Skip("ncu reported no kernel of the loop")
    return f"{len(ratios)} kernels take {statistics.median(ratios):.3f} times as long while they are counted (median)"


# --- overhead

GOAL = 0.001  # of measuring
EXCLUDED = 0.003  # by the interval
RESAMPLES = 2000
SECONDS = 20  # for each process
# More samples of each event than the loops have iterations, so that measuring never ends by itself.
TOGGLE = {"trigger": "signal:USR1", "warmup": 2, "overhead": 0, "repeat": 1000}
ADAPTIVE = {**TOGGLE, "policy": "adaptive", "target_ci": 0.0001}


def quads(blocks):
    """Returns ratios of on to off of each off, on, on, off, in which a drift cancels."""
    ratios = []
    for i in range(0, len(blocks) - 3, 4):
        states, times = zip(*blocks[i:i + 4])
        if states != ("off", "on", "on", "off"):
            raise ValueError(f"expected blocks off on on off, found {' '.join(states)}")
        ratios.append((times[1] + times[2]) / (times[0] + times[3]))
    return ratios


def interval(ratios):
    """Returns the mean and its bootstrap interval of 95 %, less 1."""
    numbers = random.Random(1)
    means = sorted(statistics.fmean(numbers.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return statistics.fmean(ratios) - 1, means[int(0.025 * RESAMPLES)] - 1, means[int(0.975 * RESAMPLES) - 1] - 1


def judge_measuring(found):
    """Returns True, False, or None if the interval is too wide to tell."""
    mean, low, high = found
    return True if mean < GOAL and high < EXCLUDED else False if low > GOAL else None


def judge_afterwards(found):
    return found[1] <= 0 <= found[2]


def blocks_of(command, variables):
    lines = [line.split() for line in run(command, variables, SECONDS).stdout.splitlines()]
    return [(state, float(time)) for state, time in lines]


def toggled(command, variables):
    """Measuring goes on and off in one process; the first pattern has what is done once."""
    return quads(blocks_of(command, variables))[1:]


def paired(command, variables, drop=0, arguments=()):
    """Compares whole processes with and without variables and arguments; the first `drop` blocks of each are not counted."""
    blocks = []
    for state in ("off", "on", "on", "off") * (1 if IS_REHEARSAL else 2):
        added, under = (arguments, variables) if state == "on" else ((), {})
        blocks.append((state, statistics.median(time for _, time in blocks_of([*command, *added], under)[drop:])))
    return quads(blocks)


def attempt(check, name, judge, measure, *arguments, **options):
    with check.claim("52", name):
        ratios = measure(*arguments, **options)
        if not ratios:
            raise Failure("no blocks")
        found = interval(ratios)
        answer = judge(found) if judge and not IS_REHEARSAL else None
        mean, low, high = (f"{100 * value:+.3f}" for value in found)
        check.say({None: "FIGURE", True: "PASS", False: "FAIL"}[answer],
                  f"52: {name}: {mean} % (95 %: {low} to {high}, {len(ratios)} patterns)")


def part_overhead(check):
    output = check.folder / "prof.%p.json"
    adaptive, every = (preloaded(check.library, output, **settings) for settings in (ADAPTIVE, TOGGLE))
    measured = preloaded(check.library, output, mode="fine_grained", warmup=2, repeat=1, overhead=0)
    # The ratios of a rehearsal mean nothing.
    size = ["--blocks", "8", "--iterations", "2"] if IS_REHEARSAL else []
    pair_size = ["--blocks", "4", "--iterations", "2"] if IS_REHEARSAL else ["--blocks", "12"]
    for work in ("launch", "gpu", "graph"):
        loop = [*check.command("loops.py"), "overhead", "--work", work]
        toggling, single = [*loop, *size, "--toggle"], [*loop, *pair_size]
        attempt(check, f"{work}, measuring within the budget, toggled", judge_measuring, toggled, toggling, adaptive)
        attempt(check, f"{work}, a pair in every iteration, toggled", None, toggled, toggling, every)
        attempt(check, f"{work}, nothing beside nothing, pairs", judge_afterwards, paired, single, {})
        attempt(check, f"{work}, measured all it wanted, pairs", judge_afterwards, paired, single, measured, drop=2)
        attempt(check, f"{work}, NVTX ranges that nobody reads, pairs", None, paired, single, {}, arguments=["--nvtx"])
        attempt(check, f"{work}, backend cupti, pairs", None, paired, single, injected(check.library, output, backend="cupti"))
    torch = [*check.command("torch_programs.py"), "overhead", *size]
    attempt(check, "PyTorch, measuring within the budget, toggled", judge_measuring, toggled, [*torch, "--toggle"], adaptive)
    attempt(check, "PyTorch, torch.profiler, toggled", None, toggled, [*torch, "--profiler"], {})
