"""Programs of frameworks: frameworks.py NAME [--steps N], under torchrun those for two ranks. Their packages are those of
requirements_frameworks.txt."""

import argparse
import dataclasses
import functools
import logging
import os
import sys
import tempfile

import steps as loop
import torch
from torch import distributed, nn
from torch.nn import functional as F

RANK = int(os.environ.get("LOCAL_RANK", "0"))


def blocks(layers, width=64):
    return nn.Sequential(nn.Linear(32, width), *[nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True) for _ in range(layers)],
                         nn.Linear(width, 10))


def trained(model, steps, loss_of):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        loop.begins()
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()


def megatron(steps, pipeline=1, micro_batches=4):
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
    from megatron.core.transformer.transformer_config import TransformerConfig

    parallel_state.initialize_model_parallel(1, pipeline)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(num_layers=2 * pipeline, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True,
                               pipeline_model_parallel_size=pipeline, pipeline_dtype=torch.bfloat16, params_dtype=torch.bfloat16,
                               bf16=True, gradient_accumulation_fusion=False)
    config.finalize_model_grads_func = finalize_model_grads
    sequence, batch, words = 32, 2, 128
    model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=words, max_sequence_length=sequence,
                     pre_process=parallel_state.is_pipeline_first_stage(),
                     post_process=parallel_state.is_pipeline_last_stage()).cuda().bfloat16()
    model = DistributedDataParallel(config, DistributedDataParallelConfig(overlap_grad_reduce=pipeline == 1), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(lr=1e-4, bf16=True, params_dtype=torch.bfloat16), [model])
    mask = torch.tril(torch.ones(1, 1, sequence, sequence, device="cuda")) < 0.5
    places = torch.arange(sequence, device="cuda").unsqueeze(0).expand(batch, -1)

    def forward(data, stage):
        tokens = torch.randint(0, words, (batch, sequence)).cuda(non_blocking=True)
        return stage(tokens, places, mask, labels=tokens), lambda out: (out.float().mean(), {"loss": out.detach().float().mean()})

    run = functools.partial(get_forward_backward_func(), forward_step_func=forward, data_iterator=iter(int, 1), model=[model],
                            num_microbatches=micro_batches, seq_length=sequence, micro_batch_size=batch)
    for _ in range(steps):
        loop.begins()
        model.zero_grad_buffer()
        optimizer.zero_grad()
        run(forward_only=False)
        optimizer.step()


def megatron_pipeline(steps):
    megatron(steps, pipeline=2)


def deepspeed_zero2(steps):
    logging.disable(logging.WARNING)  # its lines begin with the time
    import deepspeed

    model = blocks(2)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2}, "zero_allow_untested_optimizer": True,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}})
    for _ in range(steps):
        loop.begins()
        for _ in range(2):
            loss = engine(torch.randn(4, 8, 32).to(engine.device, torch.bfloat16)).float().square().mean()
            engine.backward(loss)
            engine.step()


def accelerate(steps):
    """Accumulates, and evaluates every ten steps."""
    from accelerate import Accelerator
    from torch.utils.data import DataLoader, TensorDataset

    accelerator = Accelerator(gradient_accumulation_steps=4)
    model = blocks(2)
    data = TensorDataset(torch.randn(64 * steps, 8, 32), torch.randint(0, 10, (64 * steps, 8)))
    model, optimizer, train, held = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), DataLoader(data, 4),
                                                        DataLoader(torch.utils.data.Subset(data, range(80)), 8))
    step, begins = 0, True
    for x, y in train:
        if begins:
            loop.begins()
        with accelerator.accumulate(model):
            accelerator.backward(F.cross_entropy(model(x).flatten(0, 1), y.flatten()))
            begins = accelerator.sync_gradients
            optimizer.step()
            optimizer.zero_grad()
        step += begins
        if begins and step % 10 == 0:
            with torch.no_grad():
                for a, b in held:
                    accelerator.gather_for_metrics((model(a).argmax(-1), b))
        if step >= steps:
            break


