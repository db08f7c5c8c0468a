"""Small models as users write them: a GPT and a DLRM."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for t in (q, k, v))
        weights = (q @ k.transpose(-2, -1)) * (k.shape[-1] ** -0.5)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = F.softmax(weights.masked_fill(~mask, float("-inf")), dim=-1)
        y = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.out(y)


class AttentionOfThree(Attention):
    """The same with three projections, which nothing orders in the backward pass."""

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


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, words=50, length=16, width=32, heads=4, layers=3):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Dlrm(nn.Module):
    def __init__(self, dense=13, rows=(100, 200, 300), width=16):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        self.embeddings = nn.ModuleList(
            [nn.EmbeddingBag(count, width, mode="sum") for count in rows])
        vectors = len(rows) + 1
        pairs = vectors * (vectors - 1) // 2
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1))
        self.top = nn.Sequential(nn.Linear(width + pairs, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, indices):
        x = self.bottom(dense)
        vectors = [x] + [bag(part) for bag, part in zip(self.embeddings, indices)]
        stacked = torch.stack(vectors, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, chosen], dim=1))


def gpt_batch(words=50, batch=2, length=16):
    tokens = torch.randint(words, (batch, length))
    return (tokens,), tokens


def gpt_loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def dlrm_batch(rows=(100, 200, 300), batch=8, bag=3):
    indices = [torch.randint(count, (batch, bag)) for count in rows]
    return (torch.randn(batch, 13), indices), torch.rand(batch, 1)


def dlrm_loss(output, target):
    return F.binary_cross_entropy_with_logits(output, target)
