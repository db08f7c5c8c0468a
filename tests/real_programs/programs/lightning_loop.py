"""A loop by Lightning: python3 lightning_loop.py [--steps N]."""

import argparse
import logging
import warnings

import lightning
import names
import steps as loop
import torch
from torch import nn

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1))

    def training_step(self, batch, _):
        features, target = batch
        return nn.functional.mse_loss(self.layers(features), target)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), fused=True)


class Steps(lightning.Callback):
    def on_train_start(self, *_):
        loop.begins()

    def on_train_batch_end(self, *_):
        loop.begins()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(4096, 64), torch.randn(4096, 1))
    trainer = lightning.Trainer(max_steps=steps, accelerator="gpu", devices=1, logger=False, precision="bf16-mixed",
                                callbacks=[Steps()], enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)
    regression = Regression()
    names.put_around(regression.layers)  # the loop calls no forward of the whole
    trainer.fit(regression, torch.utils.data.DataLoader(data, batch_size=32))
    print(f"{trainer.global_step} steps")
