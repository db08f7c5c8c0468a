#!/usr/bin/env python3
"""Builds on a machine with a GPU, and writes down what only a GPU can show.

    scripts/gpu_check.sh [--call 1|2|3] [--resume] [--only PART]... [--build-dir DIR] [--results DIR] [--list]

The parts, with the seconds that each may take, and the calls of ten minutes at most that share them out:

{parts}

measure takes what its call has left, up to 9 minutes 20 s, of which its budget is all but 80 s: 8 minutes, the
default of prof-model measure, where there is no call.

Every part says PASS, FAIL, SKIP or FIGURE, with figures or the reason, and with the numbers of the claims in
tests/gpu/claims.md.  The files of a part stay in DIR/gpu_check, so that --only repeats one part and the rest is kept;
--resume leaves out the parts that came to their end before.  The archive $OUT/gpu_results.tar.gz (OUT: default
gpu_results) holds everything, without host names, serial numbers and paths; $OUT/summary.txt has the lines alone,
$OUT/claims.txt those of each claim.  Libraries in third_party_offline/ (scripts/offline_deps.sh) are used.

A part over its limit is a FAIL, since an application that hangs under the injected library may be why; machine,
build and measure are SKIP then.

Exit status: 0 no part failed, 1 one did, 2 the command line is wrong, 3 the results or the archive cannot be written:
no permission, or a full disk.
"""

import argparse
import contextlib
import importlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

from host_program import PATIENCE, Failure, Skip, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CALL_S = 590  # a call of ten minutes, less the time to pack
LONGEST_MEASURE_S = 560
ARCHIVE_LIMIT_MIB = 16
MOST_BYTES_OF_A_FILE = 4 << 20

# Name: module with its function part_NAME, limit in seconds, the calls that it belongs to, what it does.
PARTS = {
    "machine": ("machine", 15, (1, 2, 3), "driver, clocks, compiler, libraries; MIG and MPS"),
    "build": ("machine", 170, (1, 2, 3), "the injected library, the analyzer, the examples and the GPU programs"),
    "census": ("census", 75, (1,), "every launch that CUPTI counts is seen"),
    "torch": ("census", 80, (1,), "the same for PyTorch, with a captured graph and NCCL, and for torch.compile"),
    "libraries": ("libraries", 45, (1,), "what library calls say they compute, their kernels, ranks on two GPUs"),
    "bias": ("pairs", 40, (1,), "event pairs around kernels of known length, against CUPTI's timestamps"),
    "backends": ("pairs", 35, (1,), "iteration times and pairs against CUPTI's; programmatic launches"),
    "results": ("cost", 45, (1,), "results are the same by every bit; compute-sanitizer finds nothing"),
    "rate": ("cost", 20, (1,), "what a launch costs the application thread"),
    "graphs": ("pairs", 20, (1,), "what event nodes read and cost; what clones of a graph cost and hold on to"),
    "demo": ("programs", 45, (1,), "the DLRM example under the injected library, and its report"),
    "overhead": ("cost", 110, (2,), "what measuring costs a loop, as ratios with intervals"),
    "training": ("training", 60, (2,), "loops of known course: iterations, budgets, NVTX ranges"),
    "examples": ("programs", 75, (2,), "DLRM, graphs and PyTorch: is their iteration explained?"),
    "measure": ("programs", 155, (2, 3), "prof-model measure, fits of its tables, and a run beside its shapes alone"),
}
SKIPPED_OVER_LIMIT = ("machine", "build", "measure")


def parts_of(call):
    return [name for name, (_, _, calls, _) in PARTS.items() if call in calls]


def usage():
    lines = []
    for call in (1, 2, 3):
        total = sum(PARTS[name][1] for name in parts_of(call))
        lines.append(f"  call {call}, {total // 60} minutes {total % 60} s together:")
        lines += [f"    {name:<10} {PARTS[name][1]:>4} s  {PARTS[name][3]}" for name in parts_of(call)]
    return __doc__.replace("{parts}", "\n".join(lines))


def claims():
    """Returns {number: (text, parts)} of the rows of claims.md beside this file."""
    rows = re.findall(r"^\| (\d+) \| (.*?) \|.*?\| (.*?) \| (?:not yet seen|seen.*?) \|$",
                      (SOURCE / "tests/gpu/claims.md").read_text(), re.MULTILINE)
    return {int(number): (text, set(re.findall(r"[a-z]+", checked_by)) & set(PARTS))
            for number, text, checked_by in rows}


def claims_of_line(line):
    """Returns the numbers of the claims that a line of a summary is about."""
    found = re.match(r"\w+ +\w+: ([\d, ]+):", line)
    return [int(number) for number in re.findall(r"\d+", found.group(1))] if found else []


