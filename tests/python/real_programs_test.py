"""tests/real_programs/run.py says in a sentence why an interpreter cannot be used."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[1] / "real_programs/run.py"


def said_of(version):
    """Returns run.py's message about an interpreter whose torch has this version.py, None for one without torch."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec {sys.executable} -s -S "$@"\n')
        python.chmod(0o755)
        if version is not None:
            (folder / "torch").mkdir()
            (folder / "torch/__init__.py").write_text("raise ImportError('libcudart.so.12')\n")
            (folder / "torch/version.py").write_text(version)
        done = subprocess.run([sys.executable, RUN, "--python", python, "--simulated-gpu", folder, "--prof-run", folder,
                               "--prof-analyze", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr.replace(str(folder), "")


class Interpreter(unittest.TestCase):
    def test_that_does_not_exist(self):
        done = subprocess.run([sys.executable, RUN, "--python", "/nowhere/python", "--simulated-gpu", "/", "--prof-run", "/", "--prof-analyze",
                               "/"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "real programs: /nowhere/python: No such file or directory\n"))

    def test_without_torch(self):
        self.assertEqual(said_of(None), (2, "real programs: /python: no torch: expected PyTorch 2 for CUDA 13\n"))

    def test_with_a_torch_for_cuda_12(self):
        self.assertEqual(said_of("__version__ = '2.6.0+cu124'\ncuda = '12.4'\n"),
                         (2, "real programs: /python: torch 2.6.0+cu124 is for CUDA 12.4: expected CUDA 13\n"))

    def test_with_a_torch_for_the_cpu(self):
        self.assertEqual(said_of("__version__ = '2.11.0+cpu'\ncuda = None\n"),
                         (2, "real programs: /python: torch 2.11.0+cpu is for the CPU: expected CUDA 13\n"))


if __name__ == "__main__":
    unittest.main()
