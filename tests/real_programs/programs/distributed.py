"""Two ranks under torchrun: torchrun --nproc-per-node 2 distributed.py ddp|fsdp2 [--steps N]."""

import argparse
import os

import torch
from torch import distributed, nn


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 16))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("ddp", "fsdp2"))
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))

    # Programs check what they get from each other.
    mine = torch.full((8,), float(rank + 1)).cuda()
    distributed.all_reduce(mine)
    every = [torch.zeros(4, device="cuda") for _ in range(distributed.get_world_size())]
    distributed.all_gather(every, torch.full((4,), float(rank)).cuda())
    if arguments.kind == "ddp":
        trained = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[rank])
    else:
        from torch.distributed.fsdp import fully_shard

        trained = model().cuda()
        for layer in trained:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(trained)
    optimizer = torch.optim.AdamW(trained.parameters(), fused=True)
    for _ in range(arguments.steps):
        loss = trained(torch.randn(32, 256).cuda()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"rank {rank}: sum {float(mine[0])}, gathered {[float(part[0]) for part in every]}, loss {float(loss):.3f}",
          flush=True)
    distributed.destroy_process_group()
