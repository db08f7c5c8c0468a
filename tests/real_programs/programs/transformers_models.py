"""Models of transformers from a configuration, with random weights: python3 transformers_models.py PROGRAM [--steps N]."""

import argparse
import os
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import names
import steps as loop
import torch
import transformers

LLAMA = dict(vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=None)


def llama(layers=2):
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**LLAMA, "num_hidden_layers": layers}))


def bert(layers=2):
    torch.manual_seed(0)
    return transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=layers, num_attention_heads=4))


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, at):
        words = (torch.arange(64) * 5 + at) % 511 + 1
        return {"input_ids": words, "labels": words.clone(), "attention_mask": torch.ones_like(words)}


class Trainer(transformers.Trainer):
    """Says when a step has ended: behind what is written down of some."""

    def _maybe_log_save_evaluate(self, *arguments, **more):
        super()._maybe_log_save_evaluate(*arguments, **more)
        loop.begins()


def trained(model, steps, **more):
    names.put_around(model)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model, train_dataset=Sentences(),
            args=transformers.TrainingArguments(
                output_dir=folder, max_steps=steps, per_device_train_batch_size=8, bf16=True, report_to=[],
                save_strategy="no", logging_steps=10, disable_tqdm=True, optim="adamw_torch_fused", **more))
        trainer.remove_callback(transformers.PrinterCallback)  # it prints how long it took
        loop.begins()
        result = trainer.train()
    print(f"{result.global_step} steps, loss {result.training_loss:.3f}")


class Enough(Exception):
    """So many words were made."""


class Counter(transformers.generation.streamers.BaseStreamer):
    """Ends generate(), which asks the GPU whether a sentence has ended: there kernels compute nothing, so it never has."""

    def __init__(self, most):
        self.words, self.most = -1, most  # the first call brings the prompt

    def put(self, value):
        loop.begins()
        self.words += value.numel() if self.words >= 0 else 1
        if self.words >= self.most:
            raise Enough

    def end(self):
        pass


def generated(model, cache, steps):
    model = model.cuda().eval()
    names.put_around(model)
    prompt = torch.arange(1, 17, device="cuda").unsqueeze(0)
    counter = Counter(steps)
    try:
        with torch.no_grad():
            model.generate(prompt, max_new_tokens=steps + 1, do_sample=False, cache_implementation=cache,
                           disable_compile=True, streamer=counter)
    except Enough:
        pass
    torch.cuda.synchronize()
    print(f"{counter.words} words")


PROGRAMS = {
    "trainer_llama": lambda layers, steps: trained(llama(layers), steps),
    "trainer_llama_accumulated": lambda layers, steps: trained(llama(layers), steps, gradient_accumulation_steps=4),
    "trainer_bert": lambda layers, steps: trained(bert(layers), steps),
    "generate_static": lambda layers, steps: generated(llama(layers), "static", steps),
    "generate_dynamic": lambda layers, steps: generated(llama(layers), None, steps),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--layers", type=int, default=2)
    arguments = parser.parse_args()
    PROGRAMS[arguments.program](arguments.layers, arguments.steps)
