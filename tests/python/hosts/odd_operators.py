"""Calls on the GPU that no table of operators covers, each in an NVTX range with its name.  Prints the last step's results."""

import threading

import torch
from torch import distributed
from torch.distributed import tensor as distributed_tensor

from odd_kinds import Names, Wrapped, run_steps, twice

x = torch.ones(256, 1000, device="cuda")
sparse = torch.sparse_coo_tensor(torch.zeros(1, 4, dtype=torch.int64), torch.ones(4), (8,)).cuda()
nested = torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(3, 8)], device="cuda")
jagged = torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(3, 8)], device="cuda", layout=torch.jagged)
quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
distributed.init_process_group("nccl", store=distributed.HashStore(), rank=0, world_size=1)
mesh = distributed.init_device_mesh("cuda", (1,))
sharded = distributed_tensor.distribute_tensor(x, mesh, [distributed_tensor.Shard(0)])
wrapped = Wrapped(x)


class Plain(torch.Tensor):
    """A subclass without one."""


@torch.library.custom_op("house::thousand", mutates_args=())
def thousand(given: torch.Tensor) -> torch.Tensor:
    result = given.clone()
    for _ in range(1000):
        result.add_(1)
    return result


@torch.library.custom_op("house::nothing", mutates_args=())
def nothing(given: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(given)


def own_mode():
    with Names() as names:
        x + 1
    return names.seen


def inference():
    with torch.inference_mode():
        return (x * 2).is_inference()


def in_a_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(torch._C._len_torch_dispatch_stack() or x - 1))
    thread.start()
    thread.join()
    return results[0]


def no_memory():
    try:
        return torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return "no memory"


def no_memory_in_an_operator():
    try:
        return torch.ones(1, device="cuda").expand(1 << 40).clone()
    except torch.OutOfMemoryError:
        return "no memory"


def wrong_shapes():
    try:
        return x @ x
    except RuntimeError:
        return "wrong shapes"


CALLS = {
    "sparse": lambda: sparse.coalesce(),
    "sparse_sum": lambda: sparse * 2,
    "nested": lambda: nested * 2,
    "jagged": lambda: jagged * 2,
    "quantized": lambda: quantized.dequantize(),
    "quantized_copy": lambda: quantized.clone(),
    "dtensor": lambda: sharded + 1,
    "wrapped": lambda: wrapped + wrapped,
    "subclass": lambda: x.as_subclass(Plain) + 1,
    "complex": lambda: torch.view_as_complex(x.view(256, 500, 2)) * 2,
    "meta": lambda: torch.empty(8, device="meta") + 1,
    "views": lambda: x.view(1000, 256).t()[3:],
    "empty": lambda: x[:0] + 1,
    "custom": lambda: twice(x),
    "thousand": lambda: thousand(x),
    "nothing": lambda: nothing(x),
    "own_mode": own_mode,
    "inference": inference,
    "thread": in_a_thread,
    "no_memory": no_memory,
    "no_memory_in_an_operator": no_memory_in_an_operator,
    "wrong_shapes": wrong_shapes,
}


for name, result in run_steps(CALLS).items():
    is_tensor = isinstance(result, torch.Tensor)
    print(name, (type(result).__name__, result.dtype, result.layout, result.device.type, result.numel()) if is_tensor else result)
print("modes", torch._C._len_torch_dispatch_stack())
distributed.destroy_process_group()
