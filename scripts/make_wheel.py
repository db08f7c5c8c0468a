#!/usr/bin/env python3
"""Makes the wheel of the Python package, without a network.

    python3 scripts/make_wheel.py FOLDER

Prints the wheel's path.  Exit status 1 where no Python has what it takes."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "macros/python"

# setuptools reads pyproject.toml since 61, makes wheels by itself since 70.1, and must come before pip.
_CAN_BUILD = ("import setuptools, pip\n"
              "version = tuple(int(word) for word in setuptools.__version__.split('.')[:2])\n"
              "assert version >= (70, 1) or version >= (61,) and __import__('wheel')\n")


def builder():
    """An interpreter with pip, setuptools and wheel; None if none."""
    for python in dict.fromkeys([sys.executable, shutil.which("python3"), "/usr/bin/python3"]):
        if python and os.path.exists(python) and \
                subprocess.run([python, "-c", _CAN_BUILD], capture_output=True).returncode == 0:
            return python
    return None


def make(python, folder):
    """The wheel's path.  Raises subprocess.CalledProcessError with what pip said in `.stdout`."""
    with tempfile.TemporaryDirectory() as copy:  # setuptools writes beside its sources
        source = pathlib.Path(copy) / "source"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
        wheels = pathlib.Path(copy) / "wheels"
        subprocess.run([python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                        "--no-index", "--wheel-dir", str(wheels), str(source)], check=True, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=dict(os.environ, PYTHONPATH=""))
        made, = wheels.iterdir()
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return pathlib.Path(shutil.move(str(made), str(folder / made.name)))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    python = builder()
    if python is None:
        print("make_wheel.py: no Python with pip, setuptools 61 or later, and wheel", file=sys.stderr)
        return 1
    try:
        print(make(python, sys.argv[1]))
    except subprocess.CalledProcessError as error:
        print("make_wheel.py: pip has failed:\n%s" % error.stdout, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
