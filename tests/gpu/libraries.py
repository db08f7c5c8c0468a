"""The part libraries (claims 37 to 39, 42 to 44, 46, 47) of gpu_check.py: wrapped library calls give their operations.

Hosts make calls of known shapes under the injected library, and what prof.json says of each is compared with
library_calls.json, field by field.  Their kernels are set beside those of the simulated libraries.
"""

import concurrent.futures
import csv
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess

from host_program import Failure, Skip, preloaded, run, run_and_read

MOST_WORDS = 4  # faults that a line tells
NAMES_SINCE = (12, 3)  # CUDA's version from which drivers have cuFuncGetName
NAMELESS = re.compile(r"kernel_without_a_name(~\d+)?$")
# The example does not name its calls, and is told how long to learn.
CALLS_OF_EXAMPLE = ["layers forward", "layers backward"]


# --- operations (claims 42, 43)

def expected_of(known, call, ranks):
    """Returns the events that a call should give: [{"event": [names], "ops": [alternatives]}]; raises KeyError."""
    number = re.search(r"\d+$", call)
    events = []
    for entry in known[call] if call in known else known[call[:number.start()] + "*" if number else call]:
        if entry.get("ranks", "any") not in ("any", "several" if ranks > 1 else "one"):
            continue
        op = {key: int(number.group()) if value == "*" else value for key, value in entry["op"].items()}
        if op["kind"] == "collective":
            op["ranks"] = ranks
            op["bytes"] *= ranks if entry.get("of_all_ranks") else 1
        names = entry["event"] if isinstance(entry["event"], list) else [entry["event"]]
        events += [{"event": names, "ops": [op] + ([{**op, **entry["or"]}] if "or" in entry else [])}] * entry.get("times", 1)
    return events


def differences(wanted, event):
    """Returns the fields that the operation has otherwise than the nearest alternative, in words."""
    op = event.get("op")
    if not op:
        return ["no operation"]
    return min(([f"{key} {json.dumps(op.get(key))}, expected {json.dumps(value)}" for key, value in one.items()
                 if op.get(key) != value] for one in wanted["ops"]), key=len)


def judge(known, calls, ranks, profile, all_are_told, may_be_missing):
    """Returns (rows, faults, missing): what each call gave, what is wrong, in words, and the calls without any event that may have none.

    If a host tells all of its calls, an event that none of them has asked for is wrong, too.
    """
    wanted, faults, rows = [], [], []
    for call in calls:
        try:
            wanted += [(call, event) for event in expected_of(known, call, ranks)]
        except KeyError:
            faults.append((call, "library_calls.json does not know it"))
    names = {name for _, want in wanted for name in want["event"]}
    devices = sorted({event["device_id"] for event in profile["events"]}) or [0]
    for device in devices:
        where = f"on GPU {device}: " if len(devices) > 1 else ""
        left = sorted((event for event in profile["events"] if event["device_id"] == device and event["event_name"] in names),
                      key=lambda event: event["start_index"])
        found = {}
        # Events that fit altogether come first, so that one that is wrong or missing spoils no other.
        for must_fit, (place, (_, want)) in itertools.product((True, False), enumerate(wanted)):
            candidates = [(differences(want, event), i) for i, event in enumerate(left) if event["event_name"] in want["event"]]
            words, best = min(candidates, key=lambda candidate: len(candidate[0]), default=(None, None))
            if place not in found and best is not None and not (must_fit and words):
                found[place] = left.pop(best), words
        for place, (call, want) in enumerate(wanted):
            event, words = found.get(place, (None, [f"no event {' or '.join(want['event'])} is left for it"]))
            if words:
                faults.append((call, f"{where}{'; '.join(words)}"))
            if event is not None:
                rows.append({"call": call, "op": event.get("op"), "kernels": event["kernel_names"], "kernel": event["kernel_name"],
                             "grid": event.get("grid")})
        if all_are_told:
            faults += [(event["event_name"], f"{where}nobody asked for {json.dumps(event.get('op'))}") for event in left]
    missing = may_be_missing - {row["call"] for row in rows}
    return rows, [f"{call}: {words}" for call, words in faults if call not in missing], sorted(missing)


