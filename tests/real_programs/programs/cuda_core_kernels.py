"""Kernels that NVRTC compiles, launched through cuda.core: cuda_core_kernels.py [--steps N]."""

import argparse

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60)

CODE = """
extern "C" __global__ void added(float factor, const float* x, float* y, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) y[i] += factor * x[i];
}
template <typename T> __global__ void scaled(T* y, T factor, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) y[i] *= factor;
}
"""
COUNT = 1 << 20

device = Device()
device.set_current()
stream = device.create_stream()
architecture = "sm_" + "".join(map(str, device.compute_capability))
module = Program(CODE, code_type="c++", options=ProgramOptions(std="c++17", arch=architecture)).compile(
    "cubin", name_expressions=("scaled<float>",))
added, scaled = module.get_kernel("added"), module.get_kernel("scaled<float>")
x, y = (device.allocate(4 * COUNT, stream=stream) for _ in range(2))
for _ in range(parser.parse_args().steps):
    launch(stream, LaunchConfig(grid=COUNT // 256, block=256), added, np.float32(2), x, y, np.uint64(COUNT))
    launch(stream, LaunchConfig(grid=COUNT // 512, block=512), scaled, y, np.float32(0.5), np.uint64(COUNT))
    stream.sync()
print("done")