class Check:
    """A part that runs: its folders, and the lines that it says."""

    def __init__(self, part, options):
        self.part, self.call, self.limit_s = part, options.call, options.run_limit
        self.source, self.build, self.results = SOURCE, options.build_dir, options.results
        self.folder = self.results / part
        self.library = self.build / "libinject/libinline_prof.so"
        self.census = self.build / "tests/gpu/libcensus_cupti.so"
        self.analyze = self.build / "analyzer/cli/prof-analyze"
        self.scripts = SOURCE / "tests/gpu"

    def program(self, name):
        return self.build / "tests/gpu" / name

    def command(self, name):
        """Returns how a program is started; scripts are not built."""
        return [sys.executable, self.scripts / name] if name.endswith(".py") else [self.program(name)]

    def say(self, word, text):
        print(f"{word:<6} {self.part}: {text}", flush=True)

    @contextlib.contextmanager
    def claim(self, numbers, name=""):
        """Says what is raised inside as a line of these claims."""
        prefix = f"{numbers}: {name}: " if name else f"{numbers}: "
        try:
            yield
        except Skip as reason:
            self.say("SKIP", f"{prefix}{reason}")
        except Failure as reason:
            self.say("FAIL", f"{prefix}{reason}")
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            self.say("FAIL", f"{prefix}a file is not as expected: {error!r}")

    def judge(self, numbers, name, function, *arguments):
        """Says what the function returns as what has passed."""
        with self.claim(numbers, name):
            self.say("PASS", ": ".join(filter(None, (numbers, name, function(*arguments)))))

    def need(self, *files):
        for file in files:
            if not pathlib.Path(file).exists():
                raise Skip(f"{file} was not built")

    def need_gpu(self):
        """Raises Skip where there is no GPU, for programs that take that for an error."""
        run(self.command("gpu.py"), {}, 20)

    def answers(self, name, command, numbers, timeout_s):
        """Takes over the lines of a program that says PASS, FAIL and FIGURE itself, also those before it fails."""
        with self.claim(numbers, name):
            trouble, said = None, ""
            try:
                said = run(command, {}, timeout_s).stdout
            except (Skip, Failure) as error:
                trouble, said = error, error.said
            for line in said.splitlines():
                word, _, text = line.partition(" ")
                self.say(word, text)
            if trouble is not None:
                raise trouble


def foreign_settings():
    """Returns the variables that would put another tool, or other settings of the injected library, into a host."""
    return [name for name in os.environ
            if re.match(r"(CUDA_INJECTION(32|64)_PATH|NVTX_INJECTION(32|64)_PATH|(INLINE_PROF|PROFILING)_.*)$", name)]


def run_part(options):
    part = options.run_part
    check = Check(part, options)
    os.chdir(check.folder)
    check.taken_out = foreign_settings()
    for name in check.taken_out:
        del os.environ[name]
    os.environ["GPU_CHECK_STEPS"] = str(check.program("libgpu_steps.so"))
    getattr(importlib.import_module(PARTS[part][0]), f"part_{part}")(check)
    return 0


def end_session(session):
    """Kills the processes of a part: a timeout inside it has a process group of its own, but all are one session."""
    for _ in range(3):  # what is being started in the first round is there in the second
        for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError):
                if int(file.read_text().rpartition(") ")[2].split()[3]) == session:
                    os.kill(int(file.parent.name), signal.SIGKILL)


def limit_of(part, options, started):
    limit = PATIENCE * PARTS[part][1]
    if part == "measure":
        left = CALL_S - int(time.monotonic() - started) if options.call else LONGEST_MEASURE_S
        limit = max(limit, min(left, LONGEST_MEASURE_S))
    return min(limit, options.at_most) if options.at_most else limit


def walk(part, options, started):
    """Runs a part in a session of its own; its summary is the lines that it said, and how it ended if not well."""
    folder = options.results / part
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    limit = limit_of(part, options, started)
    command = [sys.executable, __file__, "--build-dir", options.build_dir, "--results", options.results,
               "--run-part", part, "--run-limit", limit, *(("--call", options.call) if options.call else ())]
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end_session(process.pid)
            process.wait()
    said = (folder / "output.txt").read_text(errors="replace").strip().splitlines() or ["(nothing said)"]
    lines = [line for line in said if re.match(f"(PASS|FAIL|SKIP|FIGURE) +{part}: ", line)]
    if status is None:
        word = "SKIP" if part in SKIPPED_OVER_LIMIT else "FAIL"
        lines.append(f"{word:<6} {part}: over its limit of {limit} s; what it had not said by then is open")
    elif status != 0:
        lines.append(f"FAIL   {part}: ended with status {status}: {said[-1]}")
    else:
        (folder / "ended").touch()
    (folder / "summary").write_text("".join(line + "\n" for line in lines))
    print("\n".join(lines) or "nothing said", flush=True)


