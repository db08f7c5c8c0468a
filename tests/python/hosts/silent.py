"""A program that trains in some WAY, and counts calls of our Python functions in the warm-up and while measuring.

    silent.py eager | compiled | captured | parallel

Prints both numbers, and the functions called while measuring. Backward passes run on the main thread, where a profiler sees them.
"""

import collections
import os
import sys

import torch
from torch import nn

WARM_UP, FIRST, LAST = 8, 200, 220  # steps
way = sys.argv[1]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(32), nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(2, 8, 3, 32).transpose(1, 2).split(1, 1)
        return x + nn.functional.scaled_dot_product_attention(q, k, v).squeeze(1)


torch.autograd.set_multithreading_enabled(False)
model = nn.Sequential(Attention(), nn.Linear(32, 32), nn.GELU()).cuda()
kind = {"foreach": True} if way == "eager" else {"fused": True, "capturable": way == "captured"}
optimizer = torch.optim.AdamW(model.parameters(), **kind)
scaler = torch.amp.GradScaler("cuda", enabled=way == "eager")
if way == "compiled":
    model = torch.compile(model, backend="aot_eager")
elif way == "parallel":
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    model = nn.parallel.DistributedDataParallel(model)
given = torch.zeros(2, 8, 32, device="cuda")


def step():
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=way != "captured"):
        loss = model(given).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


if way == "captured":
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    step = lambda: graph.replay()  # a method of ours is not kept

called = collections.Counter()


def note(frame, event, _):
    if event == "call" and "inline_prof" in frame.f_code.co_filename:
        called[frame.f_code.co_qualname] += 1


for number in range(240):
    if number in (0, FIRST):
        called.clear()
        sys.setprofile(note)
    elif number in (WARM_UP, LAST):
        sys.setprofile(None)
        print(sum(called.values()), *(sorted(called) if number == LAST else ()))
    given.add_(1)
    step()
    torch.cuda.synchronize()  # samples are read once they are ready
if way == "parallel":
    torch.distributed.destroy_process_group()
