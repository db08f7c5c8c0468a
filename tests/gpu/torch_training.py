"""A PyTorch training loop for training.py: embeddings, layers of products and norms, AdamW.

    torch_training.py [--steps N] [--mark] [--ranges] [--device cuda|cpu]

--mark: each step is marked by the injected library's own call.  --ranges: NVTX ranges around the parts of a step
and around each layer's forward pass.  Prints a JSON object: steps, and with --ranges how many ranges
were pushed and their paths.
Exit status 77 where there is no PyTorch or no GPU.
"""

import argparse
import contextlib
import json

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--mark", action="store_true")
parser.add_argument("--ranges", action="store_true")
parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
options = parser.parse_args()

if options.device == "cuda":
    from torch_gpu import torch
else:
    import torch
from iteration_mark import iteration_mark

LAYERS = 4
WIDTH = 512
STEPS_PER_REPORT = 50

open_ranges = []
pushed = 0
paths = set()


@contextlib.contextmanager
def layer_range(name):
    """A range, where there are to be ranges."""
    global pushed
    if not options.ranges:
        yield
        return
    open_ranges.append(name)
    paths.add(".".join(open_ranges))
    pushed += 1
    if options.device == "cuda":
        torch.cuda.nvtx.range_push(name)
    yield
    if options.device == "cuda":
        torch.cuda.nvtx.range_pop()
    open_ranges.pop()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(1000, WIDTH)
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU())
            for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, 8)

    def forward(self, tokens):
        with layer_range("table"):
            values = self.table(tokens)
        for number, layer in enumerate(self.layers):
            with layer_range(f"layer{number}"):
                values = layer(values)
        with layer_range("head"):
            return self.head(values)


mark_iteration = iteration_mark() if options.mark else lambda: None
torch.manual_seed(1)
model = Model().to(options.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 1000, (64, 32), device=options.device)
for step in range(1, options.steps + 1):
    mark_iteration()
    optimizer.zero_grad(set_to_none=True)
    with layer_range("forward"):
        result = model(tokens)
    with layer_range("loss"):
        loss = result.square().mean()
    loss.backward()
    with layer_range("optimizer"):
        optimizer.step()
    if step % STEPS_PER_REPORT == 0:
        loss.item()
if options.device == "cuda":
    torch.cuda.synchronize()
said = {"steps": options.steps}
if options.ranges:
    said.update(ranges=pushed, paths=sorted(paths))
print(json.dumps(said))
