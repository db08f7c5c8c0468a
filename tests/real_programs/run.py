#!/usr/bin/env python3
"""Runs programs that we did not write on the simulated GPU: each bare, under the injected library, with --torch, and in a
warm-up that does not end, in which every launch is counted.

README.md beside this file says what is asserted, docs/compatibility.md is the result. Exit status: 0 all passed, 1 something failed, 2 the environment cannot be used.
"""

import argparse
import collections
import dataclasses
import itertools
import json
import os
import pathlib
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
import time

import idle
import operators

try:
    import jsonschema
except ImportError:  # Debian's python3-jsonschema
    jsonschema = None

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PROGRAMS = HERE / "programs"


WAYS = ("bare", "library", "torch", "counted", "copies", "idle")


@dataclasses.dataclass
class Program:
    name: str
    command: list
    steps: tuple  # of a short and of a full run
    loops: bool = True  # an optimizer's steps can be seen from Python
    torch: bool = True  # it has modules
    ranks: int = 1
    short: bool = False  # it is in the short form
    more_steps: int = 0  # before the loop
    repeat: int = 1  # samples of an event
    more_launches: int = 0  # in the step that operators are learned in: PyTorch does some of its own in another way then
    cuda12: bool = False  # its packages are those for CUDA 12
    frameworks: bool = False  # its packages are those of requirements_frameworks.txt
    dry_ms: int = 0  # the host's clock is real time, and the GPU has nothing to do for so long in every step
    late: int = -1  # the rank that the others wait for
    short_copies: bool = False  # copies are counted in the short form
    short_idle: bool = False  # why it was idle is asked in the short form
    explained: int = 80  # percent of what the report says is idle that must be laid to its true reason
    idle_steps: int = 1400  # for idle_repeat samples of each event
    idle_policy: str = "in_order"  # in which they are taken
    idle_repeat: int = 3  # samples of each event where the host's clock is real time
    chooses: bool = False  # it times kernels that do the same, and takes the fastest
    switches: int = 0  # what comes behind so many steps launches something else
    status: int = 0  # its exit status; a signal's number is negative
    ways: tuple = WAYS  # in which it is run
    variables: dict = dataclasses.field(default_factory=dict)  # its environment besides
    says: str = ""  # must stand in its output, or beside it

    def count(self, is_short):
        return self.steps[0 if is_short else 1]

    def has(self, way, is_short):
        if way == "idle" and (is_short and not self.short_idle or not self.loops or self.switches or self.status):
            return False
        if way == "copies" and (is_short and not self.short_copies or self.status):
            return False
        return way in self.ways and (way not in ("torch", "idle") or self.torch)

    def argv(self, python, steps):
        start = [python]
        if self.ranks > 1:
            start += ["-m", "torch.distributed.run", "--nproc-per-node", str(self.ranks)]
        return [*start, *map(str, self.command), "--steps", str(steps)]


# Full runs are long enough for all samples.
def gpt(way, steps=120, full=400, **more):
    return Program("gpt " + way, [PROGRAMS / "gpt.py", way], (steps, full), **more)


def model(name, full=200, **more):
    return Program(name, [PROGRAMS / "transformers_models.py", name], (60, full), **more)


def switching(way):
    """About 190 samples are wanted of the steps before the change, which are fewer: a profile that has all is complete, and nothing
    is looked for behind it."""
    before = 150
    return Program("switching " + way, [PROGRAMS / "switching.py", way, "--before", before], (300, 600), switches=before)


def late(kind):
    return Program(f"{kind}, rank 1 late", [PROGRAMS / "distributed.py", kind, "--late", "1"], (60, 200), ranks=2, late=1,
                   idle_steps=300, explained=0, ways=("bare", "idle"))


def framework(name, ranks, more_launches=0, ways=("bare", "library", "torch")):
    return Program(name.replace("_", " "), [PROGRAMS / "frameworks.py", name], (60, 400), ranks=ranks, frameworks=True, short=True,
                   ways=ways, loops=False, more_launches=more_launches)


