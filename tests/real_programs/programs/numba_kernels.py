"""Two kernels of Numba-CUDA in turn: numba_kernels.py [--steps N]."""

import argparse
import os
import site

# Numba's own CUDA target gives way to Numba-CUDA by a file that is read in a folder of packages alone.
for folder in os.environ["PYTHONPATH"].split(os.pathsep):
    site.addsitedir(folder)

import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60)


@cuda.jit
def scaled(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def added(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y[i]


x, y = (cuda.to_device(np.ones(1 << 20, np.float32)) for _ in range(2))
for _ in range(parser.parse_args().steps):
    scaled[4096, 256](x, np.float32(0.5))
    added[4096, 256](x, y)
    cuda.synchronize()
print("done")
