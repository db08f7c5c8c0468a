"""prof-analyze, called from Python."""

import json
import os
import shutil
import subprocess

from . import abi


class ReportError(Exception):
    """prof-analyze is missing or refused its input; the text is its message."""


def _candidates():
    """Yields paths beside the library in this process, beside this package, and on PATH."""
    library = abi.library_path()
    if library is not None:
        folder = os.path.dirname(os.path.realpath(library))
        for place in ("../bin", "../analyzer/cli", "../../bin"):
            yield os.path.join(folder, place, "prof-analyze")
    package = os.path.dirname(os.path.realpath(__file__))
    # PREFIX/lib/inline_prof/python/inline_prof or PREFIX/lib/python3.X/site-packages/inline_prof, also where
    # lib is lib/x86_64-linux-gnu; FOLDER/inline_prof of `pip install --target FOLDER`
    for up in (4, 5, 1):
        yield os.path.join(package, *[".."] * up, "bin", "prof-analyze")
    found = shutil.which("prof-analyze")
    if found is not None:
        yield found


def find_analyzer():
    """Returns the path of prof-analyze, None without one."""
    for candidate in _candidates():
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    return None


def unmeasured():
    """Returns the environment of the analyzer, which is not measured itself."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


def _each_path(given):
    """Yields the given paths, and those in lists of paths, as strings."""
    for one in given:
        if isinstance(one, (str, bytes, os.PathLike)):
            yield os.fspath(one)
        elif hasattr(one, "__iter__"):
            yield from _each_path(one)
        else:
            raise TypeError("report: found %r, expected a path or a list of paths" % (one,))


def report(*paths, **options):
    """Returns the output of `prof-analyze PATHS...`; with format="json" as a dict.

    Paths are files of one run, one per rank, or folders of them, given one by one or as a list.
    Options are prof-analyze's, without their dashes and with `_` for `-`: report("prof.json",
    machine="h200-sxm-141gb", top=10, event_bias="off").  True is an option without a value.  Raises
    ReportError."""
    analyzer = find_analyzer()
    if analyzer is None:
        raise ReportError("prof-analyze is neither beside libinline_prof.so nor on PATH")
    command = [analyzer] + list(_each_path(paths))
    for name, value in options.items():
        if value is None or value is False:
            continue
        command.append("--" + name.replace("_", "-"))
        if value is not True:
            command.append(os.fspath(value) if hasattr(value, "__fspath__") else str(value))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=unmeasured(), check=False)
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()
        raise ReportError(words or "%s: exit status %d" % (analyzer, done.returncode))
    text = done.stdout.decode("utf-8", "replace")
    return json.loads(text) if options.get("format") == "json" else text
