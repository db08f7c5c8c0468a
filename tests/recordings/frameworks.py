"""Loops of frameworks for several ranks: python3 frameworks.py LOOP [--steps N] [--size N], one process a rank.

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set.  Megatron-core, DeepSpeed, Accelerate and TorchTitan are no part of
the environment of tests/real_programs: PYTHONPATH names where they are.
"""

import argparse
import functools
import os
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real_programs/programs"))
import steps as loop  # noqa: E402
from frameworks import titan  # noqa: E402 of tests/real_programs

RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def blocks(layers, width=64):
    return nn.Sequential(nn.Linear(32, width), *[Block(width) for _ in range(layers)], nn.Linear(width, 10))


# --- Megatron-core

def megatron(steps, layers, micro_batches, pipeline=1, tensor=1, overlap=False, distributed_optimizer=False,
             evaluate_every=0):
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
    from megatron.core.transformer.transformer_config import TransformerConfig

    torch.cuda.set_device(RANK)
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(tensor, pipeline)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(num_layers=layers, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True,
                               pipeline_model_parallel_size=pipeline, tensor_model_parallel_size=tensor,
                               pipeline_dtype=torch.bfloat16, params_dtype=torch.bfloat16, bf16=True,
                               gradient_accumulation_fusion=False)
    config.finalize_model_grads_func = finalize_model_grads
    sequence, batch, words = 32, 2, 128
    model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=words, max_sequence_length=sequence,
                     pre_process=parallel_state.is_pipeline_first_stage(),
                     post_process=parallel_state.is_pipeline_last_stage()).cuda().bfloat16()
    model = DistributedDataParallel(config, DistributedDataParallelConfig(
        overlap_grad_reduce=overlap, use_distributed_optimizer=distributed_optimizer), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(
        lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=distributed_optimizer), [model])
    mask = torch.tril(torch.ones(1, 1, sequence, sequence, device="cuda")) < 0.5
    places = torch.arange(sequence, device="cuda").unsqueeze(0).expand(batch, -1)

    def forward(data, stage):
        tokens = torch.randint(0, words, (batch, sequence)).cuda(non_blocking=True)
        return stage(tokens, places, mask, labels=tokens), lambda out: (out.float().mean(), {"loss": out.detach().float().mean()})

    run = functools.partial(get_forward_backward_func(), forward_step_func=forward, data_iterator=iter(int, 1),
                            model=[model], num_microbatches=micro_batches, seq_length=sequence, micro_batch_size=batch)
    for step in range(steps):
        loop.begins()
        model.zero_grad_buffer()
        optimizer.zero_grad()
        losses = run(forward_only=False)
        optimizer.step()
        if losses:
            total = torch.stack([one["loss"] for one in losses]).mean()
            torch.distributed.all_reduce(total, group=parallel_state.get_data_parallel_group())
            total.item()
        if evaluate_every and (step + 1) % evaluate_every == 0:
            model.eval()
            with torch.no_grad():
                for _ in range(4):
                    run(forward_only=True)
            model.train()


def megatron_pipeline(steps, size):
    megatron(steps, 4, size, pipeline=2)


def megatron_pipeline_evaluated(steps, size):
    megatron(steps, 4, size, pipeline=2, evaluate_every=5)


def megatron_data(steps, size):
    megatron(steps, 2, size, overlap=True)


def megatron_data_sharded(steps, size):
    megatron(steps, 2, size, distributed_optimizer=True, overlap=True)


def megatron_tensor(steps, size):
    megatron(steps, 2, size, tensor=2)


# --- DeepSpeed

def deepspeed(steps, stage, accumulate):
    import deepspeed as ds

    torch.cuda.set_device(RANK)
    torch.distributed.init_process_group("nccl")
    model = blocks(4)
    engine, _, _, _ = ds.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": accumulate, "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True, "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}})
    for _ in range(steps):
        loop.begins()
        for _ in range(accumulate):
            loss = engine(torch.randn(4, 32).to(engine.device, torch.bfloat16)).float().square().mean()
            engine.backward(loss)
            engine.step()