class Host:
    """A program that makes calls, and its profile."""

    def __init__(self, name, command, library, work, variables):
        self.name, self.rows, self.profile, self.said, self.trouble = name, [], None, "", None
        try:
            done, self.profile = run_and_read(command, {**preloaded(library, work / f"{name}.prof.json", warmup=3, repeat=2), **variables},
                                              work / f"{name}.prof.json", 20)
            self.said = done.stdout
        except (Skip, Failure) as trouble:
            self.trouble = trouble

    def words(self, word):
        """Returns [(name, words)] of the lines that begin with `word`."""
        parts = [line[len(word) + 1:].partition(": ") for line in self.said.splitlines() if line.startswith(word + " ")]
        return [(name, words) for name, _, words in parts]


def libraries_of(profile):
    return ", ".join(f"{name} {version}" for name, version in profile.get("libraries", {}).items())


def may_copy(known, call):
    """Returns whether a call of NCCL may be a mere copy on one rank; sends to itself are kernels."""
    return all(op.get("op") not in ("group", None) for event in expected_of(known, call, 1) for op in event["ops"])


def lines_of_host(host, known):
    """Returns the lines of claim 42, and of 43 for NCCL; puts what each call gave into host.rows.

    The injected library gives an event the operation of a call only if its launch comes inside that call, on the thread
    that makes it: so NCCL launches where claim 43 says.
    """
    claims = "42, 43" if host.name == "nccl" else "42"
    if host.trouble is not None:
        return [("SKIP" if isinstance(host.trouble, Skip) else "FAIL", f"{claims}: {host.name}: {host.trouble}")]
    lines = [("FAIL", f"42: {host.name}: {name}: the library refused it: {words}") for name, words in host.words("refused")]
    lines += [("SKIP", f"42: {host.name}: {name}: {words}") for name, words in host.words("skipped")]
    ranks = int(next((name for name, _ in host.words("ranks")), 1))
    calls = [name for name, _ in host.words("call")] or (CALLS_OF_EXAMPLE if host.name == "conv" else [])
    if not calls:
        return lines or [("FAIL", f"{claims}: {host.name}: it made no call")]
    copies = {call for call in calls if host.name == "nccl" and ranks == 1 and call in known and may_copy(known, call)}
    host.rows, faults, missing = judge(known, calls, ranks, host.profile, host.name not in ("conv", "torch"), copies)
    lines += [("SKIP", f"{claims}: nccl: {call}: no event with 1 rank, where it may be a copy") for call in missing]
    about = dict(host.words("about"))
    for row in host.rows:
        row["about"] = about.get(row["call"], "")
    text = f"{claims}: {host.name}: {len(calls) - len(missing)} calls ({libraries_of(host.profile)})"
    if not faults:
        return lines + [("PASS", f"{text}, all give their operations")]
    more = [f"and {len(faults) - MOST_WORDS} more"] if len(faults) > MOST_WORDS else []
    warnings = host.profile.get("warnings", []) + host.profile.get("not_seen", [])
    said = [f"the injected library says: {' | '.join(warnings[:MOST_WORDS])}"] if warnings else []
    return lines + [("FAIL", f"{text}: {'; '.join([' | '.join(faults[:MOST_WORDS]), *more, *said])}")]


def line_of_example(host):
    """Returns the line of claim 37: examples/conv learns, with the algorithms that cuDNN's heuristic puts first."""
    if host.trouble is not None:
        return ("SKIP" if isinstance(host.trouble, Skip) else "FAIL"), f"37: {host.trouble}"
    last = (host.said.strip().splitlines() or [""])[-1]
    algorithms = [f"{event['event_name']} {event['op'].get('algo')}" for event in host.profile["events"]
                  if event.get("op") and event["op"]["kind"] == "conv"]
    word = "SKIP" if last.startswith("simulated GPU") else "PASS" if last.startswith("PASS") else "FAIL"
    return word, f"37: {last}; algorithms {', '.join(algorithms)} ({libraries_of(host.profile)})"


