"""A PyTorch program that knows nothing of us: a network whose layers launch kernels of their own,
trained for some steps."""

import sys

import torch
from torch import nn

from driver import Driver

driver = Driver(["forward_", "backward_"])


class Launches(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        driver.launch("forward_")
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        driver.launch("backward_")
        return gradient.clone()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return Launches.apply(x * self.weight)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Layer()
        self.rest = nn.Sequential(Layer(), Layer())

    def forward(self, x):
        return self.rest(self.first(x))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(int(sys.argv[1])):
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    driver.wait()
print("loss", float(model(torch.ones(2)).sum().detach()))
print("hooked", hasattr(nn.Module._call_impl, "__wrapped__"))
print("places", [place for place in sys.path if "startup" in place],
      [type(finder).__name__ for finder in sys.meta_path if "inline" in type(finder).__module__])