def deepspeed_zero1(steps, size):
    deepspeed(steps, 1, size)


def deepspeed_zero2(steps, size):
    deepspeed(steps, 2, size)


def deepspeed_zero3(steps, size):
    deepspeed(steps, 3, size)


# --- Accelerate

def accelerate(steps, micro_steps, evaluate_every=0, batches=10, read_every=0, precision="no"):
    from accelerate import Accelerator
    from torch.utils.data import DataLoader, TensorDataset

    accelerator = Accelerator(gradient_accumulation_steps=micro_steps, mixed_precision=precision)
    model = blocks(4)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
    x, y = torch.randn(800 * WORLD, 32), torch.randint(0, 10, (800 * WORLD,))
    train = DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True)
    held = DataLoader(TensorDataset(x[:8 * batches * WORLD], y[:8 * batches * WORLD]), batch_size=8)
    model, optimizer, train, held, schedule = accelerator.prepare(model, optimizer, train, held, schedule)
    step, begins = 0, True
    while step < steps:
        model.train()
        for a, b in train:
            if begins:
                loop.begins()
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(a), b)
                accelerator.backward(loss)
                begins = accelerator.sync_gradients
                if begins:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if not begins:
                continue
            step += 1
            if read_every and step % read_every == 0:
                accelerator.gather(loss.detach()).mean().item()
            if evaluate_every and step % evaluate_every == 0:
                model.eval()
                right = 0
                with torch.no_grad():
                    for a, b in held:
                        guess, b = accelerator.gather_for_metrics((model(a).argmax(-1), b))
                        right += (guess == b).sum().item()
                model.train()
            if step >= steps:
                break


def accelerate_accumulated(steps, size):
    accelerate(steps, size)


def accelerate_evaluated(steps, size):
    accelerate(steps, size, evaluate_every=10)


def accelerate_evaluated_often(steps, size):
    accelerate(steps, size, evaluate_every=3, batches=6)


def accelerate_read(steps, size):
    accelerate(steps, size, read_every=10, precision="bf16")


# --- PyTorch's own

def sharded(steps, micro_steps, evaluate_every=0):
    """FSDP2; gradients are reduced in the last micro-step alone."""
    from torch.distributed.fsdp import fully_shard

    torch.cuda.set_device(RANK)
    torch.distributed.init_process_group("nccl")
    model = blocks(6).cuda()
    for block in model:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        loop.begins()
        for micro_step in range(micro_steps):
            model.set_requires_gradient_sync(micro_step == micro_steps - 1)
            (model(torch.randn(8, 32).cuda()).square().mean() / micro_steps).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if evaluate_every and (step + 1) % evaluate_every == 0:
            with torch.no_grad():
                for _ in range(5):
                    model(torch.randn(8, 32).cuda()).square().mean().item()


def sharded_accumulated(steps, size):
    sharded(steps, size)


def sharded_evaluated(steps, size):
    sharded(steps, 1, evaluate_every=size)


def replicated(steps, size):
    """DistributedDataParallel that accumulates, with a loss that is averaged over the ranks and read."""
    torch.cuda.set_device(RANK)
    torch.distributed.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(blocks(6).cuda(), device_ids=[RANK], bucket_cap_mb=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        loop.begins()
        for micro_step in range(size):
            with model.no_sync() if micro_step != size - 1 else torch.enable_grad():
                loss = model(torch.randn(8, 32).cuda()).square().mean() / size
                loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.distributed.all_reduce(loss.detach())
        loss.item()


# --- TorchTitan

def titan_sharded(steps, size):
    titan(steps)


def titan_sharded_unlogged(steps, size):
    titan(steps, "--metrics.log_freq", str(size))


def titan_sharded_accumulated(steps, size):
    titan(steps, "--training.global_batch_size", str(2 * size * WORLD), "--activation_checkpoint.mode", "full")


def titan_tensor(steps, size):
    titan(steps, "--parallelism.tensor_parallel_degree", "2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--size", type=int, default=2)
    arguments = parser.parse_args()
    globals()[arguments.loop](arguments.steps, arguments.size)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
