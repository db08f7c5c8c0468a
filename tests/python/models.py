"""The models of examples/pytorch, small, with batches and losses; and a GPT of another shape."""

import importlib.util
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/pytorch"


def example(name):
    """examples/pytorch/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_gpt = example("gpt")
_dlrm = example("dlrm")
_GPT = _gpt.parse(["--device", "cpu", "--batch", "2", "--length", "16", "--width", "32", "--heads",
                   "4", "--layers", "3", "--vocabulary", "50"])
_DLRM = _dlrm.parse(["--device", "cpu", "--batch", "8", "--tables", "3", "--rows", "200", "--bag", "3",
                     "--width", "16"])


class AttentionOfThree(_gpt.Attention):
    """Attention with three projections, which nothing orders in the backward pass."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.qkv = None
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q = self.q(x).view(shape).transpose(1, 2)
        k = self.k(x).view(shape).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        weights = F.softmax((q @ k.transpose(-2, -1)) * (shape[-1] ** -0.5), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


def gpt():
    return _gpt.Gpt(_GPT)


def gpt_of_three_projections():
    model = gpt()
    for block in model.blocks:
        block.attention = AttentionOfThree(_GPT.width, _GPT.heads)
    return model


def dlrm():
    return _dlrm.Dlrm(_DLRM)


def gpt_batch():
    """(arguments of the model, target)"""
    tokens, target = _gpt.sequences(_GPT, torch.device("cpu"))
    return (tokens,), target


def gpt_loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def dlrm_batch():
    """(arguments of the model, target)"""
    dense, indices, clicked = _dlrm.clicks(_DLRM, torch.device("cpu"))
    return (dense, indices), clicked


def dlrm_loss(output, target):
    return F.binary_cross_entropy_with_logits(output, target)
