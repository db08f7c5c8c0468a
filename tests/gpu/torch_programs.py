"""PyTorch programs for the checks on a GPU.

    torch_programs.py gpu
        Does nothing but look for PyTorch and a GPU.
    torch_programs.py census [--nccl] [--compile]
        Trains a model of words and one of convolutions (cuBLAS, cuDNN) and replays a captured graph of each.  --nccl: all-reduces in
        a group of one rank, too.  --compile: torch.compile of the first one, whose kernels are Triton's, in place of all that.
    torch_programs.py training [--steps N] [--mark] [--ranges]
        Trains the model of words.  --mark: each step is marked by the injected library's own
        call.  --ranges: NVTX ranges around the parts of a step and each layer's forward pass.  Prints a JSON object: steps, and
        with --ranges how many ranges were pushed and their paths.
    torch_programs.py overhead [--blocks N] [--iterations N] [--toggle | --profiler]
        Prints times of blocks of steps, as `loops.py overhead` does.  --profiler: in the blocks that are on torch.profiler records.
    torch_programs.py calls
        Makes operations of known shapes, each once an iteration, and says `call NAME` as library_calls.py does.

Exit status 77 where there is no PyTorch or no GPU.
"""

import argparse
import contextlib
import json
import tempfile

from gpu import Ranges, blocks, iteration_mark, make_calls, skip

try:
    import torch
except ImportError as error:
    skip(error)
if not torch.cuda.is_available():
    skip("PyTorch sees no GPU")
from torch import nn


def numbers(*sizes, dtype=torch.half):
    return torch.randn(*sizes, device="cuda", dtype=dtype)


def ranges_if(is_on):
    return Ranges(is_on, torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop)


class Words(nn.Module):
    """Embeddings, then layers of products and norms."""

    def __init__(self, width=512, layers=4):
        super().__init__()
        self.ranges = ranges_if(False)
        self.table = nn.Embedding(1000, width)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU()) for _ in range(layers))
        self.head = nn.Linear(width, 8)
        self.tokens = torch.randint(0, 1000, (64, 32), device="cuda")

    def forward(self, tokens):
        with self.ranges("table"):
            values = self.table(tokens)
        for number, layer in enumerate(self.layers):
            with self.ranges(f"layer{number}"):
                values = layer(values)
        with self.ranges("head"):
            return self.head(values)


def steps_of(model, inputs, ranges=ranges_if(False), mark=lambda: None):
    """Returns a function that trains so many steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def steps(count):
        for step in range(1, count + 1):
            mark()
            optimizer.zero_grad(set_to_none=True)
            with ranges("forward"):
                result = model(inputs)
            with ranges("loss"):
                loss = result.float().square().mean()
            loss.backward()
            with ranges("optimizer"):
                optimizer.step()
            if step % 50 == 0:
                loss.item()
        torch.cuda.synchronize()
    return steps


# --- census

CENSUS_STEPS = 20


def convolution_model():
    model = nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3))
    return model.cuda().half(), numbers(8, 16, 32, 32)


def replay(model, inputs):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        model(inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        model(inputs)
    for _ in range(CENSUS_STEPS):
        graph.replay()


def all_reduce():
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/rendezvous", rank=0, world_size=1)
        values = torch.ones(1 << 20, device="cuda")
        for _ in range(CENSUS_STEPS):
            torch.distributed.all_reduce(values)
        torch.cuda.synchronize()
        torch.distributed.destroy_process_group()


def census(options):
    words, mark = Words().cuda().half(), iteration_mark()
    if options.compile:
        steps_of(torch.compile(words), words.tokens, mark=mark)(CENSUS_STEPS)
    else:
        for model, inputs in ((words, words.tokens), convolution_model()):
            steps_of(model, inputs, mark=mark)(CENSUS_STEPS)
            replay(model, inputs)
        if options.nccl:
            all_reduce()
    torch.cuda.synchronize()


# --- training and overhead

def training(options):
    model, ranges = Words().cuda(), ranges_if(options.ranges)
    model.ranges = ranges
    steps_of(model, model.tokens, ranges, iteration_mark() if options.mark else lambda: None)(options.steps)
    print(json.dumps({"steps": options.steps, **({"ranges": ranges.pushed, "paths": sorted(ranges.paths)} if options.ranges else {})}))


def overhead(options):
    def recording(is_on):
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        return torch.profiler.profile(activities=activities) if options.profiler and is_on else contextlib.nullcontext()

    model = Words(1024, 8).cuda().bfloat16()
    steps = steps_of(model, model.tokens)
    steps(30)  # a warm-up
    blocks(options, steps, recording)


# --- calls

def linear():
    """Backward, too."""
    layer = nn.Linear(192, 320).cuda().half()
    x = numbers(96, 192).requires_grad_()

    def call():
        layer.zero_grad()
        layer(x).backward(torch.ones(96, 320, device="cuda", dtype=torch.half))
    return call


def product(*sizes, dtype=torch.float):
    a, b = (numbers(*size, dtype=dtype) for size in sizes)
    return lambda: a @ b


def product_in_tf32():
    multiply = product((88, 152), (152, 120))

    def call():
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            multiply()
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
    return call


def convolution(channels, filters, memory_format):
    layer = nn.Conv2d(channels, filters, 3, padding=1, bias=False).cuda().half().to(memory_format=memory_format)
    x = numbers(8, channels, 28, 36).to(memory_format=memory_format)
    return torch.no_grad()(lambda: layer(x))


def attention():
    """Written out as products: other ways have kernels of PyTorch's own."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # since PyTorch 2.3
    tensors = [numbers(2, 3, length, 64, dtype=torch.float) for length in (40, 56, 56)]

    def call():
        with sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            nn.functional.scaled_dot_product_attention(*tensors)
    return call


CALLS = {
    "linear": linear,
    "product of f32": lambda: product((72, 136), (136, 104)),
    "product in tf32": product_in_tf32,
    "bmm of f16": lambda: product((6, 48, 80), (6, 80, 112), dtype=torch.half),
    "convolution of f16": lambda: convolution(16, 32, torch.contiguous_format),
    "convolution of f16 by channels": lambda: convolution(32, 64, torch.channels_last),
    "attention of f32": attention,
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", choices=("gpu", "census", "training", "overhead", "calls"))
    for flag in ("--nccl", "--compile", "--mark", "--ranges", "--toggle", "--profiler"):
        parser.add_argument(flag, action="store_true")
    for count, usual in (("--steps", 300), ("--blocks", 32), ("--iterations", 40)):
        parser.add_argument(count, type=int, default=usual)
    options = parser.parse_args()
    torch.manual_seed(1)
    programs = {"gpu": lambda _: None, "census": census, "training": training, "overhead": overhead,
                "calls": lambda _: make_calls(CALLS, torch.cuda.synchronize, iterations=60)}
    programs[options.program](options)


if __name__ == "__main__":
    main()
