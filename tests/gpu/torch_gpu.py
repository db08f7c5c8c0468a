"""PyTorch with a GPU, or the end of the program with status 77 and the reason."""

import sys

SKIPPED = 77

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(SKIPPED)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU", file=sys.stderr)
    sys.exit(SKIPPED)
