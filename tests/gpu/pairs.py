"""The parts bias (claims 12 to 14, 16, 33, 58), backends (17, 18, 27, 34, 35) and graphs (23 to 26, 48, 49) of gpu_check.py:
what event pairs read."""

import collections
import json
import statistics

from census import durations_ns
from host_program import Failure, Skip, injected, preloaded, run, run_and_read

ITERATIONS = 300
WARMUP = 5
REPEAT = 20
THREADS = 4
ROUNDS = 5  # of what may go wrong by chance
# Resolution of event times (cuda.h, cuEventElapsedTime), once for each end, and what records take unevenly.
RESOLUTION_US = 1.5


# --- bias

def attach_durations(rows, activities):
    """Gives each row CUPTI's durations in us of its launches, in launch order.

    Returns the kernels whose counts do not fit: their rows get none.
    """
    misfits = []
    for kernel in sorted({row["kernel"] for row in rows if row["kernel"]}):
        durations = [ns / 1000 for ns in activities.get(kernel, [])]
        mine = [row for row in rows if row["kernel"] == kernel]
        if len(durations) != sum(len(row["pair_us"]) for row in mine):
            misfits.append(kernel)
            continue
        for row in mine:
            row["cupti_us"], durations = durations[:len(row["pair_us"])], durations[len(row["pair_us"]):]
    return misfits


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def summarise(rows, reference):
    """Returns a line for each row, with medians in us; None where nothing was measured."""
    lines = []
    for index, row in enumerate(rows):
        cupti = reference[index].get("cupti_us") if reference else None
        pair_us = statistics.median(row["pair_us"])
        inner_us = statistics.median(row["inner_us"]) if row["kernel"] == "spin" else None
        cupti_us = statistics.median(cupti) if cupti else None
        lines.append({"state": row["state"], "kernel": row["kernel"], "target_us": row["target_us"], "tight": row["tight"],
                      "count": len(row["pair_us"]), "pair_us": pair_us, "p05_us": percentile(row["pair_us"], 0.05),
                      "p95_us": percentile(row["pair_us"], 0.95), "inner_us": inner_us, "cupti_us": cupti_us,
                      "minus_inner_us": pair_us - inner_us if inner_us is not None else None,
                      "minus_cupti_us": pair_us - cupti_us if cupti else None})
    return lines


def judge_tight(lines):
    """Raises Failure unless pairs behind work are tight, and those on an idle stream are not (claim 14)."""
    counts = collections.Counter()
    for line in lines:
        if line["kernel"]:
            counts[line["state"]] += line["count"]
            counts[line["state"], "tight"] += line["tight"]
    figures = (f"{counts['busy', 'tight']} of {counts['busy']} busy pairs tight, {counts['idle', 'tight']} of "
               f"{counts['idle']} idle ones")
    if not counts["busy"] or counts["busy", "tight"] < 0.99 * counts["busy"] or counts["idle", "tight"] > 0.05 * counts["idle"]:
        raise Failure(figures)
    return figures


def judge_length(lines, timer_step_ns):
    """Raises Failure if a pair is shorter than its kernel by more than the resolution of both clocks (claim 16)."""
    resolution_us = 0.5 + 2e-3 * timer_step_ns
    short = [f"{line['state']} {line['target_us']:g} us" for line in lines
             if line["inner_us"] is not None and line["pair_us"] < line["inner_us"] - resolution_us]
    if short:
        raise Failure(f"pairs are shorter than their kernels: {', '.join(short)}")
    return f"no pair is shorter than its kernel; the global timer steps by {timer_step_ns} ns"


def us(value):
    return "-" if value is None else f"{value:.3f}"


def figures_of(lines):
    for line in lines:
        state = line["state"]
        if not line["kernel"]:
            yield f"12, 13, 16, 33: {state} empty pair {us(line['pair_us'])} us (p05 {us(line['p05_us'])}, p95 {us(line['p95_us'])})"
        elif line["kernel"] == "empty_kernel":
            yield f"13: {state} pair around an empty kernel {us(line['pair_us'])} us, minus CUPTI {us(line['minus_cupti_us'])} us"
        elif line["target_us"] in (1, 10, 1000):
            claims = "12, 58" if state in ("large", "beside") else "12"
            yield (f"{claims}: {state} pair around {line['target_us']:g} us: minus CUPTI {us(line['minus_cupti_us'])} us, minus "
                   f"inner time {us(line['minus_inner_us'])} us, tight {line['tight']}/{line['count']}")


