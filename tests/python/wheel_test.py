"""The wheel holds every module of the package and nothing else.  Built without a network."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from needs import SKIPPED

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "macros/python"


def can_build():
    """An interpreter with pip, wheel and a setuptools that reads pyproject.toml; None if none."""
    code = ("import setuptools, pip; version = int(setuptools.__version__.split('.')[0]);\n"
            "assert version > 70 or version >= 61 and __import__('wheel')")
    for python in dict.fromkeys([sys.executable, shutil.which("python3")]):
        if python and subprocess.run([python, "-c", code], capture_output=True).returncode == 0:
            return python
    return None


class Wheel(unittest.TestCase):
    def test_holds_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "source"
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            done = subprocess.run(
                [PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                 "--no-index", "--wheel-dir", folder, str(copy)],
                capture_output=True, text=True, timeout=250, env=dict(os.environ, PYTHONPATH=""))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            wheel, = pathlib.Path(folder).glob("*.whl")
            self.assertRegex(wheel.name, r"^inline_prof-\d+\.\d+\.\d+-py3-none-any\.whl$")
            held = {name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name}
            self.assertEqual(held, {str(path.relative_to(SOURCE))
                                    for path in (SOURCE / "inline_prof").rglob("*.py")})
            # It works from where pip puts it.
            target = pathlib.Path(folder) / "installed"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)
            environment = dict(os.environ, PYTHONPATH=str(target))
            code = "import inline_prof; print(inline_prof.__file__, inline_prof.read.__module__)"
            done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True,
                                  env=environment, cwd=folder, check=True)
            self.assertEqual(done.stdout.split(),
                             [str(target / "inline_prof/__init__.py"), "inline_prof.profiles"])


PYTHON = can_build()

if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with pip, wheel and setuptools 61", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