def line_of_names(profiles):
    """Returns the line of claim 46: a driver before CUDA 12.3 does not tell kernels' names; they are known all the same."""
    versions = [tuple(map(int, re.findall(r"\d+", device.get("cuda_version") or "")))
                for profile in profiles for device in profile["devices"]]
    version = next(filter(None, versions), None)
    if version is None:
        return "SKIP", "46: no profile says which CUDA the driver knows"
    words = f"46: the driver knows CUDA {'.'.join(map(str, version))}"
    if version >= NAMES_SINCE:
        return "SKIP", f"{words}, and kernels' names itself: one before 12.3 is needed"
    names = [name for profile in profiles for event in profile["events"] for name in event["kernel_names"]]
    nameless = sum(bool(NAMELESS.match(name)) for name in names)
    return ("PASS" if names and nameless == 0 else "FAIL"), f"{words}: {len(names)} kernels of libraries, {nameless} without a name"


# --- kernels beside the simulated ones (claim 39)

# cudnn_cnn.h, cudnnConvolutionFwdAlgo_t: what the analyzer must read from the kernels' names.
ALGORITHMS = {0: "plain_implicit_gemm", 1: "implicit_gemm", 2: "explicit_gemm", 4: "fft", 5: "fft", 6: "winograd",
              7: "winograd_nonfused"}


def question(row):
    """Returns the line that kernel_words is asked about the kernel of a row."""
    op = row["op"]
    stride = op.get("stride", 1)
    shape = ([0, 0, 1, op["m"], op["n"], op["k"], op["batch"]] if op["kind"] == "gemm" else
             [op["r"], op["s"], stride[0] if isinstance(stride, list) else stride, 1, 1, 1, 1])
    return " ".join(map(str, [op["kind"], *shape, math.prod(row["grid"] or [1]), row["kernel"]])) + "\n"


def complaint(row):
    """Returns what the kernel's name does not tell our code (analyzer/model/calibrated), or None."""
    answer, op = row["analyzer"], row["op"]
    if op["kind"] == "gemm":  # a matrix by a vector has kernels of other kinds
        return "no tile in the name" if answer[0] == "-" and min(op["m"], op["n"]) > 1 else None
    if answer[0] == "-":
        return "known for no convolution"
    by = re.match(r"forward by algorithm (\d+)$", row["call"])
    expected = ALGORITHMS.get(int(by.group(1))) if by else None
    return None if expected in (None, answer[0]) else f"taken for {answer[0]}, expected {expected}"


