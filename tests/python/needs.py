"""What a test cannot do without."""

import sys

SKIPPED = 77  # for ctest


def torch_or_skip():
    """PyTorch; ends the process where there is none."""
    try:
        import torch
    except ImportError as error:
        print("skipped: no PyTorch: %s" % error, file=sys.stderr)
        sys.exit(SKIPPED)
    return torch
