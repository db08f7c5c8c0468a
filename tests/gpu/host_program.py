"""How host programs are run, and how their ends are read."""

import collections
import json
import os
import subprocess

SKIPPED = 77
CANNOT_START = 127  # what ld.so exits with
LINES_OF_A_FAILURE = 3
# Words of a GPU or a driver that cannot be used as it is; no fault of the program.
NOT_OURS = ("out of memory", "busy or unavailable", "no CUDA-capable device", "insufficient for CUDA runtime",
            "unsupported toolchain", "no kernel image", "cuInit(0) (100)")
# Rehearsals are shorter, and run on loaded machines.
IS_REHEARSAL = "GPU_CHECK_REHEARSAL" in os.environ
PATIENCE = 3 if IS_REHEARSAL else 1


class Ending(Exception):
    """How something ended, and what a program had said by then."""

    def __init__(self, words, said=""):
        super().__init__(words)
        self.said = said


class Skip(Ending):
    """Raised if something cannot run here; the text says why."""


class Failure(Ending):
    """Raised if a claim does not hold."""


Ended = collections.namedtuple("Ended", "stdout last_words")


def run(command, variables, timeout_s):
    """Returns what the command printed; raises Skip or Failure with its last words, on stderr if anything; `said` of it is what it printed.

    Settings of other tools do not reach it.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("INLINE_PROF_", "PROFILING_"))}
    environment.update(variables)
    where = " under the injected library" if "INLINE_PROF_OUT" in variables else ""
    try:
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True,
                              timeout=PATIENCE * timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"did not end within {timeout_s:g} s{where}", (error.stdout or b"").decode()) from error
    except OSError as error:
        raise Skip(f"no such program: {command[0]}") from error
    last_words = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["(nothing said)"])[-1]
    cannot_start = done.returncode == CANNOT_START and "error while loading shared libraries" in done.stderr
    cannot_use_gpu = done.returncode != 0 and any(words in last_words for words in NOT_OURS)
    if done.returncode == SKIPPED or cannot_start or cannot_use_gpu:
        raise Skip(last_words, done.stdout)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}{where}: {what_went_wrong(done)}", done.stdout)
    return Ended(done.stdout, last_words)


def run_and_read(command, variables, file, timeout_s):
    """Returns (what run() returns, the JSON that the command was to write)."""
    file.unlink(missing_ok=True)
    said = run(command, variables, timeout_s)
    if not file.exists():
        raise Failure(f"no {file.name} was written: {said.last_words}")
    return said, json.loads(file.read_text())


def what_went_wrong(done):
    """Returns the last lines of a program that failed: its own, if it said anything beside the injected library."""
    lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
    own = [line for line in lines if not line.startswith("inline_prof: ")]
    return " | ".join((own or lines or ["(nothing said)"])[-LINES_OF_A_FAILURE:])


def preloaded(library, output, **settings):
    """Returns the variables for a program under the injected library, which writes `output`."""
    preload = " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))
    return {"LD_PRELOAD": preload, **_settings(output, settings)}


def injected(library, output, **settings):
    """Returns the same for a library that the driver loads: its backend is then cupti."""
    return {"CUDA_INJECTION64_PATH": str(library), **_settings(output, settings)}


def _settings(output, settings):
    return {"INLINE_PROF_OUT": str(output), **{f"INLINE_PROF_{name.upper()}": str(value) for name, value in settings.items()}}
