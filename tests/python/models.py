"""The models of examples/pytorch, small, with batches and losses."""

import importlib.util
import pathlib

import torch
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


def gpt():
    return _gpt.Gpt(_GPT)


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
