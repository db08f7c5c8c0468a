"""Trains with JAX: jax_loop.py [--scan] [--steps N]. --scan: four layers in a loop, which XLA puts into a graph inside its graph."""

import argparse
import os

os.environ["JAX_PLATFORMS"] = "cuda"
os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # cuSPARSE, which is not simulated, has no version
from jax._src import hardware_utils  # noqa: E402

hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for /dev/nvidia0

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--scan", action="store_true")
options = parser.parse_args()


@jax.jit
def step(weights, x):
    def loss(own):
        if options.scan:
            return jnp.mean(jax.lax.scan(lambda hidden, layer: (jax.nn.relu(hidden @ layer) + hidden, None), x, own)[0] ** 2)
        return jnp.mean(jax.nn.softmax(jax.nn.gelu(x @ own[0]) @ own[1]) ** 2)

    return jax.tree.map(lambda weight, slope: weight - 0.1 * slope, weights, jax.grad(loss)(weights))


weights = jnp.ones((4, 256, 256)) if options.scan else (jnp.ones((256, 512)), jnp.ones((512, 256)))
for i in range(options.steps):
    weights = step(weights, jnp.full((64, 256), float(i)))
jax.block_until_ready(weights)
print(jax.devices()[0].platform, "done")