def has_failure(folder):
    return "FAIL  " in (folder / "summary").read_text()


def scrub(folder, options):
    """Takes from a copy of the results what identifies a machine or a person."""
    host = os.uname().nodename
    edits = [(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "GPU-uuid"),
             (r"((Serial Number|Board Part Number|GPU PDI|Chassis Serial Number|Module Id) *: ).*", r"\1-"),
             (r'("host_name": *)"[^"]*"', r'\1"host"'), (re.escape(str(options.results)), "results"),
             (re.escape(str(options.build_dir)), "build"), (re.escape(str(SOURCE)), "."),
             (re.escape(os.environ.get("HOME", "/nonexistent")) + "/", "~/")]
    if len(host) >= 3:  # a shorter name would be cut out of ordinary words
        edits.append((re.escape(host), "host"))
    for file in folder.rglob("*"):
        if not file.is_file() or b"\0" in file.read_bytes()[:8192]:
            continue
        text = file.read_text(errors="surrogateescape")[:MOST_BYTES_OF_A_FILE]  # logs can grow; figures cannot
        for pattern, replacement in edits:
            text = re.sub(pattern, replacement, text)
        file.write_text(text, errors="surrogateescape")


def pack(options, out):
    with tempfile.TemporaryDirectory() as work:
        copy = pathlib.Path(work) / "gpu_results"
        copy.mkdir()
        for part in PARTS:
            if (options.results / part).is_dir():
                shutil.copytree(options.results / part, copy / part, symlinks=True)
        scrub(copy, options)
        lines = [line for part in PARTS if (copy / part / "summary").exists()
                 for line in (copy / part / "summary").read_text().splitlines()]
        (copy / "summary.txt").write_text("".join(line + "\n" for line in lines))
        (copy / "claims.txt").write_text("".join(
            f"{number}  {text}\n" + "".join(f"    {line}\n" for line in lines if number in claims_of_line(line))
            for number, (text, _) in sorted(claims().items())))
        for name in ("summary.txt", "claims.txt"):
            shutil.copy(copy / name, out / name)
        archive = out / "gpu_results.tar.gz"
        with tarfile.open(archive, "w:gz") as file:
            file.add(copy, "gpu_results")
    mib = -(-archive.stat().st_size >> 20)
    print(f"{archive}: {mib} MiB")
    if mib > ARCHIVE_LIMIT_MIB:
        print(f"gpu_check.sh: the archive is larger than {ARCHIVE_LIMIT_MIB} MiB", file=sys.stderr)


def require_writable(what, folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".probe").write_text("\n")
        (folder / ".probe").unlink()
    except OSError:
        sys.exit(cannot_write(what, folder))


def cannot_write(what, folder):
    print(f"gpu_check.sh: the {what} cannot be written to {folder}: no permission, or the disk is full", file=sys.stderr)
    return 3


def command_line():
    parser = argparse.ArgumentParser(prog="gpu_check.sh", add_help=False)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--call", type=int, choices=(1, 2, 3))
    parser.add_argument("--only", action="append", default=[], choices=PARTS, metavar="PART")
    parser.add_argument("--build-dir", type=pathlib.Path, default=pathlib.Path("build/gpu"))
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--at-most", type=int)  # seconds, for the tests
    parser.add_argument("--run-part", choices=PARTS)  # how this script calls itself
    parser.add_argument("--run-limit", type=int)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.results = (options.results or options.build_dir / "gpu_check").resolve()
    return options


def main():
    options = command_line()
    if options.help or options.list:
        print(usage() if options.help else "\n".join(PARTS))
        return 0
    if options.run_part:
        return run_part(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(143))
    out = pathlib.Path(os.environ.get("OUT", "gpu_results")).resolve()
    # Before ten minutes of work, not after them.
    require_writable("results", options.results)
    require_writable("archive", out)
    started = time.monotonic()
    parts = options.only + (parts_of(options.call) if options.call else [])
    has_failed = False
    try:
        for part in parts or PARTS:
            if options.resume and (options.results / part / "ended").exists():
                print(f"\n== {part}: done before")
            else:
                print(f"\n== {part} ({time.monotonic() - started:.0f} s)", flush=True)
                walk(part, options, started)
            has_failed |= has_failure(options.results / part)
        print()
    except OSError:
        return cannot_write("results", options.results)
    try:
        pack(options, out)
    except OSError:
        return cannot_write("archive", out)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
