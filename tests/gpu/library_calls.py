#!/usr/bin/env python3
"""Do wrapped library calls give their operations?  Hosts make calls of known shapes under the injected library, and
what prof.json says of each is compared with library_calls.json, field by field.

    library_calls.py --library LIBINLINE_PROF --work DIR [--launches FILE] [--rows FILE] [--expected FILE]
                     --host NAME=PROGRAM... [-- ...]

NAME is a host of library_calls.json; PROGRAM may be a script.  --launches: what nccl_launches printed, to know
which calls copy where they could launch.  --rows: where the calls with their kernels go, for library_kernels.py.

Prints lines `PASS|FAIL|SKIP CLAIM: TEXT`, each with the number of its claim in docs/gpu_results.md:

  42  each call's event says what the call computes
  37  examples/conv (host conv) learns, with the algorithms that cuDNN's heuristic puts first
  46  a driver before CUDA 12.3 does not tell kernels' names; they are known all the same

Exit status 1 if one failed, 77 if nothing could run.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import sys

from host_program import SKIPPED, Failure, Skip, preloaded, run

MOST_WORDS = 4  # faults that a line tells
SETTINGS = {"warmup": 3, "repeat": 2}
NAMES_SINCE = (12, 3)  # CUDA's version from which drivers have cuFuncGetName
NAMELESS = re.compile(r"kernel_without_a_name(~\d+)?$")
# The example says nothing of its calls, and is told how long to learn.
CALLS_OF_EXAMPLES = {"conv": (["--iterations", "1000"], ["layers forward", "layers backward"])}
TELLS_SOME = ("conv", "torch")


# --- what was expected

def expected_of(known, call, ranks):
    """The events that a call should give: [{"event": [names], "ops": [alternatives]}]; raises KeyError."""
    number = re.search(r"\d+$", call)
    entries = known[call] if call in known else known[call[:number.start()] + "*" if number else call]
    events = []
    for entry in entries:
        if entry.get("ranks", "any") not in ("any", "several" if ranks > 1 else "one"):
            continue
        op = {key: int(number.group()) if value == "*" else value for key, value in entry["op"].items()}
        if op["kind"] == "collective":
            op["ranks"] = ranks
            if entry.get("of_all_ranks"):
                op["bytes"] *= ranks
        names = entry["event"] if isinstance(entry["event"], list) else [entry["event"]]
        alternatives = [op] + ([{**op, **entry["or"]}] if "or" in entry else [])
        events += [{"event": names, "ops": alternatives}] * entry.get("times", 1)
    return events


# --- what was found

def differences(expected, op):
    """Fields of `expected` that the operation has otherwise, in words."""
    if not op:
        return ["no operation"]
    return [f"{key} {json.dumps(op.get(key))}, expected {json.dumps(value)}"
            for key, value in expected.items() if op.get(key) != value]


def nearest(wanted, event):
    return min((differences(op, event.get("op")) for op in wanted["ops"]), key=len)


def assign(wanted, events):
    """The event of each wanted one and its differences, (None, [words]) where there is none left of its name.

    What fits altogether comes first, so that one event that is wrong or missing spoils no other.
    """
    left = sorted(events, key=lambda event: event["start_index"])
    found = [None] * len(wanted)
    for must_fit in (True, False):
        for place, want in enumerate(wanted):
            candidates = [(len(nearest(want, event)), i) for i, event in enumerate(left)
                          if event["event_name"] in want["event"]]
            if found[place] is None and candidates and not (must_fit and min(candidates)[0] > 0):
                event = left.pop(min(candidates)[1])
                found[place] = (event, nearest(want, event))
    return [one or (None, [f"no event {' or '.join(want['event'])} is left for it"])
            for one, want in zip(found, wanted)], left


def judge(known, calls, ranks, profile, all_are_told):
    """(rows, faults): what each call gave, and what is wrong, in words.

    Where all of an application's calls are told, an event that none of them has asked for is wrong, too.
    """
    wanted, owners, faults, rows = [], [], [], []
    for call in calls:
        try:
            events = expected_of(known, call, ranks)
        except KeyError:
            faults.append(f"{call}: library_calls.json does not know it")
            continue
        wanted += events
        owners += [call] * len(events)
    names = {name for want in wanted for name in want["event"]}
    devices = sorted({event["device_id"] for event in profile["events"]}) or [0]
    for device in devices:
        where = f" on GPU {device}" if len(devices) > 1 else ""
        events = [event for event in profile["events"]
                  if event["device_id"] == device and event["event_name"] in names]
        found, left = assign(wanted, events)
        for call, (event, words) in zip(owners, found):
            if words:
                faults.append(f"{call}{where}: {'; '.join(words)}")
            if event is not None:
                rows.append({"call": call, "op": event.get("op"), "kernels": event["kernel_names"],
                             "kernel": event["kernel_name"], "grid": event.get("grid"), "fits": not words})
        if all_are_told:
            faults += [f"{event['event_name']}{where}: nobody asked for {json.dumps(event.get('op'))}"
                       for event in left]
    return rows, faults


# --- hosts

class Host:
    def __init__(self, name, program, options):
        self.name, self.program, self.options = name, pathlib.Path(program), options
        arguments, self.calls = CALLS_OF_EXAMPLES.get(name, ([], []))
        self.command = ([sys.executable] if program.endswith(".py") else []) + [program, *arguments]
        self.profile, self.words, self.trouble, self.last_line = None, [], None, ""

    def watch(self):
        """Runs it; what happened is in its members."""
        path = self.options.work / f"{self.name}.prof.json"
        path.unlink(missing_ok=True)
        try:
            if not self.program.exists():
                raise Skip("it was not built: its library is not in this toolkit")
            said = run(self.command, preloaded(self.options.library, path, **SETTINGS), self.options.timeout)
            self.words = said.stdout.splitlines()
            self.last_line = (self.words or [""])[-1]
            if not path.exists():
                raise Failure("the injected library wrote no prof.json: " + said.last_words)
            self.profile = json.loads(path.read_text())
        except (Skip, Failure) as trouble:
            self.trouble = trouble
        except json.JSONDecodeError as error:
            self.trouble = Failure(f"{path.name}: {error}")
        (self.options.work / f"{self.name}.txt").write_text("\n".join(self.words) + "\n")
        return self

    def said(self, word):
        """[(name, words)] of the lines that begin with `word`."""
        parts = [line[len(word) + 1:].partition(": ") for line in self.words if line.startswith(word + " ")]
        return [(name, words) for name, _, words in parts]


def copies_of(path):
    """Calls of NCCL that launch no kernel here; None where nccl_launches did not say."""
    words = path.read_text() if path is not None and path.exists() else ""
    said = re.findall(r"^FIGURE 43: (.*), ranks \d+: (.*)$", words, re.MULTILINE)
    return {call for call, what in said if what.startswith("launches no kernel")} if said else None


def may_copy(known, call):
    """Whether a call of NCCL may be a mere copy on one rank; sends to itself are kernels."""
    return all(op.get("op") != "group" for event in expected_of(known, call, 1) for op in event["ops"])


def libraries_of(profile):
    return ", ".join(f"{name} {version}" for name, version in profile.get("libraries", {}).items())


def judge_host(host, known, copies):
    """([(word, text)], rows) of claim 42."""
    if host.trouble is not None:
        word = "SKIP" if isinstance(host.trouble, Skip) else "FAIL"
        return [(word, f"42: {host.name}: {host.trouble}")], []
    lines = [("FAIL", f"42: {host.name}: {name}: the library refused it: {words}")
             for name, words in host.said("refused")]
    lines += [("SKIP", f"42: {host.name}: {name}: {words}") for name, words in host.said("skipped")]
    ranks = int(next((name for name, _ in host.said("ranks")), 1))
    calls = [name for name, _ in host.said("call")] or host.calls
    for call in [call for call in calls if call in (copies or ())]:
        lines.append(("SKIP", f"42: {host.name}: {call}: it copies with {ranks} rank, there is no launch to describe"))
        calls.remove(call)
    if not calls:
        return lines or [("FAIL", f"42: {host.name}: it made no call")], []
    all_are_told = host.name not in TELLS_SOME
    rows, faults = judge(known, calls, ranks, host.profile, all_are_told)
    if copies is None and ranks == 1:
        met = {row["call"] for row in rows}
        unmet = [call for call in calls if call in known and call not in met and may_copy(known, call)]
        lines += [("SKIP", f"42: {host.name}: {call}: no event with 1 rank, where it may be a copy, and nccl_launches "
                           "did not say") for call in unmet]
        calls = [call for call in calls if call not in unmet]
        if not calls:
            return lines, []
        rows, faults = judge(known, calls, ranks, host.profile, all_are_told)
    about = dict(host.said("about"))
    for row in rows:
        row["about"] = about.get(row["call"], "")
    text = f"42: {host.name}: {len(calls)} calls ({libraries_of(host.profile)})"
    if not faults:
        return lines + [("PASS", f"{text}, all give their operations")], rows
    more = f"; and {len(faults) - MOST_WORDS} more" if len(faults) > MOST_WORDS else ""
    return lines + [("FAIL", f"{text}: {' | '.join(faults[:MOST_WORDS])}{more}"
                             f"{warnings_of(host.profile)}")], rows


def warnings_of(profile):
    warnings = profile.get("warnings", []) + profile.get("not_seen", [])
    return f"; the injected library says: {' | '.join(warnings[:MOST_WORDS])}" if warnings else ""


def judge_example(host):
    """(word, text) of claim 37."""
    if isinstance(host.trouble, Skip):
        return "SKIP", f"37: {host.trouble}"
    if host.trouble is not None:
        return "FAIL", f"37: {host.trouble}"
    algorithms = [f"{event['event_name']} {event['op'].get('algo')}" for event in host.profile["events"]
                  if event.get("op") and event["op"]["kind"] == "conv"]
    text = f"37: {host.last_line}; algorithms {', '.join(algorithms)} ({libraries_of(host.profile)})"
    if host.last_line.startswith("simulated GPU"):
        return "SKIP", text
    return ("PASS" if host.last_line.startswith("PASS") else "FAIL"), text


def judge_names(profiles):
    """(word, text) of claim 46."""
    versions = [tuple(map(int, re.findall(r"\d+", device.get("cuda_version") or "")))
                for profile in profiles for device in profile["devices"]]
    versions = [version for version in versions if version]
    if not versions:
        return "SKIP", "46: no profile says which CUDA the driver knows"
    words = ".".join(map(str, versions[0]))
    if versions[0] >= NAMES_SINCE:
        return "SKIP", f"46: the driver knows CUDA {words}, and kernels' names itself: one before 12.3 is needed"
    names = [name for profile in profiles for event in profile["events"] for name in event["kernel_names"]]
    nameless = sum(bool(NAMELESS.match(name)) for name in names)
    return ("PASS" if names and nameless == 0 else "FAIL",
            f"46: the driver knows CUDA {words}: {len(names)} kernels of libraries, {nameless} without a name")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--host", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--launches", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--expected", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_name("library_calls.json"))
    parser.add_argument("--timeout", type=float, default=25, help="seconds for each host")
    options = parser.parse_args()
    known = json.loads(options.expected.read_text())
    options.work.mkdir(parents=True, exist_ok=True)
    hosts = []
    for words in options.host:
        name, _, program = words.partition("=")
        if name not in known:
            parser.error(f"--host {words}: expected one of {', '.join(known)}")
        hosts.append(Host(name, program, options))
    # Nothing here is a time: they may run side by side.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(Host.watch, hosts))
    lines, rows = [], {}
    copies = copies_of(options.launches)
    for host in hosts:
        told, rows[host.name] = judge_host(host, known[host.name], copies if host.name == "nccl" else set())
        lines += told
        if host.name == "conv":
            lines.append(judge_example(host))
    profiles = [host.profile for host in hosts if host.profile is not None]
    lines.append(judge_names(profiles))
    if options.rows:
        versions = {host.name: libraries_of(host.profile) for host in hosts if host.profile is not None}
        gpus = sorted({device["uuid"] for profile in profiles for device in profile["devices"]})
        options.rows.write_text(json.dumps({"rows": rows, "libraries": versions, "gpus": gpus}, indent=1) + "\n")
    for word, text in lines:
        print(word, text)
    said = {word for word, _ in lines}
    return 1 if "FAIL" in said else 0 if said - {"SKIP"} else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