def lines_of_kernels(hosts, simulated, kernel_words, table):
    """Returns the lines of claim 39, and writes the table of all calls with their kernels."""
    rows = [{**row, "library": host.name} for host in hosts for row in host.rows
            if row["op"] and row["op"]["kind"] in ("gemm", "conv") and row["kernel"]]
    if not rows:
        return [("SKIP", "39: no call of cuBLAS or cuDNN gave its operation")]
    answers = subprocess.run([kernel_words], input="".join(map(question, rows)), capture_output=True, text=True, timeout=20,
                             check=True).stdout.splitlines()
    twins = {}
    for host in simulated:
        for row in host.rows:
            twins.setdefault((host.name, row["call"]), []).append(row)
    for row, answer in zip(rows, answers):
        row["analyzer"] = answer.split()
        found = twins.get((row["library"], row["call"]))
        row["simulated"] = found.pop(0)["kernels"] if found else None
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["library", "call", "op", "kernels", "about", "analyzer", "simulated"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    lines = []
    for kind, what in (("gemm", "products' kernels have a tile in their names"), ("conv", "convolutions' kernels are known by their names")):
        mine = [row for row in rows if row["op"]["kind"] == kind]
        faults = [f"{row['call']}: {row['kernel']}: {words}" for row in mine if (words := complaint(row))]
        if not mine:
            lines.append(("SKIP", f"39: no call of kind {kind}"))
        elif faults:
            lines.append(("FAIL", f"39: {len(mine) - len(faults)} of {len(mine)} {what}: {' | '.join(faults)}"))
        else:
            lines.append(("PASS", f"39: all {len(mine)} {what}"))
    products = [row["analyzer"] for row in rows if row["op"]["kind"] == "gemm"]
    lines.append(("FIGURE", f"39: the blocks bear out the tile of {sum(answer[1] != '-' for answer in products)} of {len(products)} "
                            f"products; splits of k {' '.join(answer[2] for answer in products if answer[2] != '-')}"))
    beside = [row for row in rows if row["simulated"] is not None]
    if beside:
        same = sum(len(row["kernels"]) == len(row["simulated"]) for row in beside)
        lines.append(("FIGURE", f"39: {same} of {len(beside)} calls launch as many kernels as the simulated ones"))
    return lines


# --- ranks on two GPUs (claim 47)

RANKS, LAYERS, WIDTH, BATCH = 2, 4, 4096, 4096
ITERATIONS_OF_RANKS, REPEAT_OF_RANKS = 600, 8  # enough for the samples of each of the 29 events
# Both ranks leave a collective together: on each, its start and its length add up to the same moment, counted from
# iterations that begin apart by a constant.  Event times and the end of a kernel come on top.
MOST_APART_MS, LEAST_WAIT_MS = 0.05, 0.05


def collectives_of(profile):
    return sorted((event for event in profile["events"] if event["event_name"] == "all_reduce"),
                  key=lambda event: event["met_times_within_this_stream"])


def check_ranks(profiles):
    """Raises Failure unless each rank has each collective, and all agree on what it is."""
    same = set()
    for rank, profile in enumerate(profiles):
        events = collectives_of(profile)
        if profile.get("rank") != rank or len(events) != LAYERS:
            raise Failure(f"the profile of rank {rank} says rank {profile.get('rank')}, and has {len(events)} events all_reduce, "
                          f"expected {LAYERS}")
        for place, event in enumerate(events):
            op = event.get("op") or {}
            expected = {"kind": "collective", "op": "all_reduce", "count": WIDTH * WIDTH, "ranks": RANKS, "sequence": place,
                        "source": "ncclAllReduce"}
            wrong = differences({"ops": [expected]}, event) + ([] if event["calls"] == 1 else [f"calls {event['calls']}"])
            if wrong or not event["measured_times_ms"]:
                raise Failure(f"rank {rank}, all_reduce #{place}: {'; '.join(wrong) or 'no sample'}")
            same.add((op["comm"], op["type"], op["bytes"]))
    if len(same) != 1:
        raise Failure(f"ranks differ in communicator, type or bytes: {sorted(same)}")
    return f"{LAYERS} ncclAllReduce of {same.pop()[2]} bytes are events on each of {RANKS} ranks"


def check_waiting(profiles):
    """Raises Failure unless rank 0, which comes early, has the longer collectives, by what it waits."""
    medians = [[(statistics.median(event["measured_times_ms"]), statistics.median(event["iter_start_to_event_start_times_ms"]))
                for event in collectives_of(profile)] for profile in profiles]
    longer = [early[0] - late[0] for early, late in zip(*medians)]
    apart = [more - (late[1] - early[1]) for more, early, late in zip(longer, *medians)]
    text = (f"the early rank's collectives are longer by {', '.join(f'{more * 1e3:.0f}' for more in longer)} us; its iterations "
            f"begin {statistics.median(apart) * 1e3:.0f} us before the other's")
    if min(longer) < LEAST_WAIT_MS or max(apart) - min(apart) > max(MOST_APART_MS, 0.1 * max(longer)):
        raise Failure(f"{text}; expected: each longer by {LEAST_WAIT_MS * 1e3:.0f} us at least, and all by what they start "
                      f"earlier and the iterations begin apart")
    return text


def check_weights(said):
    if "simulated GPU" in said:
        raise Skip("weights are not computed on the simulated GPU")
    line = next((line for line in said.splitlines() if line.startswith(("PASS", "FAIL"))), "")
    if not line.startswith("PASS"):
        raise Failure(f"the example says '{line or 'nothing of its weights'}'")
    return line[len("PASS: "):]


def check_allreduce(check):
    program, work = check.build / "examples/allreduce/allreduce", check.folder / "ranks"
    if not program.exists():
        raise Skip("examples/allreduce was not built: no NCCL in this toolkit")
    gpus = int(run(check.command("gpu.py"), {}, 20).stdout)
    if gpus < RANKS:
        raise Skip(f"{gpus} GPU{'' if gpus == 1 else 's'} here, {RANKS} are needed")
    work.mkdir(exist_ok=True)
    # The last rank has half as many samples again, so that the first one waits for it.
    variables = preloaded(check.library, "", warmup=10, repeat=REPEAT_OF_RANKS, dir=work)
    del variables["INLINE_PROF_OUT"]  # one file for each rank
    said = run([program, "--ranks", RANKS, "--imbalance", "50", "--layers", LAYERS, "--width", WIDTH, "--batch", BATCH,
                "--iterations", ITERATIONS_OF_RANKS], variables, 15).stdout
    files = sorted(work.glob("*.prof.json"))
    if len(files) != RANKS:
        raise Failure(f"{len(files)} profiles, expected {RANKS}: {', '.join(file.name for file in files)}")
    profiles = sorted((json.loads(file.read_text()) for file in files), key=lambda profile: profile.get("rank", 0))
    for judge_one, given in ((check_ranks, profiles), (check_weights, said), (check_waiting, profiles)):
        check.judge("47", "", judge_one, given)


def hosts_of(check, names, variables=None):
    work = check.folder / ("simulated" if variables else "real")
    work.mkdir(exist_ok=True)
    commands = {"conv": [check.build / "examples/conv/conv", "--iterations", 1000], "torch": [*check.command("torch_programs.py"), "calls"],
                "cublas": [*check.command("library_calls.py"), "cublas", "cublaslt"]}
    with concurrent.futures.ThreadPoolExecutor() as pool:  # nothing here is a time: they may run side by side
        return list(pool.map(lambda name: Host(name, commands.get(name, [*check.command("library_calls.py"), name]), check.library, work,
                                               variables or {}), names))


def part_libraries(check):
    with check.claim("37, 38, 39, 42, 43, 44, 46, 47"):
        check.need(check.library)
        check.need_gpu()
        # The first start of cuDNN loads all of it.
        check.answers("cudnn_descriptors", [*check.command("library_calls.py"), "descriptors"], "38, 44", 20)
        # LIBRARY_CALLS: another table, for the rehearsals.
        known = json.loads(pathlib.Path(os.environ.get("LIBRARY_CALLS", check.scripts / "library_calls.json")).read_text())
        real, simulated, folder = hosts_of(check, known), [], check.build / "simgpu/lib"
        lines = [line for host in real for line in lines_of_host(host, known[host.name])]
        lines.append(line_of_example(next(host for host in real if host.name == "conv")))
        lines.append(line_of_names([host.profile for host in real if host.profile]))
        # A simulated library that is not there would be the real one.
        missing = [name for name in ("cuda", "cublas", "cublasLt", "cudnn") if not list(folder.glob(f"lib{name}.so.*"))]
        if missing:
            lines.append(("SKIP", f"39: nothing is set beside the real kernels: no simulated lib{missing[0]} was built"))
        else:  # which needs no GPU
            simulated = hosts_of(check, ("cublas", "cudnn"), {"LD_LIBRARY_PATH": str(folder)})
            for host in simulated:
                lines_of_host(host, known[host.name])
        lines += lines_of_kernels(real, simulated, check.program("kernel_words"), check.folder / "kernels.csv")
        for word, text in lines:
            check.say(word, text)
    with check.claim("47"):
        check_allreduce(check)
