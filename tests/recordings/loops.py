"""Loops of kinds that tests/real_programs has not: python3 loops.py LOOP [--steps N] [--size N].

Those called none_... have no iteration.  Kernels compute nothing on the simulated GPU: what depends on data is drawn
on the CPU.
"""

import argparse
import importlib.util
import pathlib
import random
import sys

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/real_programs/programs"))
import steps as loop  # noqa: E402

GPU = torch.device("cuda")


def example(name):
    spec = importlib.util.spec_from_file_location("example_" + name, REPOSITORY / f"examples/pytorch/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def transformer(layers, width=64):
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, dropout=0.1)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(GPU)


def convolutions(channels=16, layers=4):
    parts = []
    for _ in range(layers):
        parts += [nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU()]
    return nn.Sequential(*parts).to(GPU)


def dlrm(steps, size, optimizer_of=lambda model: torch.optim.SGD(model.parameters(), lr=0.1)):
    module = example("dlrm")
    options = module.parse(["--batch", "64", "--rows", "1000", "--tables", str(size)])
    model = module.Dlrm(options).to(GPU)
    optimizer = optimizer_of(model)
    for _ in range(steps):
        loop.begins()
        dense, indices, clicked = module.clicks(options, GPU)
        F.binary_cross_entropy_with_logits(model(dense, indices), clicked).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def dlrm_adagrad(steps, size):
    dlrm(steps, size, lambda model: torch.optim.Adagrad(model.parameters(), lr=0.1))


def read_loss(steps, size):
    """The loss is read in each step, and gradients are clipped."""
    model = transformer(size)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loop.begins()
        loss = model(torch.randn(4, 16, 64).to(GPU)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()


def on_device(steps, size):
    """Data that never leaves the GPU, and nobody who waits."""
    model = transformer(size)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batch = torch.randn(4, 16, 64, device=GPU)
    for _ in range(steps):
        loop.begins()
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def perceptron(steps, size):
    """So few launches that a step is shorter than most set-ups."""
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(size)]).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loop.begins()
        F.mse_loss(model(torch.randn(8, 64).to(GPU)), torch.randn(8, 64).to(GPU)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def image(steps, size, name="vit_b_16"):
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, num_classes=10, **({"image_size": 64} if "vit" in name else {})).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        loop.begins()
        images, classes = torch.randn(size, 3, 64, 64).to(GPU), torch.randint(10, (size,)).to(GPU)
        F.cross_entropy(model(images), classes).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def vit(steps, size):
    image(steps, size)


def mobilenet(steps, size):
    image(steps, size, "mobilenet_v3_small")


