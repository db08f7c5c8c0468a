"""Requirements of tests: PyTorch, a folder."""

import os
import pathlib
import sys
import tempfile
import unittest

SKIPPED = 77  # for ctest


def torch_or_skip():
    """Returns PyTorch 2, from the interpreter that INLINE_PROF_TORCH_PYTHON names; ends the process without one."""
    python = os.environ.pop("INLINE_PROF_TORCH_PYTHON", "")
    if python:
        os.execv(python, [python, *sys.argv])
    try:
        import torch

        if int(torch.__version__.partition(".")[0]) >= 2:
            return torch
        reason = "PyTorch %s: expected 2 or newer" % torch.__version__
    except ImportError as error:
        reason = str(error)
    print("SKIP  %s; INLINE_PROF_TORCH_PYTHON names an interpreter that has it, as scripts/real_programs.sh makes one"
          % reason, file=sys.stderr)
    sys.exit(SKIPPED)


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, self.folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
