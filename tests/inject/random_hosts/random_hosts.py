#!/usr/bin/env python3
"""Draws programs at random, and holds the profiler to its promises in each.

    random_hosts.py --build DIR [--seed N] [--count N] [--seconds N] [--keep DIR]
    random_hosts.py --build DIR --replay FILE...

A seed draws a program (steps of tests/inject/hosts/host_script.cpp) and settings of the library.  The
program runs bare and under the library, on the simulated GPU, and both runs are compared: output and exit
status, launches and device times as the simulator knows them, memory, the kernel behind every sample, the
counts, and that nothing has fewer samples than asked without a word.  A program that fails is made smaller
until nothing more can be left out, and printed; --keep also saves it, and --replay runs such a file again.

Exit status: 0 no program failed, 1 one did (it is printed), 2 the command line is wrong.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KERNELS = 4  # of a module, as in host_script.cpp
PER_THREAD = 1
RUN_SECONDS = 100  # a program that hangs; the longest takes 5 s on an idle machine
# Resident memory that the library may add, with the simulated driver's for the library's events and copies of graphs,
# which have a bound of their own.  Seen: 6 MiB.
MOST_KIB = 16 * 1024
# Processor time, all threads: calibration, the search for iterations and the file, and what counting and measuring
# cost a call.  Seen on a loaded machine with two cores: 0.1 s, and 1.4 us a call of 280,000.
MOST_CPU_SECONDS = 2
MOST_CPU_SECONDS_A_CALL = 10e-6
MOST_LINES = 16
# A pair of the simulated GPU behind other work is exact; the clock has steps of a nanosecond.
TOLERANCE_US = 0.02


@dataclasses.dataclass
class Host:
    seed: int
    settings: dict  # environment
    injected: bool  # by CUDA_INJECTION64_PATH and not by LD_PRELOAD
    setup: list
    turns: int
    body: list
    rest: list

    def script(self):
        return "\n".join([*self.setup, f"loop {self.turns}", *self.body, "end", *self.rest]) + "\n"

    def text(self):
        lines = [f"# seed {self.seed}", f"# injected {int(self.injected)}"]
        lines += [f"# set {name}={value}" for name, value in self.settings.items()]
        return "\n".join(lines) + "\n" + self.script()


def from_text(text):
    host = Host(0, {}, False, [], 0, [], [])
    part = host.setup
    for line in text.splitlines():
        if line.startswith("# seed "):
            host.seed = int(line.split()[2])
        elif line.startswith("# injected "):
            host.injected = line.split()[2] == "1"
        elif line.startswith("# set "):
            name, _, value = line[len("# set "):].partition("=")
            host.settings[name] = value
        elif line.startswith("loop "):
            host.turns = int(line.split()[1])
            part = host.body
        elif line == "end":
            part = host.rest
        elif line and not line.startswith("#"):
            part.append(line)
    return host


# --- drawing


def kernel_us(module, index):
    """Every kernel takes a time of its own, so that a sample tells whose it is."""
    return 10 + 7 * module + 1.5 * index if module % 2 == 0 else 1000 + 7 * module + 1.5 * index


def draw_settings(draw):
    settings = {
        "INLINE_PROF_WARMUP": draw.choice([1, 2, 3, 5, 10]),
        "INLINE_PROF_REPEAT": draw.choice([1, 2, 3, 5]),
        "SIMGPU_HOST_SPEED": 0,
        "SIMGPU_SEED": draw.randrange(1000),
    }
    if draw.choice([True, True, False]):
        settings["INLINE_PROF_OVERHEAD"] = 0
    mode = draw.choice(["fine_grained"] * 4 + ["one_shot", "data"])
    if mode != "fine_grained":
        settings["INLINE_PROF_MODE"] = mode
    if mode == "one_shot":
        settings["PROFILING_REPEAT_ITERS"] = 10
        settings["PROFILING_RECORD_EVERY_N"] = draw.choice([1, 3])
    policy = draw.choice(["in_order", "in_order", "interleaved", "adaptive"])
    if policy != "in_order":
        settings["INLINE_PROF_POLICY"] = policy
    if policy == "adaptive":
        settings["INLINE_PROF_BUDGET"] = "10%"
    if draw.random() < 0.15:
        settings["INLINE_PROF_CHECKPOINT"] = 1
    if draw.random() < 0.15:
        # Calls that the program does not make itself.
        function = draw.choice(["cuEventRecord", "cuEventElapsedTime", "cuEventQuery", "cuEventCreate",
                                "cuFuncGetName", "cuFuncGetModule", "cuGraphClone", "cuStreamIsCapturing",
                                "cuStreamGetCtx", "cuCtxGetDevice", "cuGraphNodeFindInClone",
                                "cuGraphKernelNodeGetParams", "cuStreamWaitValue32"])
        after, count = draw.choice([(0, 1), (0, 1000000), (draw.randrange(2000), draw.choice([1, 20]))])
        settings["SIMGPU_FAIL"] = f"{function}:{draw.choice([1, 2, 400, 700, 719, 801])}:after={after}:count={count}"
    if draw.random() < 0.2:
        settings["INLINE_PROF_WATCH"] = "10%"
    return settings


def marker_kernel(body):
    """A kernel of which the main thread makes one launch in every turn, and nobody another one."""
    launches = [line.split(" ") for line in body if "launch" in line.split(" ")]
    names = [tuple(words[words.index("launch") + 1:][:2]) for words in launches]
    if any("replay" in line for line in body):
        return None  # a graph may have it, too
    for words, (module, index) in zip(launches, names):
        if words[0] == "launch" and words[4] == "1" and names.count((module, index)) == 1:
            return f"m{module}_k{index}"
    return None


def draw_host(seed):
    draw = random.Random(seed)
    settings = draw_settings(draw)
    setup, body, rest = [], [], []
    has = lambda chance: draw.random() < chance
    modules = draw.randrange(1, 4)
    setup.append(f"context 0 {draw.choice(['primary', 'primary', 'create'])}")
    is_primary = setup[0].endswith("primary")
    created = draw.randrange(0, 3)
    streams = list(range(2, 2 + created))
    # Work on both default streams would wait for each other, and a sample hold the waiting.
    if not streams or has(0.4):
        streams.append(draw.choice([0, PER_THREAD, PER_THREAD]))
    setup += [f"stream {stream}" for stream in streams if stream > 1]
    kinds = [draw.choice(["module", "module", "library"]) for _ in range(modules)]
    load = [f"module {m} m{m} {kinds[m]}" for m in range(modules)]
    setup += load

    if has(0.05):
        setup.append(f"many {draw.choice([2000, 10000])} {streams[0]}")

    # The work of an iteration.
    labels = 0
    for _ in range(draw.randrange(1, 6)):
        stream = draw.choice(streams)
        launch = f"launch {draw.randrange(modules)} {draw.randrange(KERNELS)} {stream} {draw.randrange(1, 3)}"
        thread = f"@{draw.randrange(4)} " if has(0.2) else ""
        if has(0.25):
            other = f"@{draw.randrange(4)} " if has(0.5) else thread
            body += [f"{thread}label L{labels}.start {stream}", thread + launch,
                     f"{other}label L{labels}.stop {stream}"]
            if other != thread:
                body.append(f"{thread}launch {draw.randrange(modules)} {draw.randrange(KERNELS)} {stream} 1")
            labels += 1
        elif has(0.1):
            body.append("together " + launch)
        else:
            body.append(thread + launch)
    if has(0.1):
        body.append(f"?{draw.randrange(1, 4)}+0 label L9.{draw.choice(['start', 'stop'])} {streams[0]}")

    # Graphs beside plain launches.
    if has(0.4):
        stream = draw.choice(streams)
        module = draw.randrange(modules)
        kind = draw.choice(["graph", "capture"]) if stream != 0 else "graph"
        make = f"{kind} 0 {module} {draw.randrange(1, 5)}" + (f" {stream}" if kind == "capture" else "")
        if has(0.3):
            body += [make, f"replay 0 {stream}", "ungraph 0"]
        else:
            setup.append(make)
            body.insert(draw.randrange(len(body) + 1), f"replay 0 {draw.choice(streams) if has(0.3) else stream}")
            if has(0.4):
                body.append(f"launch {module} 0 {draw.choice(streams)} 1")  # beside the graph that has it, too
            if has(0.3):
                body.append(f"?{draw.randrange(2, 9)}+1 update 0 {draw.randrange(modules)} {draw.randrange(1, 5)}")
    if has(0.06):
        setup.append(f"churn {draw.choice([2000, 40000])} 0 {streams[0]}")
    if has(0.05):
        body.append(f"churn 20 0 {streams[0]}")
    if has(0.1):
        body.append(f"badlaunch 0 0 {streams[0]}")

    # Streams, modules, contexts and processes that come and go.
    every = draw.choice([1, 1, 7, 13])
    also = random.Random(f"{seed}: streams that stay")  # whose draws leave the others as they are
    if created and also.random() < 0.15:
        again = also.choice([1, 5, 20])
        body += [f"?{again}+0 sync", f"?{again}+0 restream {also.choice(range(2, 2 + created))}"]
    if created and has(0.25):
        stream = draw.choice(range(2, 2 + created))
        body += [f"?{every}+0 sync", f"?{every}+0 unstream {stream}", f"?{every}+0 stream {stream}"]
    if has(0.2):
        turn = draw.randrange(1, 60)
        gone = draw.randrange(modules)
        new = draw.randrange(modules, modules + 3)
        body += [f"!{turn} unmodule {gone}", f"!{turn} module {gone} m{draw.choice([gone, new])} {kinds[gone]}"]
    if has(0.1):
        # Two modules in turn, of which the second may get the handles of the first.
        gone, period = draw.randrange(modules), draw.choice([1, 1, 5])
        for turn, name in ((0, f"m{gone}"), (period, f"m{gone + 3}")):
            body += [f"?{2 * period}+{turn} sync", f"?{2 * period}+{turn} unmodule {gone}",
                     f"?{2 * period}+{turn} module {gone} {name} {kinds[gone]}"]
    if is_primary and has(0.15):
        again = [f"stream {stream}" for stream in streams if stream > 1] + load
        turn = draw.randrange(1, 60)
        body += [f"!{turn} {step}" for step in ["reset", *again]]
    if has(0.05):
        body.append(f"!{draw.randrange(40)} fork")

    # The begin of iterations, and their number.
    draw.shuffle(body) if has(0.1) else None
    source = draw.choice(["macro", "macro", "macro", "auto", "none"])
    if source == "macro":
        body.insert(0, "iteration")
    if source != "auto":
        settings["INLINE_PROF_ITERATION"] = "macro"
    marker = marker_kernel(body) if source == "macro" and also.random() < 0.3 else None
    if marker is not None:
        body.remove("iteration")
        settings["INLINE_PROF_ITERATION"] = f"kernel:{marker}"
    if has(0.9):
        body.append("sync")
    turns = draw.choice([3, 20, 60, 150, 400])

    # The end.
    end = draw.choice(["return"] * 6 + ["finish exit 5", "finish _exit 3", "finish quick_exit 4", "finish abort",
                                        "finish exec", f"raise {int(signal.SIGTERM)}",
                                        f"raise {int(signal.SIGKILL)}"])
    if end != "return":
        if has(0.5):
            rest.append(end)
        else:
            body.append(f"!{draw.randrange(turns)} {end}")
    injected = has(0.15)
    if not injected and has(0.15):
        settings["INLINE_PROF_BACKEND"] = "cupti"
    return Host(seed, settings, injected, setup, turns, body, rest)


# --- running


@dataclasses.dataclass
class Run:
    status: int  # as a shell gives it: 128 + N for signal N; 124 where it was stopped
    output: str
    errors: str
    profile: dict  # None: none was written
    truth: dict
    cpu_seconds: float


def model_file(folder):
    rules = [{"name": f"m{module}_k{index}", "duration_us": kernel_us(module, index), "per_block_us": 0}
             for module in range(8) for index in range(KERNELS)]
    path = folder / "model.json"
    path.write_text(json.dumps({"rules": rules}))
    return path


def json_at(path):
    return json.loads(path.read_text()) if path.exists() else None


def cpu_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(host, build, with_library):
    ours = ("INLINE_PROF_", "PROFILING_", "SIMGPU_", "LD_", "CUDA_", "NVTX_", "RANK", "WORLD_SIZE", "LOCAL_RANK")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with tempfile.TemporaryDirectory(prefix="random_host_") as name:
        folder = pathlib.Path(name)
        (folder / "script").write_text(host.script())
        environment.update({k: str(v) for k, v in host.settings.items()})
        environment.update({"LD_LIBRARY_PATH": str(build / "simgpu/lib"), "SIMGPU_MODEL": str(model_file(folder)),
                            "SIMGPU_TRUTH": str(folder / "truth.json"), "SIMGPU_TRUTH_DURATIONS": "0"})
        if with_library:
            library = str(build / "libinject/libinline_prof.so")
            environment["CUDA_INJECTION64_PATH" if host.injected else "LD_PRELOAD"] = library
        else:
            environment.pop("SIMGPU_FAIL", None)  # aimed at calls of the library's
        cpu_before = cpu_seconds_of_children()
        process = subprocess.Popen([build / "tests/inject/hosts/host_script", "script"], cwd=folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            output, errors = process.communicate(timeout=RUN_SECONDS)
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            status = 124
        return Run(status, output, errors, json_at(folder / "prof.json"), json_at(folder / "truth.json"),
                   cpu_seconds_of_children() - cpu_before)


# --- checking


def answers(output):
    return re.sub(r"^peak .*$", "", output, flags=re.M)


def peak_kib(output):
    found = re.search(r"^peak (\d+) KiB", output, flags=re.M)
    return int(found.group(1)) if found else None


def true_counts(truth):
    counts = {}
    for row in truth["kernels"]:
        if row["mangled"].startswith("inline_prof_"):
            continue
        key = (row["mangled"], row["in_graph"])
        counts[key] = counts.get(key, 0) + row["count"]
    return counts


def launched_every_turn(host):
    """Kernels that each iteration launches outside of labels, on a stream and in a module that stay."""
    unsteady = {line.split(" ")[1 + line.split(" ").index("module")] for line in host.body if " module " in line}
    open_on = {}
    kernels = set()
    for line in host.body:
        words = line.split(" ")
        if words[0][0] in "?!":
            if "label" in words:
                return set()
            continue
        thread = words.pop(0) if words[0][0] == "@" else "main"
        if words[0] == "together":
            words.pop(0)
        if words[0] == "label":
            name, is_start = words[1].rsplit(".", 1)[0], words[1].endswith(".start")
            open_on.setdefault(words[2], set())
            (open_on[words[2]].add if is_start else open_on[words[2]].discard)(name)
        elif words[0] == "launch" and words[1] not in unsteady and not open_on.get(words[3]):
            kernels.add(f"m{words[1]}_k{words[2]}")
    if any(open_on.values()):
        return set()
    labelled = labelled_kernels(host)
    return kernels - labelled


def labelled_kernels(host):
    """Returns kernels that are launched inside some label, without telling the launches apart."""
    inside, kernels = 0, set()
    for line in host.body:
        words = line.split(" ")
        if "label" in words:
            inside += 1 if words[words.index("label") + 1].endswith(".start") else -1
        elif inside > 0 and "launch" in words:
            at = words.index("launch")
            kernels.add(f"m{words[at + 1]}_k{words[at + 2]}")
    return kernels


def is_label(event):
    return event["event_name"].startswith("L")


def names_of(event):
    return event.get("kernel_names") or ([event["kernel_name"]] if event.get("kernel_name") else [])


def samples_of(event):
    return event.get("measured_times_ms", [])


def duration_of(kernel):
    found = re.fullmatch(r"m(\d+)_k(\d+)", kernel)
    return kernel_us(int(found.group(1)), int(found.group(2))) if found else None


def check_harm(bare, ours):
    """Yields each difference between the two runs."""
    if bare.status == 124:
        return  # its own fault
    if ours.status != bare.status:
        yield f"status: {ours.status}, and {bare.status} without the library"
        return
    if answers(ours.output) != answers(bare.output):
        yield f"output: {answers(ours.output)!r}, and {answers(bare.output)!r} without the library"
    for line in ours.errors.splitlines():
        if not line.startswith("inline_prof: ") and line not in bare.errors:
            yield f"stderr: {line!r}"
    if ours.errors.count("\n") > MOST_LINES:
        yield f"stderr: {ours.errors.count(chr(10))} lines"
    if bare.truth and ours.truth:
        if true_counts(bare.truth) != true_counts(ours.truth):
            yield "launches: the device ran others than without the library"
    kib = (peak_kib(bare.output), peak_kib(ours.output))
    if None not in kib and kib[1] - kib[0] > MOST_KIB:
        yield f"memory: {kib[1] - kib[0]} KiB more than without the library"
    calls = re.search(r"^(\d+) calls", bare.output, flags=re.M)
    seconds = ours.cpu_seconds - bare.cpu_seconds
    if calls and seconds > MOST_CPU_SECONDS + MOST_CPU_SECONDS_A_CALL * int(calls.group(1)):
        yield f"time: {seconds:.1f} s more of the processor than without the library"


def check_samples(profile):
    """The kernel behind every sample is the one that the event is said to be."""
    for event in profile["events"]:
        names = names_of(event)
        flags = event.get("flags", [])
        if is_label(event) or len(names) != 1 or duration_of(names[0]) is None or "graph_whole" in flags:
            continue
        true_us = duration_of(names[0])
        for sample_ms in samples_of(event):
            if abs(sample_ms * 1e3 - true_us) > TOLERANCE_US + true_us * 1e-6:
                yield f"kernel: {event['event_name']} takes {true_us} us, and a sample says {sample_ms * 1e3:.3f}"
                break


def says_why(profile, event):
    return bool(event.get("reason")) or any("sample" in text for text in profile.get("warnings", []))


def check_words(host, bare, ours):
    """Nothing ends with fewer samples than asked without a word."""
    profile = ours.profile
    lines = [line for line in ours.errors.splitlines() if line.startswith("inline_prof: ")]
    was_killed = ours.status >= 128
    if profile is None:
        return
    # A run with iterations may have been over before.
    if profile["complete"] and was_killed and profile["profiler"]["iteration_source"] == "none":
        yield f"complete: after the status {ours.status}"
    if any("profiling went off" in text for text in profile.get("warnings", [])) and profile["complete"]:
        yield "complete: after profiling went off"
    if not profile["complete"] and ours.status != 128 + signal.SIGKILL and not lines:
        if any(f" {how}" in host.script() for how in ("_exit", "quick_exit", "abort", "exec")):
            return  # a checkpoint
        yield "silent: not complete, and no line on stderr"
    if not profile["complete"] or host.settings.get("INLINE_PROF_MODE") == "data":
        return
    wanted = int(host.settings["INLINE_PROF_REPEAT"])
    if host.settings.get("INLINE_PROF_MODE") == "one_shot":
        wanted = 1
    if profile["profiler"]["iteration_source"] == "none" or host.settings.get("INLINE_PROF_POLICY") == "adaptive":
        wanted = 0  # as many as there was time for
    for event in profile["events"]:
        if len(samples_of(event)) < wanted and not says_why(profile, event):
            yield f"silent: complete, and {event['event_name']} has {len(samples_of(event))} of {wanted} samples"
            return
        if wanted > 0 and not samples_of(event) and event.get("flags") == ["graph_node"]:
            yield f"graph: complete, and {event['event_name']}, which could be measured, has no sample"
            return
    if wanted > 0 and profile["events"] and not profile["iter_time_ms"] and not says_why(profile, {}):
        yield "silent: complete, and no iteration has a time"
        return
    if "SIMGPU_FAIL" in host.settings or profile["profiler"]["iteration_source"] == "none":
        return
    seen = {name for event in profile["events"] if not is_label(event) for name in names_of(event)}
    counts = true_counts(bare.truth) if bare.truth else {}
    for kernel in sorted(launched_every_turn(host) - seen):
        # A step may name a stream that is not there in its turn.
        if not lines and counts.get((kernel, False), 0) >= host.turns:
            yield f"silent: complete, and {kernel} is no event"
            return


def check_counts(host, bare, ours):
    """Yields a launch that is not counted in a run that is one iteration as a whole."""
    profile = ours.profile
    if (profile is None or ours.truth is None or profile["profiler"]["iteration_source"] != "none"
            or not profile["complete"] or host.settings.get("INLINE_PROF_MODE") == "data"
            or "SIMGPU_FAIL" in host.settings or profile.get("not_seen") or "capture" in host.script()):
        return
    counted = {}
    for event in profile["events"]:
        if "kernel_name" in event or names_of(event):
            counted[names_of(event)[0]] = counted.get(names_of(event)[0], 0) + event["calls"]
    for (kernel, in_graph), count in true_counts(ours.truth).items():
        if not in_graph and counted.get(kernel, 0) != count:
            yield f"counts: {kernel} was launched {count} times, and {counted.get(kernel, 0)} are counted"
            return


def failures(host, build):
    bare = run(host, build, False)
    ours = run(host, build, True)
    found = list(check_harm(bare, ours))
    if ours.status == bare.status:
        if ours.profile is not None:
            found += check_samples(ours.profile)
        found += check_words(host, bare, ours)
        found += check_counts(host, bare, ours)
    return found


# --- making it smaller


def kinds(found):
    """Returns the complaints without names and numbers."""
    return {re.sub(r"\b[a-z]*\d[\w.~]*|\bno samples|'.*'", "*", text, flags=re.I) for text in found}


def shrink(host, found, build):
    """Leaves out what is not needed for a failure of the same kind."""
    wanted = kinds(found)

    def still_fails(candidate):
        return bool(wanted & kinds(failures(candidate, build)))

    def without_parts(lines, rebuilt):
        size = max(len(lines) // 2, 1)
        while True:
            at = 0
            while at < len(lines):
                fewer = lines[:at] + lines[at + size:]
                if still_fails(rebuilt(fewer)):
                    lines = fewer
                else:
                    at += size
            if size == 1:
                return lines
            size //= 2

    while True:
        before = host.text()
        for part in ("body", "setup", "rest"):
            lines = without_parts(getattr(host, part), lambda fewer: dataclasses.replace(host, **{part: fewer}))
            host = dataclasses.replace(host, **{part: lines})
        for name in list(host.settings):
            if name == "SIMGPU_HOST_SPEED" or name == "INLINE_PROF_REPEAT":
                continue
            fewer = {key: value for key, value in host.settings.items() if key != name}
            if still_fails(dataclasses.replace(host, settings=fewer)):
                host = dataclasses.replace(host, settings=fewer)
        if host.injected and still_fails(dataclasses.replace(host, injected=False)):
            host = dataclasses.replace(host, injected=False)
        while host.turns > 1 and still_fails(dataclasses.replace(host, turns=host.turns // 2)):
            host = dataclasses.replace(host, turns=host.turns // 2)
        if host.text() == before:
            return host


# --- the command


def report(host, found, build, keep):
    small = shrink(host, found, build)
    print(f"seed {host.seed} fails: {'; '.join(found)}")
    print("made smaller: " + "; ".join(failures(small, build)))
    print(small.text(), flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"seed_{host.seed}.host").write_text(small.text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder of the project")
    parser.add_argument("--seed", type=int, default=1, help="of the first program (default 1)")
    parser.add_argument("--count", type=int, default=0, help="programs at most (default 0: as time allows)")
    parser.add_argument("--seconds", type=float, default=60, help="no program is begun later (default 60)")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the programs that fail")
    parser.add_argument("--all", action="store_true", help="go on after a failure")
    parser.add_argument("--no-shrink", action="store_true", help="only say which seeds fail, and how")
    parser.add_argument("--replay", type=pathlib.Path, nargs="+", help="run these programs, or those in a folder")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "tests/inject/hosts/host_script").exists():
        parser.error(f"{build}: tests/inject/hosts/host_script is not there; build it first")
    if shutil.which("true") is None:
        parser.error("no /bin/true")
    if options.replay:
        failed = 0
        paths = [each for path in options.replay for each in (sorted(path.glob("*.host")) if path.is_dir() else [path])]
        for path in paths:
            found = failures(from_text(path.read_text()), build)
            print(f"{path.name}: {'; '.join(found) or 'ok'}", flush=True)
            failed += bool(found)
        return 1 if failed else 0
    begin = time.monotonic()
    ran = failed = 0
    seed = options.seed
    while time.monotonic() - begin < options.seconds and (options.count == 0 or ran < options.count):
        host = draw_host(seed)
        found = failures(host, build)
        ran += 1
        if found:
            failed += 1
            if options.no_shrink:
                print(f"seed {seed} fails: {'; '.join(found)}", flush=True)
            else:
                report(host, found, build, options.keep)
            if not options.all:
                return 1
        seed += 1
    print(f"{ran} programs, seeds {options.seed} to {seed - 1}: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