def warmed_accumulation(steps, size):
    """A few steps of one batch each, to warm up, then `size` batches a step."""
    model = transformer(2)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for step in range(steps):
        loop.begins()
        for _ in range(1 if step < 3 else size):
            model(torch.randn(4, 16, 64).to(GPU)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def accumulation(steps, size):
    model = transformer(2)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(steps):
        loop.begins()
        for _ in range(size):
            model(torch.randn(4, 16, 64).to(GPU)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def evaluated(steps, size):
    """Three batches are evaluated after each `size` steps, and the result is read."""
    model = transformer(3)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for step in range(steps):
        loop.begins()
        model(torch.randn(4, 16, 64).to(GPU)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % size == 0:
            model.eval()
            with torch.no_grad():
                sum(model(torch.randn(4, 16, 64).to(GPU)).square().mean() for _ in range(3)).item()
            model.train()


def adversaries(steps, size):
    """Two networks and their optimizers in turn."""
    maker, judge = transformer(size), transformer(1)
    making, judging = (torch.optim.Adam(model.parameters(), fused=True) for model in (maker, judge))
    for _ in range(steps):
        loop.begins()
        made = maker(torch.randn(4, 8, 64).to(GPU))
        judging.zero_grad()
        (judge(made.detach()).mean() - judge(torch.randn(4, 8, 64).to(GPU)).mean()).backward()
        judging.step()
        making.zero_grad()
        (-judge(made).mean()).backward()
        making.step()


def recurrent(steps, size):
    cell, head = nn.LSTMCell(32, 64).to(GPU), nn.Linear(64, 1).to(GPU)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], fused=True)
    for _ in range(steps):
        loop.begins()
        words = torch.randn(size, 4, 32).to(GPU)
        state = None
        for word in words:
            state = cell(word, state)
        head(state[0]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def diffusion(steps, size):
    """An image is made in `size` passes of one network and copied to the host."""
    network, decoder = convolutions(), convolutions(layers=2)
    with torch.no_grad():
        for _ in range(steps):
            loop.begins()
            picture = torch.randn(1, 16, 16, 16).to(GPU)
            for at in range(size):
                picture = picture - network(picture) * (1 / (at + 1))
            decoder(picture).cpu()


def experts(steps, size):
    """Words go to some of 8 experts, by chance."""
    chance = random.Random(1)
    layers = [(nn.Linear(64, 8).to(GPU), [nn.Linear(64, 64).to(GPU) for _ in range(8)]) for _ in range(size)]
    parameters = [p for gate, all_of_them in layers for m in (gate, *all_of_them) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    for _ in range(steps):
        loop.begins()
        x = torch.randn(16, 64).to(GPU)
        for gate, all_of_them in layers:
            weights = gate(x).softmax(-1)
            out = torch.zeros_like(x)
            for at in sorted(chance.sample(range(8), chance.randint(4, 8))):
                out = out + all_of_them[at](x) * weights[:, at:at + 1]
            x = x + out
        x.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def policy(steps, size):
    """`size` steps of an environment on the host, each with an action read back, then four passes of training."""
    actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)).to(GPU)
    optimizer = torch.optim.Adam(actor.parameters(), fused=True)
    for _ in range(steps):
        loop.begins()
        seen = []
        with torch.no_grad():
            for _ in range(size):
                seen.append(torch.randn(4, 8).to(GPU))
                actor(seen[-1]).argmax(-1).cpu()
        batch = torch.cat(seen)
        for _ in range(4):
            optimizer.zero_grad()
            actor(batch).log_softmax(-1).mean().backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            optimizer.step()


def words_of_any_length(steps, size):
    """Batches of other lengths each time: the same launches on other shapes."""
    chance = random.Random(2)
    model = transformer(size)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(steps):
        loop.begins()
        model(torch.randn(4, 8 * chance.randint(1, 12), 64).to(GPU)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def average(steps, size):
    """A second copy of the weights follows the first; the loss is printed every ten steps."""
    model, follower = transformer(size), transformer(size)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    total = torch.zeros((), device=GPU)
    for step in range(steps):
        loop.begins()
        loss = model(torch.randn(4, 16, 64).to(GPU)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            torch._foreach_lerp_(list(follower.parameters()), list(model.parameters()), 0.01)
        total += loss.detach()
        if (step + 1) % 10 == 0:
            total.item()
            total.zero_()


def none_notebook(steps, size):
    """Cells of somebody who tries things."""
    chance = random.Random(size)
    a, b = torch.randn(64, 64, device=GPU), torch.randn(64, 64, device=GPU)
    cells = [lambda x: x @ b, torch.relu, lambda x: x.sum(0), lambda x: x.softmax(-1), lambda x: (x + 1) * 2 - x,
             lambda x: x.sort().values, lambda x: x.cumsum(0), lambda x: F.layer_norm(x, (64,)), torch.tanh,
             lambda x: x.t().contiguous(), lambda x: F.gelu(x) + F.silu(x), lambda x: x.std(dim=0)]
    for _ in range(steps):
        x = a
        for _ in range(chance.randint(1, 12)):
            x = chance.choice(cells)(x)
            if x.dim() < 2:
                x = x.expand(64, 64) + 0
        if chance.random() < 0.5:
            x.cpu()


def none_requests(steps, size):
    """Requests of any kind to one of several models, with any number of passes."""
    chance = random.Random(size)
    models = [transformer(layers) for layers in (1, 2, 3, 5)] + [convolutions(layers=n) for n in (2, 5)]
    with torch.no_grad():
        for _ in range(steps):
            at = chance.randrange(len(models))
            shape = (1, 16, 64) if at < 4 else (1, 16, 16, 16)
            x = torch.randn(*shape).to(GPU)
            for _ in range(chance.randint(1, 5)):
                x = models[at](x)
            x.cpu()


def none_search(steps, size):
    """Networks of other depths, each trained for a few steps."""
    chance = random.Random(size)
    for _ in range(steps // 4):
        model = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), chance.choice([nn.ReLU, nn.Tanh, nn.GELU])())
                                for _ in range(chance.randint(2, 9))]).to(GPU)
        optimizer = chance.choice([torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad])(model.parameters())
        for _ in range(chance.randint(2, 6)):
            model(torch.randn(4, 32).to(GPU)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def none_loading(steps, size):
    """Weights are read layer by layer and changed in type, and one batch goes through."""
    model = transformer(size, 128)
    with torch.no_grad():
        for parameter in model.parameters():
            new = torch.randn(parameter.shape).to(GPU).half().float()
            parameter.copy_(new * 0.02)
        model.eval()(torch.randn(2, 16, 128).to(GPU)).cpu()


def none_layers(steps, size):
    """A model is changed layer by layer, each by its own statistics, as when weights are made smaller."""
    model = transformer(size, 64)
    with torch.no_grad():
        for layer in model.layers:
            for weight in (layer.linear1.weight, layer.linear2.weight, layer.self_attn.in_proj_weight):
                scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-5) / 127
                weight.copy_((weight / scale).round().clamp(-128, 127) * scale)
        model.eval()(torch.randn(2, 16, 64).to(GPU)).cpu()


LOOPS = {name: each for name, each in list(globals().items())
         if callable(each) and getattr(each, "__code__", None) and each.__code__.co_varnames[:2] == ("steps", "size")}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--size", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    LOOPS[arguments.loop](arguments.steps, arguments.size)
    torch.cuda.synchronize()
    print(arguments.loop)
