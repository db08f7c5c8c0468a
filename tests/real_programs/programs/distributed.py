"""Two ranks under torchrun: torchrun --nproc-per-node 2 distributed.py ddp|fsdp2 [--late RANK] [--steps N]."""

import argparse
import os
import sys
import time

import names
import steps as loop
import torch
from torch import distributed, nn


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 16))


def exchanged(rank):
    """Checks that the ranks get each other's values, as programs do."""
    total = torch.full((8,), float(rank + 1)).cuda()
    distributed.all_reduce(total)
    every = [torch.empty(4, device="cuda") for _ in range(distributed.get_world_size())]
    distributed.all_gather(every, torch.full((4,), float(rank)).cuda())
    return f"sum {float(total[0])}, gathered {[float(part[0]) for part in every]}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("ddp", "fsdp2"))
    parser.add_argument("--late", type=int, help="a rank that waits 20 ms for its data in every step")
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))

    before = exchanged(rank)
    if arguments.kind == "ddp":
        trained = model().cuda()
        names.put_around(trained)
        trained = nn.parallel.DistributedDataParallel(trained, device_ids=[rank])
    else:
        from torch.distributed.fsdp import fully_shard

        trained = model().cuda()
        names.put_around(trained, "_call_impl")  # parameters are gathered in hooks before `forward`
        for layer in trained:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(trained)
    optimizer = torch.optim.AdamW(trained.parameters(), fused=True)
    for _ in range(arguments.steps):
        loop.begins()
        if rank == arguments.late:
            time.sleep(0.02)
        loss = trained(torch.randn(32, 256).cuda()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    # Not the loss: kernels compute nothing, and its memory is another tensor's, in an order that depends on time.
    sys.stdout.write(f"rank {rank}: before {before}, after {exchanged(rank)}\n")  # print() writes twice under torchrun
    distributed.destroy_process_group()
