"""Programs that are watched: how they are run, and how their ends are read."""

import collections
import os
import subprocess

SKIPPED = 77
CANNOT_START = 127  # what ld.so exits with
FAILURES_LINES = 3


# What a GPU or a driver says that cannot be used as it is; no fault of the program's.
NOT_OURS = ("out of memory", "busy or unavailable", "no CUDA-capable device",
            "insufficient for CUDA runtime", "unsupported toolchain", "no kernel image")


class Skip(Exception):
    """It cannot run here; the text says why."""


class Failure(Exception):
    pass


Ended = collections.namedtuple("Ended", "stdout last_words")


def run(command, variables, timeout_s):
    """What the command printed; raises Skip or Failure with the last line it said, on stderr if anything.

    Nobody else's settings of the injected library reach it.
    """
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("INLINE_PROF_", "PROFILING_"))}
    environment.update(variables)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"still running after {timeout_s:g} s") from error
    except FileNotFoundError as error:
        raise Skip(f"no such program: {command[0]}") from error
    last_words = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["(nothing said)"])[-1]
    if done.returncode == SKIPPED:
        raise Skip(last_words)
    if done.returncode == CANNOT_START and "error while loading shared libraries" in done.stderr:
        raise Skip(last_words)  # no driver, or no cuBLAS
    if done.returncode != 0 and any(words in last_words for words in NOT_OURS):
        raise Skip(last_words)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {what_went_wrong(done)}")
    return Ended(done.stdout, last_words)


def what_went_wrong(done):
    """The last lines of a program that failed: its own, if it said anything beside the injected library."""
    lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
    own = [line for line in lines if not line.startswith("inline_prof: ")]
    return " | ".join((own or lines or ["(nothing said)"])[-FAILURES_LINES:])


def preloaded(library, output, **settings):
    """Variables for a program under the injected library, which writes `output`."""
    preload = " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))
    return {"LD_PRELOAD": preload, **_settings(output, settings)}


def injected(library, output, **settings):
    """The same, the injected library being loaded by the driver: its backend is then cupti."""
    return {"CUDA_INJECTION64_PATH": str(library), **_settings(output, settings)}


def _settings(output, settings):
    return {"INLINE_PROF_OUT": str(output),
            **{f"INLINE_PROF_{name.upper()}": str(value) for name, value in settings.items()}}
