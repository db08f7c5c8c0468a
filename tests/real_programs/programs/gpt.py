"""The GPT of examples/pytorch in the ways in which people train: python3 gpt.py WAY [--steps N]."""

import argparse

import examples
import names
import steps as loop
import torch
from torch.nn import functional as F

example = examples.load("gpt")
more_flags = []  # of the command line: sizes of the model and its batches
SIZES = ["--batch", "8", "--length", "64", "--width", "128", "--heads", "4", "--layers", "3"]


def prepare(*flags, eager=True):
    torch.manual_seed(0)
    options = example.parse([*SIZES, *flags, *more_flags])
    model = example.Gpt(options).cuda()
    if eager:
        names.put_around(model)
    return options, model


def loss_of(model, tokens, target):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return F.cross_entropy(model(tokens).flatten(0, 1), target.flatten())


def train(steps, model, options, optimizer, scaler=None, accumulate=1, evaluate_every=0):
    last = None
    for step in range(steps):
        loop.begins()
        for _ in range(accumulate):
            tokens, target = example.sequences(options, "cuda")
            loss = loss_of(model, tokens, target) / accumulate
            (scaler.scale(loss) if scaler else loss).backward()
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last = loss.detach()
        if evaluate_every and (step + 1) % evaluate_every == 0:
            model.eval()
            with torch.no_grad():
                loss_of(model, *example.sequences(options, "cuda"))
            model.train()
    return float(last)


def fused(steps):
    options, model = prepare()
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), fused=True))


def foreach(steps):
    options, model = prepare()
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), foreach=True))


def scaled(steps):
    options, model = prepare()
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), foreach=True),
                 scaler=torch.amp.GradScaler("cuda"))


def accumulated(steps):
    options, model = prepare("--accumulate", "4")
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), fused=True),
                 accumulate=options.accumulate)


def checkpointed(steps):
    options, model = prepare("--checkpoint")
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), fused=True))


def evaluated(steps):
    options, model = prepare()
    return train(steps, model, options, torch.optim.AdamW(model.parameters(), fused=True), evaluate_every=10)


def compiled(steps, **how):
    options, model = prepare(eager=False)
    return train(steps, torch.compile(model, **how), options, torch.optim.AdamW(model.parameters(), fused=True))


def compiled_with_graphs(steps):
    return compiled(steps, mode="reduce-overhead")


def captured(steps):
    """A whole step in one CUDA graph."""
    options, model = prepare(eager=False)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True, capturable=True)
    tokens, target = (part.clone() for part in example.sequences(options, "cuda"))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, tokens, target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(steps):
        loop.begins()
        new_tokens, new_target = example.sequences(options, "cuda")
        tokens.copy_(new_tokens)
        target.copy_(new_target)
        graph.replay()
    return float(loss)


def graphed_callables(steps):
    options, model = prepare(eager=False)
    sample = example.sequences(options, "cuda")[0].clone()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    model = torch.cuda.make_graphed_callables(model, (sample,))
    last = None
    for _ in range(steps):
        loop.begins()
        tokens, target = example.sequences(options, "cuda")
        loss = F.cross_entropy(model(tokens).flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last = loss.detach()
    return float(last)


def report(way, loss):
    """Nothing is computed: a loss is what its memory held before, and that is another value where a compiler has tried kernels."""
    print(f"{way}: ended" if way.startswith("compiled") else f"{way}: loss {loss:.3f}")


WAYS = {way.__name__: way for way in (fused, foreach, scaled, accumulated, checkpointed, evaluated, compiled,
                                      compiled_with_graphs, captured, graphed_callables)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--steps", type=int, default=60)
    arguments, more_flags = parser.parse_known_args()
    report(arguments.way, WAYS[arguments.way](arguments.steps))