TABLE = [
    Program("example gpt", [PROGRAMS / "examples.py", "gpt"], (40, 400)),
    Program("example dlrm", [PROGRAMS / "examples.py", "dlrm"], (40, 420), more_launches=12),  # indices are checked
    gpt("fused", steps=260, short=True, short_idle=True), gpt("foreach", idle_steps=2000),
    gpt("scaled", short=True, idle_steps=2000), gpt("accumulated", full=960, idle_steps=2000),
    gpt("checkpointed"), gpt("compiled"), gpt("compiled_with_graphs", full=4000, explained=70),
    gpt("evaluated", full=3300, repeat=12, explained=70),
    gpt("captured", full=4000, short=True, more_steps=3, short_idle=True, idle_steps=3600),
    gpt("graphed_callables", full=2000, idle_steps=2000),
    model("trainer_llama", full=450, explained=70), model("trainer_bert", full=450), model("generate_static", loops=False),
    model("generate_dynamic", loops=False),
    Program("resnet", [PROGRAMS / "resnet.py"], (10, 900), idle_steps=2000, chooses=True),
    Program("layers", [PROGRAMS / "layers.py"], (60, 200)),
    Program("ddp", [PROGRAMS / "distributed.py", "ddp"], (60, 200), ranks=2, idle_repeat=20, idle_steps=1400, idle_policy="interleaved",
            explained=0),
    Program("fsdp2", [PROGRAMS / "distributed.py", "fsdp2"], (60, 200), ranks=2, idle_repeat=20, idle_steps=1600,
            idle_policy="interleaved", explained=0),
    late("ddp"),
    late("fsdp2"),
    Program("lightning", [PROGRAMS / "lightning_loop.py"], (150, 400)),
    # Too short for iterations to be found: the profile is written all the same.
    Program("lightning, a few steps", [PROGRAMS / "lightning_loop.py"], (40, 40)),
    Program("triton", [PROGRAMS / "triton_kernels.py"], (120, 400), torch=False, short=True),
    Program("gpt cudaMallocAsync", [PROGRAMS / "gpt.py", "fused"], (120, 400),
            variables={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}),
    Program("unsimulated", [PROGRAMS / "bad_inputs.py", "unsimulated"], (150, 400), short=True,
            says="cufftCreate is not simulated"),
    Program("old driver", [PROGRAMS / "bad_inputs.py", "old_driver"], (1, 1), short=True, ways=("bare",),
            variables={"SIMGPU_DRIVER_VERSION": "12080"}, says="driver on your system is too old"),
    Program("sharing", [PROGRAMS / "sharing.py"], (5, 50), ways=("bare",)),
    Program("starved", [PROGRAMS / "starved.py"], (60, 200), dry_ms=20, idle_steps=200),
    Program("cupy", [PROGRAMS / "cupy_arrays.py"], (120, 400), torch=False, cuda12=True),
    switching("captured"), switching("compiled"), switching("smaller"),
    Program("switching epochs", [PROGRAMS / "switching.py", "epochs"], (300, 600)),
    Program("dying of an exception", [PROGRAMS / "dying.py", "exception"], (120, 400), status=1),
    # Nothing of the program runs any more, and what the simulator had not done yet is not in its log.
    Program("dying of a signal", [PROGRAMS / "dying.py", "signal"], (120, 400), status=-15, ways=("bare", "library", "torch")),
    Program("loader", [PROGRAMS / "loader.py"], (150, 400), short=True, short_copies=True),
]
TABLE += [framework("megatron", 2), framework("megatron_pipeline", 2), framework("accelerate", 1),
          framework("deepspeed_zero2", 2), framework("float8", 1), framework("unet", 1), framework("mixtral", 1, more_launches=36),
          framework("torchrec", 1), framework("titan", 2)]
LIBRARY, COUNTED = ("bare", "library"), ("bare", "library", "counted")
TABLE += [Program(name, [PROGRAMS / file, *more], (300, 2000), frameworks=True, short=True, ways=ways, torch=False, loops=False)
          for name, ways, file, *more in (("jax", LIBRARY, "jax_loop.py"),  # its graphs are made without a capture, as tinygrad's are
                                          ("jax scan", LIBRARY, "jax_loop.py", "--scan"), ("tinygrad", LIBRARY, "tinygrad_loop.py"),
                                          ("cuda.core", COUNTED, "cuda_core_kernels.py"), ("numba", COUNTED, "numba_kernels.py"))]