def part_bias(check):
    program = [*check.command("driver_answers.py"), "bias"]
    with check.claim("12, 13, 14, 16, 33, 58"):
        run([*program, "pairs.json"], {}, 20)
        pairs, reference = json.loads((check.folder / "pairs.json").read_text()), None
        try:
            check.need(check.census)
            run([*program, "under_cupti.json"], {"CUDA_INJECTION64_PATH": str(check.census), "CENSUS_OUT": "census.json"}, 17)
            census = json.loads((check.folder / "census.json").read_text())
            reference = json.loads((check.folder / "under_cupti.json").read_text())["rows"]
            for words in census["errors"] + attach_durations(reference, durations_ns(census)):
                check.say("SKIP", f"12: CUPTI: {words}: its records are left out")
        except (Skip, Failure, OSError) as reason:
            check.say("SKIP", f"12: no CUPTI reference: {reason}")
        lines = summarise(pairs["rows"], reference)
        (check.folder / "bias.json").write_text(json.dumps({**pairs, "rows": lines}, indent=1) + "\n")
        for figure in figures_of(lines):
            check.say("FIGURE", figure)
        check.judge("14", "", judge_tight, lines)
        check.judge("16", "", judge_length, lines, pairs["timer_step_ns"])


# --- backends

def median_of(values):
    return statistics.median(values) if values else float("nan")


def compare_iterations(profile, census):
    """Raises Failure unless iteration times are those of CUPTI; returns the figures in words."""
    if census["errors"]:
        raise Skip("CUPTI: " + census["errors"][0])
    starts = sorted(start for name, times in census["activities"].items() if "begins" in name for start, _ in times)
    theirs = [(b - a) * 1e-3 for a, b in zip(starts, starts[1:])]
    # The last iteration lasts until the program ends, for us alone.
    ours = [time * 1e3 for time in profile["iter_time_ms"]][:len(theirs)]
    if len(ours) < 20:
        raise Failure(f"only {len(ours)} iteration times")

    def differences(offset):
        return sorted(abs(a - b) for a, b in zip(ours, theirs[offset:]))

    # The warm-up is left out, wherever it ends.
    best = differences(min(range(len(theirs) - len(ours) + 1), key=lambda offset: median_of(differences(offset))))
    middle, most = median_of(best), best[int(0.95 * (len(best) - 1))]
    figures = (f"{len(ours)} iterations of {min(theirs):.0f} to {max(theirs):.0f} us: median difference {middle:.2f} us, 95 % "
               f"below {most:.2f} us")
    if middle > RESOLUTION_US or most > RESOLUTION_US + 0.05 * median_of(theirs):
        raise Failure(figures)
    return figures


def medians_by_kernel(profile):
    """Returns medians in us of the kernels of each name, less the empty pair of their state."""
    empty_us = {row["state"]: row["empty_pair_us"]["median"] for row in profile["calibration"]}
    samples = collections.defaultdict(list)
    for event in profile["events"]:
        for time, tight in zip(event["measured_times_ms"], event["tight"]):
            samples[event["kernel_name"]].append(time * 1e3 - empty_us["busy" if tight else "idle"])
    return {kernel: median_of(times) for kernel, times in samples.items()}


def compare_backends(by_wrappers, by_callbacks):
    ours, theirs = medians_by_kernel(by_wrappers), medians_by_kernel(by_callbacks)
    if not ours or set(ours) != set(theirs):
        raise Failure(f"kernels with samples: {len(ours)} by wrappers, {len(theirs)} in callbacks")
    worst = max(ours, key=lambda kernel: abs(ours[kernel] - theirs[kernel]))
    figures = (f"{len(ours)} kernels of {min(ours.values()):.1f} to {max(ours.values()):.1f} us; where the two differ most, "
               f"{ours[worst]:.2f} us by wrappers, {theirs[worst]:.2f} us in callbacks")
    errors = by_callbacks["dropped"]["cuda_errors"]
    if errors or abs(ours[worst] - theirs[worst]) > RESOLUTION_US + 0.05 * ours[worst]:
        raise Failure(f"{errors} errors of the driver in callbacks; {figures}")
    return figures


