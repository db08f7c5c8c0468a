"""The wheel holds every module of the package and nothing else.  Built without a network."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from needs import SKIPPED

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "macros/python"
sys.path.insert(0, str(ROOT / "scripts"))
import make_wheel


class Wheel(unittest.TestCase):
    def test_holds_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = make_wheel.make(PYTHON, folder)
            self.assertRegex(wheel.name, r"^inline_prof-\d+\.\d+\.\d+-py3-none-any\.whl$")
            held = {name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name}
            self.assertEqual(held, {str(path.relative_to(SOURCE))
                                    for kind in ("py", "json", "sql")
                                for path in (SOURCE / "inline_prof").rglob("*." + kind)})
            self.check_installed(wheel, pathlib.Path(folder) / "installed")

    def check_installed(self, wheel, target):
        """It works from where pip puts it."""
        done = subprocess.run(
            [PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target",
             str(target), str(wheel)], capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        environment = dict(os.environ, PYTHONPATH=str(target))

        def run(command, code):
            done = subprocess.run(command + [PYTHON, "-c", code], capture_output=True, text=True,
                                  env=environment, cwd=target, check=True)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        code = "import inline_prof; print(inline_prof.__file__, inline_prof.read.__module__)"
        self.assertEqual(run([], code), [str(target / "inline_prof/__init__.py"), "inline_prof.profiles"])
        if OPTIONS.prof_run is None:
            return
        # A program that imports it by itself meets the preloaded library.
        code = "import inline_prof.abi as abi; print(abi.__file__, abi.find().wants())"
        self.assertEqual(run([OPTIONS.prof_run, "--"], code), [str(target / "inline_prof/abi.py"), "7"])


PYTHON = make_wheel.builder()
OPTIONS = None

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--prof-run")
    OPTIONS, rest = parser.parse_known_args()
    if PYTHON is None:
        print("skipped: no Python with pip, setuptools 61 and wheel", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + rest)
