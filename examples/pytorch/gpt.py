"""A small GPT that learns to continue made-up sequences.  Nothing in it knows of a profiler.

    python3 gpt.py [--device cpu] [--checkpoint] [--accumulate 4] [--sharded]

Under torchrun the gradients are averaged over the ranks; with --sharded the parameters are, too
(FullyShardedDataParallel).
"""

import argparse
import contextlib
import functools
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.checkpoints = options.checkpoint
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.positions = nn.Embedding(options.length, options.width)
        self.blocks = nn.ModuleList(
            [Block(options.width, options.heads) for _ in range(options.layers)])
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
        return self.head(self.norm(x))


def sequences(options, device):
    """Each word follows from the one before: there is something to learn."""
    words = torch.empty(options.batch, options.length + 1, dtype=torch.long)
    words[:, 0] = torch.randint(options.vocabulary, (options.batch,))
    for place in range(options.length):
        words[:, place + 1] = (words[:, place] * 5 + 7) % options.vocabulary
    words = words.to(device)
    return words[:, :-1], words[:, 1:]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in (("steps", 400), ("batch", 16), ("length", 128), ("width", 256),
                          ("heads", 8), ("layers", 4), ("vocabulary", 512), ("accumulate", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--checkpoint", action="store_true", help="compute blocks again in backward")
    parser.add_argument("--sharded", action="store_true", help="shard the parameters over the ranks")
    return parser.parse_args(arguments)


def distributed(options):
    """(device, wrapper of the model) of this rank."""
    if "RANK" not in os.environ:
        if options.sharded:
            sys.exit("gpt.py: --sharded: expected a start by torchrun")
        return torch.device(options.device), lambda model: model
    on_gpu = options.device.startswith("cuda")
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    if options.sharded:
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

        # A block at a time: its parameters are gathered before it is called, and given up after.
        blocks = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
        return device, functools.partial(FullyShardedDataParallel, auto_wrap_policy=blocks)
    from torch.nn.parallel import DistributedDataParallel

    return device, DistributedDataParallel


def main(arguments=None):
    options = parse(arguments)
    torch.manual_seed(0)
    device, wrap = distributed(options)
    model = wrap(Gpt(options).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    half = (torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda"
            else contextlib.nullcontext())
    losses = []
    for _ in range(options.steps):
        for _ in range(options.accumulate):
            tokens, target = sequences(options, device)
            with half:
                loss = F.cross_entropy(model(tokens).flatten(0, 1), target.flatten())
            (loss / options.accumulate).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    first, last = float(losses[0]), float(losses[-1])
    print("loss %.3f -> %.3f" % (first, last))
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    # On a GPU that computes nothing both are zero, or nearly: what their memory held before.
    return 0 if last < first or round(last, 3) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