def check_calibration(profile):
    """Raises Failure unless both states of streams were calibrated."""
    found = {row["state"]: row["empty_pair_us"] for row in profile["calibration"]}
    for state in ("idle", "busy"):
        if state not in found or found[state]["count"] == 0:
            raise Failure(f"no calibration of state {state}: {profile['warnings']}")
    return ", ".join(f"{state} {pair['median']:.2f} us" for state, pair in sorted(found.items()))


class PacedLoop:
    """Runs the paced loop of loops.py, and reads what was written."""

    def __init__(self, check):
        self.check = check

    def profile(self, name, under, threads=0, variables=None, **settings):
        file = self.check.folder / name
        self.check.need(self.check.library, self.check.census)
        try:
            said, profile = run_and_read([*self.check.command("loops.py"), "paced", "--iterations", ITERATIONS, "--threads", threads],
                                         {**under(self.check.library, file, warmup=WARMUP, **settings), **(variables or {})}, file, 10)
        except Failure as failure:
            if "another one has it" in str(failure):  # CUPTI, which serves one tool at a time
                raise Skip(str(failure)) from failure
            raise
        if "another one has it" in said.last_words:
            raise Skip(said.last_words)
        return profile

    def iterations(self):
        """Compares iteration times from origin events with the starts of CUPTI's records (claim 17)."""
        census = self.check.folder / "origins_census.json"
        # The overhead measurement begins after the last sample; its origin events go on to the end.
        profile = self.profile("origins.json", preloaded, repeat=REPEAT, variables={
            "CUDA_INJECTION64_PATH": str(self.check.census), "CENSUS_OUT": str(census)})
        return compare_iterations(profile, json.loads(census.read_text()))

    def backends(self):
        """Compares pairs recorded in CUPTI's callbacks with those of the driver's wrappers (claim 27)."""
        profiles = [self.profile(f"{under.__name__}.json", under, repeat=REPEAT, overhead=0) for under in (preloaded, injected)]
        if not all(profile["complete"] for profile in profiles):
            raise Failure("a profile is not complete")
        return compare_backends(*profiles)

    def first_launches(self):
        """Lets several threads make the first launch, inside which the calibration is (claim 34)."""
        for turn in range(ROUNDS):
            profile = self.profile(f"first_launches.{turn}.json", injected, THREADS, repeat=1, overhead=0)
            figures = check_calibration(profile)
        return f"{ROUNDS} times with {THREADS + 1} threads at the first launch; empty pairs: {figures}"

    def leaving(self):
        """Lets the injected library leave CUPTI while other threads launch (claim 35)."""
        schedule = self.check.folder / "one_kernel.json"
        schedule.write_text('{"patterns": [{"kernel": "*paced*100*"}]}\n')
        for turn in range(ROUNDS):
            profile = self.profile(f"leaving.{turn}.json", injected, THREADS, repeat=REPEAT, overhead=0, schedule=schedule)
            iterations = len(profile["iter_time_ms"])
            if not profile["complete"] or iterations > ITERATIONS // 2:
                raise Failure(f"the injected library was there for {iterations} of {ITERATIONS} iterations")
        return f"{ROUNDS} times, before half-time, beside {THREADS} threads that launched to the end"


def part_backends(check):
    loop = PacedLoop(check)
    for claim, compare in (("17", loop.iterations), ("27", loop.backends), ("34", loop.first_launches), ("35", loop.leaving)):
        check.judge(claim, "", compare)
    check.answers("pdl_overlap", [*check.command("driver_answers.py"), "overlap"], "18", 9)


def part_graphs(check):
    check.answers("graph_nodes", [*check.command("driver_answers.py"), "graphs"], "23, 24, 25, 26, 48, 49", 18)