LEAST_EXPLAINED_IN_SHORT = 60  # the machine may be loaded
OURS = "inline_prof_"  # what our own kernels' names begin with


class Failed(Exception):
    """A sentence: what was found and what was expected."""


def environment(options, program, way, folder):
    surroundings = {name: value for name, value in os.environ.items()
                    if not name.startswith(("SIMGPU_", "INLINE_PROF_"))}
    surroundings.update(
        LD_LIBRARY_PATH=f"{options.simulated_gpu}:{options.toolkit}",
        PYTHONPATH=str(HERE / "site"), PYTHONDONTWRITEBYTECODE="1", REAL_PROGRAMS_LIBRARIES=str(folder / "libraries"),
        SIMGPU_DEVICES=str(program.ranks),
        SIMGPU_TIMELINE=str(folder / "timeline"), HF_HUB_OFFLINE="1", TORCHINDUCTOR_COMPILE_THREADS="1",
        TORCHINDUCTOR_CACHE_DIR=str(options.cache / "inductor"), TRITON_CACHE_DIR=str(options.cache / "triton"))
    surroundings.update(program.variables)
    if program.dry_ms or way == "idle":
        surroundings["SIMGPU_HOST_CLOCK"] = "real"
    if program.frameworks:
        surroundings["PYTHONPATH"] += f":{options.frameworks}"
        surroundings["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    if program.cuda12:
        if not options.cuda12:
            raise Failed("expected --cuda12 FOLDER: its packages are those for CUDA 12")
        surroundings["PYTHONPATH"] += f":{options.cuda12}"
        surroundings["LD_LIBRARY_PATH"] = (f"{options.simulated_gpu}:{options.cuda12}/nvidia/cuda_nvrtc/lib:"
                                           f"{options.toolkit}")
        surroundings.update(CUPY_CACHE_DIR=str(options.cache / "cupy"), CUDA_PATH=str(pathlib.Path(options.toolkit).parent))
    return surroundings


def run(options, program, way, folder):
    (folder / "libraries").mkdir()
    surroundings = environment(options, program, way, folder)
    argv = program.argv(options.python, program.idle_steps if way == "idle" else program.count(options.short))
    if way != "bare":
        surroundings.update(INLINE_PROF_OUT=str(folder / "prof.r%r.json"), INLINE_PROF_REPEAT=str(program.repeat),
                            INLINE_PROF_WARMUP="1000000000" if way == "counted" else "10")
        if way == "torch":
            # The GPU is what a step waits for; and a run is done with its last sample.
            surroundings["INLINE_PROF_OVERHEAD"] = "0"
            if not program.dry_ms:
                surroundings["SIMGPU_HOST_SPEED"] = "0.01"
        if way == "copies":
            surroundings["INLINE_PROF_ITERATION"] = "macro"  # which nobody calls
        if way == "counted":
            surroundings["REAL_PROGRAMS_NAMES"] = str(folder / "names")
        if way == "idle":
            surroundings.update(INLINE_PROF_REPEAT=str(program.idle_repeat), INLINE_PROF_POLICY=program.idle_policy,
                                INLINE_PROF_OVERHEAD="0", REAL_PROGRAMS_STEPS="1")
        with_torch = way in ("torch", "idle") or way == "counted" and program.torch
        argv = [options.prof_run, *(["--torch"] if with_torch else []), "--", *argv]
    return subprocess.run(argv, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=options.timeout, check=False)


def check_bare(options, program, folder, done):
    if done.returncode != program.status:
        raise Failed(f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
    loaded = {line for file in folder.glob("libraries/[0-9]*") for line in file.read_text().splitlines()}
    if not loaded and program.status >= 0:  # a signal ends a program before it can say
        raise Failed("no CUDA library was loaded: expected the simulated ones")
    foreign = sorted(path for path in loaded if not path.startswith(str(options.simulated_gpu)))
    if foreign:
        raise Failed(f"{foreign[0]} was loaded: expected only libraries in {options.simulated_gpu}")


def gaps_between_work(folder):
    """[(begin of the device's work, ns without any before it)] in the timeline, but for the first."""
    with open(folder / "timeline", encoding="utf-8") as lines:
        columns = [line.split("\t") for line in lines]
    work = sorted((int(row[5]), int(row[5]) + int(row[6])) for row in columns)
    ends = itertools.accumulate((end for _, end in work), max)
    return [(begin, max(0, begin - end)) for (begin, _), end in zip(work[1:], ends)]


def check_dry(options, program, folder):
    """Between two steps the GPU has nothing to do."""
    gaps = sum(gap >= program.dry_ms * 1e6 for _, gap in gaps_between_work(folder))
    if gaps < program.count(options.short) - 1:
        raise Failed(f"{gaps} times {program.dry_ms} ms without work: expected one for each step")


def true_idle(folder):
    """Percent of the time without work, in the second half of the program."""
    gaps = gaps_between_work(folder)
    gaps = gaps[len(gaps) // 2:]
    return 100 * sum(gap for _, gap in gaps[1:]) / (gaps[-1][0] - gaps[0][0])


def launches_in_timeline(folder):
    """The program's own kernels: {process: (launched, nodes of graphs that ran)}."""
    counts = {}
    with open(folder / "timeline", encoding="utf-8") as lines:
        for line in lines:
            kind, process, _, _, _, _, _, place, name, *_ = line.rstrip("\n").split("\t")
            if kind == "kernel" and not name.startswith(OURS):
                launched, nodes = counts.setdefault(int(process), ([0], set()))
                if place:
                    nodes.add(place)
                else:
                    launched[0] += 1
    return {process: (launched[0], len(nodes)) for process, (launched, nodes) in counts.items()}


def launches_in_order(folder):
    """Returns the program's own launches: (kernels of each process, in their order; kernels of each graph that ran, by their
    nodes). Clones of graphs are ours."""
    launched, graphs = {}, {}
    with open(folder / "timeline", encoding="utf-8") as lines:
        for line in lines:
            kind, process, _, _, _, _, _, place, name, number, *_ = line.rstrip("\n").split("\t")
            if kind != "kernel" or name.startswith(OURS):
                continue
            graph, _, node = place.partition(":")
            if not place:
                launched.setdefault(process, {})[int(number)] = name
            elif not graph.endswith("c"):
                graphs.setdefault((process, graph), {})[int(node)] = name
    return tuple(sorted([names[at] for at in sorted(names)] for names in found.values()) for found in (launched, graphs))


def check_same_launches(program, bare, found):
    """While operators are learned, and while a graph is captured, a program launches what it does without us."""
    for bare_names, names in zip(bare[0], found[0]):
        more = len(names) - len(bare_names)
        same = next((at for at, pair in enumerate(zip(bare_names, names)) if pair[0] != pair[1]), len(bare_names))
        if more != program.more_launches or collections.Counter(bare_names) - collections.Counter(names) or \
                more == 0 and same < len(bare_names):
            raise Failed(f"{len(names)} launches of the program's own, the first {same} of them as without the library: expected "
                         f"{len(bare_names)} and {program.more_launches} more in one step")
    if bare[1] != found[1]:
        raise Failed(f"graphs of {list(map(len, found[1]))} kernels: expected those of {list(map(len, bare[1]))}")


def share_of_copies(folder):
    """Percent of the device's work that copies and fills are: nobody launches them."""
    copies = work = 0
    with open(folder / "timeline", encoding="utf-8") as lines:
        for line in lines:
            kind, _, _, _, _, _, length, *_ = line.split("\t")
            work += int(length)
            copies += int(length) if kind != "kernel" else 0
    return 100 * copies / max(work, 1)


def share_within_truth(profile, truth, only_tight):
    """(rows whose median lies where it should, rows) of the kernels whose launches all take the same time, collectives aside, which
    wait for other ranks. Of a GPU that runs dry, a sample that is not tight may hold a wait: it is an upper bound."""
    durations = {}
    for row in truth["kernels"]:
        durations.setdefault((row["mangled"], tuple(row["grid"])), set()).add(row["nominal_us"])
    bias = next((c["empty_kernel_pair_us"]["median"] for c in profile["calibration"] if c["state"] == "busy"), 0.0)
    empty_kernel_us = min((row["nominal_us"] for row in truth["kernels"]), default=0.0)
    within = rows = 0
    for event in profile["events"]:
        nominal = durations.get((event.get("kernel_name"), tuple(event.get("grid") or ())), set())
        tight = event["tight"] or [None] * len(event["measured_times_ms"])
        samples = [ms for ms, is_tight in zip(event["measured_times_ms"], tight) if is_tight or not only_tight]
        waits = (event.get("kernel_name") or "").startswith("nccl")
        if len(event.get("kernel_names") or ()) != 1 or len(nominal) != 1 or not samples or waits:
            continue
        rows += 1
        median = statistics.median(samples) * 1000
        (true,) = nominal
        # The pair's own time is between nothing and what the calibration says; 2 % noise, 0.5 us of resolution.
        if true * 0.96 - 0.5 <= median <= true * 1.04 + max(bias, empty_kernel_us) + 0.5:
            within += 1
    return within, rows


def check_profile(program, folder, said):
    """Checks a profile, whatever found its iterations. Returns it, and words for the table."""
    files = sorted(folder.glob("prof.r*.json"))
    if len(files) != program.ranks:
        raise Failed(f"{len(files)} profiles: expected {program.ranks}; "
                     f"{'; '.join(line for line in said.splitlines() if line.startswith('inline_prof'))}")
    for file in files if jsonschema else ():
        schema = json.loads((REPOSITORY / "docs/schemas/prof.schema.json").read_text())
        for error in jsonschema.Draft7Validator(schema).iter_errors(json.loads(file.read_text())):
            raise Failed(f"{file.name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    profile = json.loads(files[0].read_text())
    if not profile["events"]:
        raise Failed(f"{files[0].name}: no events")
    launched, nodes = launches_in_timeline(folder).get(profile["process_id"], (0, 0))
    seen = profile["overhead"]["launches_seen"]
    if seen > launched + nodes:
        raise Failed(f"launches_seen {seen}: the simulator logged {launched}, and {nodes} that were captured")
    words = f"{len(profile['events'])} events, {len(profile['iter_time_ms'])} iterations"
    for each in [profile, *(json.loads(file.read_text()) for file in files[1:])]:
        truth = folder / f"libraries/truth.{each['process_id']}.json"
        if not truth.exists():  # a signal has ended the program
            continue
        within, rows = share_within_truth(each, json.loads(truth.read_text()), program.dry_ms > 0)
        words += f", {within} of {rows} rows within truth"
        if rows > 0 and within < 0.9 * rows:
            raise Failed(f"{within} of {rows} medians within the truth's interval: expected 90 %")
    return profile, words


def check_iterations(options, program, profile):
    """With --torch an iteration is a step of the loop. A profile that is complete does not say how many the program made: one of a
    warm-up that does not end does."""
    if profile["profiler"]["iteration_source"] not in ("macro", "optimizer"):
        raise Failed(f"iterations by {profile['profiler']['iteration_source']}: expected the optimizer's steps")
    steps = program.count(options.short) + program.more_steps
    for words in profile["warnings"]:
        ended = re.match(r"the program ended (?:at|in the warm-up, after) iteration (\d+)", words)
        if ended and abs(int(ended[1]) - steps) > 1:
            raise Failed(f"the program ended at iteration {ended[1]}: expected {steps}")
        if ended:
            return f", {ended[1]} iterations of {steps} steps"
    return ""


def check_phases(program, way, options, profile):
    """A program that launches something else behind some steps has two phases with samples; with --torch an iteration is a step."""
    checked_every = 32  # iterations, so that a change may be seen so much later
    phases = [phase for phase in profile.get("phases", []) if phase["measured"]]
    if len(phases) != 2:
        raise Failed(f"{len(phases)} phases were measured: expected 2")
    sampled = collections.Counter(event["phase"] for event in profile["events"] if event["measured_times_ms"])
    if len(sampled) != 2:
        raise Failed(f"samples in {len(sampled)} phases: expected 2")
    first, second = phases[0]["stretches"][-1][1], phases[1]["stretches"][0][0]
    change = program.switches
    if way == "torch" and not change - checked_every <= first <= change < second <= change + checked_every:
        raise Failed(f"the phases end and begin at iterations {first} and {second}: expected at most {checked_every} from {change}")
    return f", phases until {first} and from {second}"


def check_every_launch(options, program, folder, said):
    """Each launch was counted exactly once, one that is captured when it is captured; and each step of the loop."""
    files = sorted(folder.glob("prof.r*.json"))
    if len(files) != program.ranks:
        raise Failed(f"{len(files)} profiles: expected {program.ranks}; {said}")
    counts = launches_in_timeline(folder)
    words = []
    for file in files:
        profile = json.loads(file.read_text())
        launched, nodes = counts[profile["process_id"]]
        seen = profile["overhead"]["launches_seen"]
        if seen != launched + nodes:
            raise Failed(f"{file.name}: launches_seen {seen}: the simulator logged {launched}, and {nodes} captured")
        steps = check_iterations(options, program, profile) if program.torch and program.loops else ""
        if program.torch and program.loops and not steps:
            raise Failed(f"no word of the iteration at which the program ended: {profile['warnings']}")
        words.append(f"{launched} launches" + (f", {nodes} captured" if nodes else "") + steps + check_names(program, folder, profile))
    return "; ".join(words)


def check_every_copy(folder, said):
    """In a run without iterations an event's calls are those of the whole run: each copy and fill outside graphs is one of them."""
    logged, counted, words = collections.Counter(), collections.Counter(), []
    with open(folder / "timeline", encoding="utf-8") as lines:
        for line in lines:
            kind, process, _, _, _, _, _, place, *_ = line.split("\t")
            if kind != "kernel" and not place:
                logged[int(process)] += 1
    for file in sorted(folder.glob("prof.r*.json")):
        profile = json.loads(file.read_text())
        counted[profile["process_id"]] = sum(
            event["calls"] for event in profile["events"]
            if (event.get("op") or {}).get("kind") == "copy" and not event["in_cuda_graph"])
        words.append(f"{counted[profile['process_id']]} copies and fills")
    if not words or counted != logged:
        raise Failed(f"{dict(counted)} copies and fills were counted: the simulator logged {dict(logged)}; {said}")
    return "; ".join(words)


def spans_of(marks, is_wanted, has_gaps):
    """Launches of the last stretch of wanted paths: [(first, behind the last, path)]; marks are (launch, path). A stretch ends with a
    path that is not wanted, of which an empty one is where `has_gaps` is false."""
    spans = []
    for (first, path), (behind, _) in reversed(list(zip(marks, marks[1:]))):
        if path and is_wanted(path):
            spans.append((first, behind, path))
        elif (path or not has_gaps) and spans and behind > first:
            break
    return spans


LEAST_NAMED = {"forward": 1.0, "backward": 0.99}


def check_names(program, folder, profile):
    """Launches of the last forward and the last backward pass have the path of the module that programs/names.py saw them in."""
    process = profile["process_id"]
    file = folder / f"names.{process}"
    if not file.exists():
        return ""
    *lines, end = file.read_text().splitlines()
    if end != "end":
        raise Failed(f"{file.name} ends with {end}: expected end")
    marks = [(int(number), path) for number, _, path in (line.partition(" ") for line in lines)]
    launched = {}  # number of the launch -> kernel
    with open(folder / "timeline", encoding="utf-8") as timeline:
        for line in timeline:
            kind, logged_process, _, _, _, _, _, place, name, number, *_ = line.rstrip("\n").split("\t")
            if kind == "kernel" and int(logged_process) == process and not place:
                launched[int(number)] = name
    if len(launched) != marks[-1][0]:
        raise Failed(f"{len(launched)} launches in the log: expected {marks[-1][0]}")
    named, regions = collections.Counter(), set()  # a region names each kernel once, however often it was launched
    for event in profile["events"]:
        for name in event.get("kernel_names") or ():
            named[name, event["layer_name"]] += 1
            if not event.get("grid"):
                regions.add((name, event["layer_name"]))
    words = ""
    for kind, least in LEAST_NAMED.items():
        if kind == "backward" and not program.loops:
            continue  # no training: one forward pass follows the other
        spans = spans_of(marks, lambda path: path.endswith(".backward") == (kind == "backward"), program.loops)
        truth = collections.Counter(
            (launched[at], path) for first, behind, path in spans for at in range(first, behind))
        count = sum(truth.values())
        wrong = collections.Counter({key: lost for key, lost in (truth - named).items() if key not in regions})
        right = count - sum(wrong.values())
        if count == 0 or right < least * count:
            raise Failed(f"{right} of {count} launches of the {kind} pass with their path: expected {100 * least:.0f} %; "
                         f"{', '.join(f'{path}: {name[:60]}' for name, path in list(wrong)[:3])}")
        words += f", {kind} {right} of {count} named"
    return words


def analysis_of(options, *arguments):
    done = subprocess.run([options.prof_analyze, *map(str, arguments), "--format", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"prof-analyze: {done.stderr.strip()}")
    return json.loads(done.stdout)


def check_end(options, program, folder, profile):
    """Checks a run that took its last sample: its events make up the iteration, and nothing of ours is left in PyTorch's
    tables and modules."""
    steps_behind_gpu = 64  # at most: a sample is read once the GPU is there
    if not profile["complete"]:
        return ""
    # The second of two phases has all its samples.
    analysis = analysis_of(options, folder / "prof.r0.json", *(["--phase", 2] if program.switches else []))
    idle_percent = analysis["shares"]["idle"]
    most = 2.0 + share_of_copies(folder)
    if program.dry_ms:
        true = true_idle(folder)
        if abs(idle_percent - true) > 3:
            raise Failed(f"{idle_percent:.1f} % of the iteration idle: expected {true:.1f} %, 3 more or less")
    elif idle_percent > most:
        raise Failed(f"{idle_percent:.1f} % of the iteration idle or not seen: expected {most:.1f} % at most")
    operations = operators.check(program.name, analysis, profile)
    last = max(max(event["iterations"], default=0) for event in profile["events"])
    # A signal ends a program before it can say what is left.
    if last + steps_behind_gpu > program.count(options.short) or program.status < 0:
        return f", {100 - idle_percent:.1f} % measured or seen{operations}"
    # torchrun's own process imports PyTorch, and makes no step.
    ranks = {json.loads(file.read_text())["process_id"] for file in folder.glob("prof.r*.json")}
    left = sorted({line for rank in ranks for line in (folder / f"libraries/left.{rank}").read_text().splitlines()})
    if left:
        raise Failed(f"left behind: {', '.join(left)}")
    return f", {100 - idle_percent:.1f} % measured or seen, nothing left{operations}"


def check_idle(options, program, folder, done):
    if done.returncode != program.status:
        raise Failed(f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
    words = []
    for file in sorted(folder.glob("prof.r*.json")):
        words.append(idle.check(folder, json.loads(file.read_text()), analysis_of(options, file),
                                min(program.explained, LEAST_EXPLAINED_IN_SHORT) if options.short else program.explained))
    if program.late >= 0:
        words.append(check_late(options, program, folder))
    return "; ".join(words)


def check_late(options, program, folder):
    """The report of all ranks, and `prof-analyze ranks`, name the one that the others wait for."""
    files = sorted(folder.glob("prof.r*.json"))
    waited, last = collections.Counter(), collections.Counter()
    for wait in analysis_of(options, *files)["rank_waits"]:
        waited[pathlib.Path(wait["for_file"]).name] += wait["exposed_us"]
    for split in analysis_of(options, "ranks", *files)["collectives"]:
        last[split["last"]["rank"]] += split["wait_us"]
    if not waited or waited.most_common(1)[0][0] != f"prof.r{program.late}.json" or last.most_common(1)[0][0] != program.late:
        raise Failed(f"waiting for {dict(waited)} and for ranks {dict(last)}: expected rank {program.late}")
    return (f"{sum(waited.values()) / 1e3:.1f} ms of waiting in collectives, {waited.most_common(1)[0][1] / 1e3:.1f} for "
            f"rank {program.late}")


def check(options, program, way, folder, bare):
    done = run(options, program, way, folder)
    if program.says not in done.stdout + done.stderr:
        raise Failed(f"{done.stdout!r} and {done.stderr!r}: expected {program.says!r}")
    if way == "bare":
        check_bare(options, program, folder, done)
        if program.dry_ms:
            check_dry(options, program, folder)
        has_launched = program.status >= 0 and (folder / "timeline").exists()
        done.launches = launches_in_order(folder) if has_launched else None
        done.profile = None  # with --torch
        return done, ""
    if way == "idle":
        return done, check_idle(options, program, folder, done)
    # Ranks print in any order.
    if (done.returncode, sorted(done.stdout.splitlines())) != (bare.returncode, sorted(bare.stdout.splitlines())):
        raise Failed(f"exit status {done.returncode} and {done.stdout!r}: expected {bare.returncode} and "
                     f"{bare.stdout!r}; {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")
    if way == "counted":
        words = check_every_launch(options, program, folder, done.stderr)
        for truth in sorted(folder.glob("element_wise.*"))[:1 if bare.profile else 0]:
            words += operators.check_bytes(bare.profile, truth)
        return done, words
    if way == "copies":
        return done, check_every_copy(folder, done.stderr)
    profile, words = check_profile(program, folder, done.stderr)
    if program.name == "jax":
        fusions = [event for event in profile["events"] if "fusion" in event["event_name"]]
        unknown = [event["event_name"] for event in fusions
                   if "op" not in event or not event["layer_name"].startswith("jit(step).")]
        if not fusions or unknown:
            raise Failed(f"{len(fusions)} fusions of XLA, without operation or layer: {unknown}")
    if way == "torch" and program.loops:
        words += check_iterations(options, program, profile)
    if program.switches:
        words += check_phases(program, way, options, profile)
    if way == "torch":
        # A compiler with a cold cache tries kernels.
        if bare.launches and not program.chooses and program.name not in operators.COMPILED:
            check_same_launches(program, bare.launches, launches_in_order(folder))
        words += check_end(options, program, folder, profile)
        bare.profile = profile
    return done, words


def version_of_torch(python):
    """(version, CUDA's) of the interpreter's torch, which is not imported: one for another CUDA could not be."""
    done = subprocess.run([python, "-c", "import importlib.util as i; spec = i.find_spec('torch'); print(spec.origin if spec else '')"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    if not done.stdout.strip():
        raise Failed("no torch: expected PyTorch 2 for CUDA 13")
    values = runpy.run_path(str(pathlib.Path(done.stdout.strip()).with_name("version.py")))
    number, cuda = values["__version__"], values.get("cuda")
    if not (cuda or "").startswith("13."):
        raise Failed(f"torch {number} is for {f'CUDA {cuda}' if cuda else 'the CPU'}: expected CUDA 13")
    return number, cuda


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="the interpreter of the environment with the programs")
    parser.add_argument("--simulated-gpu", required=True, type=pathlib.Path)
    parser.add_argument("--prof-run", required=True)
    parser.add_argument("--prof-analyze", required=True)
    parser.add_argument("--toolkit", default="/usr/local/cuda/lib64", help="libraries that are loaded, but not called")
    parser.add_argument("--frameworks", type=pathlib.Path, help="folder with their packages: only their programs are run")
    parser.add_argument("--cuda12", type=pathlib.Path, help="folder with the packages of programs for CUDA 12")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "real_programs")
    parser.add_argument("--short", action="store_true", help="few programs, few steps")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each run")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for everything that the runs write")
    parser.add_argument("program", nargs="*", help="names; all if none is given")
    options = parser.parse_args()
    try:
        number, cuda = version_of_torch(options.python)
    except (Failed, OSError) as fault:
        print(f"real programs: {options.python}: {getattr(fault, 'strerror', None) or fault}", file=sys.stderr)
        return 2
    print(f"PyTorch {number}, CUDA {cuda}", flush=True)
    failed = passed = 0
    for program in TABLE:
        if program.name not in options.program if options.program else options.short and not program.short:
            continue
        if program.frameworks != bool(options.frameworks):
            continue
        bare = None
        for way in program.ways:
            is_short = options.short and not options.program
            if options.way and way not in options.way and way != "bare" or not program.has(way, is_short):
                continue
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                if options.keep:
                    folder = options.keep / f"{program.name} {way}".replace(" ", "_")
                    folder.mkdir(parents=True)
                begin = time.monotonic()
                try:
                    done, words = check(options, program, way, folder, bare)
                    bare = bare or done
                    passed += 1
                    print(f"passed  {program.name:24} {way:8} {time.monotonic() - begin:5.0f} s  {words}", flush=True)
                except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as fault:
                    failed += 1
                    print(f"FAILED  {program.name:24} {way:8} {time.monotonic() - begin:5.0f} s  {fault}", flush=True)
                    if way == "bare":
                        break
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
