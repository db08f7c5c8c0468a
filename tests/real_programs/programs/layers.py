"""Runs layers for which cuDNN has functions of its own: batch norms, recurrent networks, attention, CTC: python3 layers.py [--steps N]."""

import argparse

import names
import steps as loop
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


class Speech(nn.Module):
    """Convolutions with batch norms, an LSTM in both directions and a GRU, attention, letters."""

    def __init__(self, bands=16, width=64, heads=4, letters=30):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=(2, 1), padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.lstm = nn.LSTM(8 * bands // 2, width // 2, 2, batch_first=True, bidirectional=True, dropout=0.1)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.norm = nn.BatchNorm1d(width)
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.letters = nn.Linear(width, letters)

    def forward(self, sound):
        hidden = self.convolutions(sound).flatten(1, 2).transpose(1, 2)
        hidden = self.gru(self.lstm(hidden)[0])[0]
        hidden = self.norm(hidden.transpose(1, 2)).transpose(1, 2)
        with torch.autocast("cuda", dtype=torch.float16):
            parts = self.queries_keys_values(hidden)
            split = parts.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                attended = nn.functional.scaled_dot_product_attention(*split)
        return self.letters(attended.transpose(1, 2).flatten(2).float()).log_softmax(-1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = Speech().cuda()
    names.put_around(model)
    optimizer = torch.optim.Adam(model.parameters())
    sound = torch.randn(4, 1, 16, 12).cuda()
    text = torch.randint(1, 30, (4 * 3,), dtype=torch.int32)
    for step in range(arguments.steps):
        loop.begins()
        model.train()
        loss = nn.functional.ctc_loss(model(sound).transpose(0, 1), text, (12,) * 4, (3,) * 4)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step + 2 >= arguments.steps:  # in a warm-up the second one is met with its names
            model.eval()
            with torch.no_grad():
                model(sound)
    print(f"loss {float(loss):.3f}")
