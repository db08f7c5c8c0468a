"""PyTorch operations of known shapes, each once an iteration; says `call NAME` as named_calls.hpp does.

Exit status 77 where there is no PyTorch or no GPU.
"""

from iteration_mark import iteration_mark
from torch_gpu import torch

ITERATIONS = 60


def numbers(*sizes, dtype=torch.half):
    return torch.randn(*sizes, device="cuda", dtype=dtype)


def linear():
    """Backward, too."""
    layer = torch.nn.Linear(192, 320).cuda().half()
    x = numbers(96, 192).requires_grad_()

    def call():
        layer.zero_grad()
        layer(x).backward(torch.ones(96, 320, device="cuda", dtype=torch.half))
    return call


def product_of_floats():
    a, b = numbers(72, 136, dtype=torch.float), numbers(136, 104, dtype=torch.float)
    return lambda: a @ b


def product_in_tf32():
    a, b = numbers(88, 152, dtype=torch.float), numbers(152, 120, dtype=torch.float)

    def call():
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
    return call


def batches():
    a, b = numbers(6, 48, 80), numbers(6, 80, 112)
    return lambda: torch.bmm(a, b)


def convolution(channels, filters, memory_format):
    layer = torch.nn.Conv2d(channels, filters, 3, padding=1, bias=False)
    layer = layer.cuda().half().to(memory_format=memory_format)
    x = numbers(8, channels, 28, 36).to(memory_format=memory_format)

    def call():
        with torch.no_grad():
            layer(x)
    return call


def attention():
    """Written out as products: other ways have kernels of PyTorch's own."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # since PyTorch 2.3
    q, k, v = (numbers(2, 3, length, 64, dtype=torch.float) for length in (40, 56, 56))

    def call():
        with sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return call


CALLS = {
    "linear": linear,
    "product of f32": product_of_floats,
    "product in tf32": product_in_tf32,
    "bmm of f16": batches,
    "convolution of f16": lambda: convolution(16, 32, torch.contiguous_format),
    "convolution of f16 by channels": lambda: convolution(32, 64, torch.channels_last),
    "attention of f32": attention,
}


def main():
    torch.manual_seed(1)
    mark_iteration = iteration_mark()
    calls = {}
    for name, prepare in CALLS.items():
        # A version of PyTorch that lacks one has the others.
        try:
            call = prepare()
            call()
            calls[name] = call
        except (AttributeError, ImportError, RuntimeError, TypeError) as error:
            print(f"refused {name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    torch.cuda.synchronize()
    for _ in range(ITERATIONS):
        mark_iteration()
        for call in calls.values():
            call()
    torch.cuda.synchronize()
    for name in calls:
        print(f"call {name}", flush=True)


if __name__ == "__main__":
    main()
