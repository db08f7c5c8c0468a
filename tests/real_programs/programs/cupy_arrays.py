"""CuPy: element-wise functions, fused and raw kernels, a reduction, products by cuBLAS, two streams: python3 cupy_arrays.py [--steps N]."""

import argparse

import cupy
import numpy
import steps as loop

add_squares = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * x + y * y", "add_squares")
saxpy = cupy.RawKernel(r"""
extern "C" __global__ void saxpy(int count, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}
""", "saxpy")


@cupy.fuse
def swish(x):
    return x / (1 + cupy.exp(-x))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    numbers = numpy.arange(1 << 18, dtype=numpy.float32)
    side = cupy.cuda.Stream(non_blocking=True)
    x = cupy.asarray(numbers)
    y = cupy.zeros_like(x)
    a, b = (cupy.ones((512, 512), dtype=cupy.float32) for _ in range(2))
    for _ in range(steps):
        loop.begins()
        z = add_squares(x, y)
        saxpy((x.size // 256,), (256,), (numpy.int32(x.size), numpy.float32(2), x, y))
        c = a @ b
        total = swish(z).sum()
        with side:
            d = cupy.maximum(a, b)
        side.synchronize()
    cupy.cuda.Device().synchronize()
    # Copies come back; the results of kernels are zero here.
    assert (cupy.asnumpy(x) == numbers).all()
    print("sum", float(total), "registers", saxpy.num_regs, "product", c.shape, "largest", d.shape)
