"""What a test cannot do without."""

import os
import sys

SKIPPED = 77  # for ctest


def torch_or_skip():
    """PyTorch 2, by the interpreter that INLINE_PROF_TORCH_PYTHON names; ends the process where there is none."""
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
