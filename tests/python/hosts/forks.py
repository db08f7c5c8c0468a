"""The parent makes a model and an optimizer, and a forked child trains on the CPU and on the GPU: the parent must have started neither
CUDA nor autograd's threads."""

import os

import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
child = os.fork()
if child == 0:
    for device in ("cpu", "cuda"):
        model.to(device)(torch.ones(2, 4, device=device)).sum().backward()
        optimizer.step()
        print("trained on", device, flush=True)
    os._exit(0)
print("child", os.waitpid(child, 0)[1])
