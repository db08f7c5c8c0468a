"""A training that does not launch the same in all its steps: python3 switching.py WAY [--steps N] [--before N].

captured: eager for the first half, or so many steps as --before says, then the whole step is one CUDA graph.
compiled: eager as long, then torch.compile.
smaller: the batch is half as large behind as many steps.
epochs: trains for 50 steps and evaluates for 20 batches, in turn.
"""

import argparse

import gpt
import torch


def eager(steps, options, model, optimizer):
    return gpt.train(steps, model, options, optimizer)


def switch():
    """A recording's steps are those before."""
    gpt.loop.begins = lambda: None


def captured(before, steps):
    options, model = gpt.prepare(eager=False)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True, capturable=True)
    eager(before, options, model, optimizer)
    switch()
    tokens, target = (part.clone() for part in gpt.example.sequences(options, "cuda"))
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = gpt.loss_of(model, tokens, target)
        loss.backward()
        optimizer.step()
    for _ in range(steps - before):
        new_tokens, new_target = gpt.example.sequences(options, "cuda")
        tokens.copy_(new_tokens)
        target.copy_(new_target)
        graph.replay()
        loss.item()
    return float(loss)


def compiled(before, steps):
    options, model = gpt.prepare(eager=False)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    eager(before, options, model, optimizer)
    switch()
    return eager(steps - before, options, torch.compile(model), optimizer)


def smaller(before, steps):
    options, model = gpt.prepare(eager=False)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    eager(before, options, model, optimizer)
    switch()
    options.batch //= 2
    return eager(steps - before, options, model, optimizer)


def epochs(_, steps):
    options, model = gpt.prepare(eager=False)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for done in range(0, steps, 50):
        loss = eager(min(50, steps - done), options, model, optimizer)
        model.eval()
        with torch.no_grad():
            for _ in range(20):
                gpt.loss_of(model, *gpt.example.sequences(options, "cuda")).item()
        model.train()
    return loss


WAYS = {way.__name__: way for way in (captured, compiled, smaller, epochs)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--before", type=int, help="steps before the change")
    arguments = parser.parse_args()
    before = arguments.steps // 2 if arguments.before is None else arguments.before
    gpt.report(arguments.way, WAYS[arguments.way](before, arguments.steps))