def float8(steps):
    from torchao.float8 import convert_to_float8_training

    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda().bfloat16()
    trained(convert_to_float8_training(model), steps,
            lambda own: own(torch.randn(64, 256).cuda().bfloat16()).float().square().mean())


def unet(steps):
    from diffusers import UNet2DModel

    model = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, block_out_channels=(32, 64), layers_per_block=1,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")).cuda()
    trained(model, steps, lambda own: own(torch.randn(2, 3, 16, 16).cuda(), 3).sample.square().mean())


def mixtral(steps):
    from transformers import MixtralConfig, MixtralForCausalLM

    model = MixtralForCausalLM(MixtralConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                             num_attention_heads=4, num_key_value_heads=2, num_local_experts=4)).cuda()

    def loss_of(own):
        words = torch.randint(0, 128, (2, 32)).cuda()
        return own(words, labels=words).loss

    trained(model, steps, loss_of)


def torchrec(steps):
    from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor

    tables, batch = 4, 32
    names = [f"table{i}" for i in range(tables)]
    bags = EmbeddingBagCollection(device=torch.device("cuda"), tables=[
        EmbeddingBagConfig(name=name, embedding_dim=16, num_embeddings=1000, feature_names=[name]) for name in names])
    model = nn.ModuleDict({"bags": bags, "over": nn.Sequential(nn.Linear(16 * tables, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()})

    def loss_of(own):
        indices = KeyedJaggedTensor.from_lengths_sync(names, torch.randint(0, 1000, (3 * batch * tables,)),
                                                      lengths=torch.full((batch * tables,), 3)).to(torch.device("cuda"))
        return own["over"](own["bags"](indices).values()).square().mean()

    trained(model, steps, loss_of)


def titan(steps, *settings):
    """TorchTitan's own trainer on its small Llama, FSDP2, with words made up here; `settings` are more of its options."""
    import torchtitan.hf_datasets.text_datasets as text
    import torchtitan.train
    from torchtitan.components.tokenizer import BaseTokenizer
    from torchtitan.config import ConfigManager

    class Letters(BaseTokenizer):
        eos_id = bos_id = 0

        def encode(self, words, *_, **__):
            return [ord(letter) % 256 for letter in words]

        def decode(self, numbers, *_, **__):
            return "".join(map(chr, numbers))

        def get_vocab_size(self):
            return 256

    class Marked(torchtitan.train.Trainer):
        def train_step(self, data):
            loop.begins()
            super().train_step(data)

    real = torchtitan.train.train_spec_module.get_train_spec
    torchtitan.train.train_spec_module.get_train_spec = lambda name: dataclasses.replace(
        real(name), build_tokenizer_fn=lambda config: Letters())
    text.split_dataset_by_node = lambda samples, rank, ranks: samples
    text.DATASETS["c4_test"].loader = lambda path: [{"text": "any words do " * 100}] * 64
    with tempfile.TemporaryDirectory() as folder:
        Marked(ConfigManager().parse_args([
            "--model.name", "llama3", "--model.flavor", "debugmodel", "--training.dataset", "c4_test", "--training.seq_len", "64",
            "--training.local_batch_size", "2", "--training.steps", str(steps), "--job.dump_folder", folder,
            *settings])).train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=("megatron", "megatron_pipeline", "deepspeed_zero2", "accelerate", "float8", "unet", "mixtral",
                                         "torchrec", "titan"))
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.cuda.set_device(RANK)
    if "RANK" in os.environ and arguments.name not in ("accelerate", "titan"):
        distributed.init_process_group("nccl", device_id=torch.device("cuda", RANK))
    globals()[arguments.name](arguments.steps)
    torch.cuda.synchronize()
    sys.stdout.write("done\n")  # print() writes twice under torchrun
    if distributed.is_initialized():
        distributed.destroy_process_group()
