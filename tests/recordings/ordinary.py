"""Ordinary programs of many kinds, none of them written for the search: python3 ordinary.py PROGRAM [--steps N].

Kernels compute nothing on the simulated GPU: what depends on data is drawn on the CPU.
"""

import argparse
import copy
import pathlib
import random
import sys

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real_programs/programs"))
import steps as loop  # noqa: E402

GPU = torch.device("cuda")
FIRST, SECOND = {}, {}  # programs by name, of the two sets


def program(programs):
    def add(function):
        programs[function.__name__] = function
        return function
    return add


def numbers(*shape):
    return torch.randn(*shape).to(GPU)


def classes(count, *shape):
    return torch.randint(count, shape).to(GPU)


def perceptron(*widths):
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).to(GPU)


def train(steps, parameters, loss, optimizer=torch.optim.Adam, **settings):
    optimizer = optimizer(parameters, **settings)
    for _ in range(steps):
        loop.begins()
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def fine_tune(steps, model, **inputs):
    """As a script for a model of transformers does it."""
    model = model.to(GPU).train()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    for _ in range(steps):
        loop.begins()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**inputs).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def transformers():
    import transformers as module  # takes seconds
    return module


# The first set ---------------------------------------------------------------------------------------------------


@program(FIRST)
def vision_transformer(steps):
    """Half precision with a scaler, and clipped gradients."""
    model = torchvision.models.VisionTransformer(image_size=64, patch_size=16, num_layers=4, num_heads=4,
                                                 hidden_dim=128, mlp_dim=512, num_classes=10).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler()
    for _ in range(steps):
        loop.begins()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(numbers(16, 3, 64, 64)), classes(10, 16))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@program(FIRST)
def lstm(steps):
    words, network, head = (nn.Embedding(1000, 128).to(GPU), nn.LSTM(128, 128, 2, batch_first=True).to(GPU),
                            nn.Linear(128, 1000).to(GPU))

    def loss():
        text = classes(1000, 8, 33)
        return F.cross_entropy(head(network(words(text[:, :-1]))[0]).flatten(0, 1), text[:, 1:].flatten())
    train(steps, [*words.parameters(), *network.parameters(), *head.parameters()], loss)


@program(FIRST)
def adversaries_convolved(steps):
    maker = nn.Sequential(nn.ConvTranspose2d(64, 64, 4), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()).to(GPU)
    judge = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1),
                          nn.BatchNorm2d(64), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(64 * 16, 1)).to(GPU)
    making, judging = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(steps):
        loop.begins()
        made = maker(torch.randn(16, 64, 1, 1, device=GPU))
        judging.zero_grad()
        (F.softplus(-judge(numbers(16, 3, 16, 16))).mean() + F.softplus(judge(made.detach())).mean()).backward()
        judging.step()
        making.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        making.step()


def block(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1), nn.GroupNorm(8, outputs), nn.SiLU()).to(GPU)


@program(FIRST)
def unet(steps):
    """Channels last, bfloat16, and a second copy of the weights that follows the first."""
    parts = nn.ModuleList([block(8, 32), block(32, 64, 2), nn.Linear(1, 64), block(96, 32), nn.Conv2d(32, 8, 3, 1, 1)])
    parts = parts.to(GPU).to(memory_format=torch.channels_last)
    follower = copy.deepcopy(parts)
    optimizer = torch.optim.AdamW(parts.parameters(), fused=True)
    for _ in range(steps):
        loop.begins()
        image = torch.randn(4, 8, 32, 32, device=GPU).to(memory_format=torch.channels_last)
        time, noise = torch.rand(4, 1, device=GPU), torch.randn_like(image)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            wide = parts[0](image + noise * time[:, :, None, None])
            deep = parts[1](wide) + parts[2](time)[:, :, None, None]
            made = parts[4](parts[3](torch.cat([F.interpolate(deep, scale_factor=2), wide], 1)))
            loss = F.mse_loss(made.float(), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(follower.parameters()), list(parts.parameters()), 0.01)


@program(FIRST)
def routed(steps):
    """Each batch goes to two of four experts in each of three layers."""
    chance = random.Random(3)
    gates = nn.ModuleList(nn.Linear(64, 4) for _ in range(3)).to(GPU)
    experts = nn.ModuleList(perceptron(64, 128, 64) for _ in range(12))
    head = nn.Linear(64, 10).to(GPU)

    def loss():
        x = numbers(128, 64)
        for layer, gate in enumerate(gates):
            weights = gate(x).softmax(-1)
            out = torch.zeros_like(x)
            for at in sorted(chance.sample(range(4), 2)):
                rows = torch.randperm(128)[:64].to(GPU)
                out = out.index_add(0, rows, experts[4 * layer + at](x[rows]) * weights[rows, at, None])
            x = x + out
        return F.cross_entropy(head(x), classes(10, 128))
    train(steps, [*gates.parameters(), *experts.parameters(), *head.parameters()], loss, torch.optim.AdamW)


@program(FIRST)
def graph_network(steps):
    """The whole graph is on the GPU."""
    first, second = nn.Linear(32, 64).to(GPU), nn.Linear(64, 8).to(GPU)
    nodes, edges, kinds = numbers(500, 32), classes(500, 2, 3000), classes(8, 500)

    def passed(layer, x):
        x = layer(x)
        return F.relu(torch.zeros_like(x).scatter_add_(0, edges[1][:, None].expand(-1, x.shape[1]), x[edges[0]]))
    train(steps, [*first.parameters(), *second.parameters()],
          lambda: F.cross_entropy(passed(second, passed(first, nodes)), kinds))


@program(FIRST)
def policy_on_device(steps):
    """Eight steps of an environment on the GPU, then four passes of training."""
    policy = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4)).to(GPU)
    value = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1)).to(GPU)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
    state = numbers(16, 8)
    for _ in range(steps):
        loop.begins()
        seen, done, rewards = [], [], []
        with torch.no_grad():
            for _ in range(8):
                seen.append(state)
                done.append(torch.distributions.Categorical(logits=policy(state), validate_args=False).sample())
                state = torch.tanh(state + 0.1 * torch.randn_like(state))
                rewards.append(state.sum(1))
        seen, done, rewards = torch.cat(seen), torch.cat(done), torch.cat(rewards)
        for _ in range(4):
            chosen = torch.distributions.Categorical(logits=policy(seen), validate_args=False)
            worth = value(seen)[:, 0]
            optimizer.zero_grad()
            (F.mse_loss(worth, rewards) - (chosen.log_prob(done) * (rewards - worth.detach())).mean()).backward()
            optimizer.step()


@program(FIRST)
def eight_bits(steps):
    x = numbers(256, 256).to(torch.float8_e4m3fn)
    weights = numbers(256, 256).to(torch.float8_e4m3fn).t()
    one = torch.tensor(1.0, device=GPU)
    for _ in range(steps):
        loop.begins()
        y = torch._scaled_mm(x, weights, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        x = y.float().tanh().to(torch.float8_e4m3fn)


@program(FIRST)
def t5(steps):
    tf, text = transformers(), classes(100, 4, 32)
    fine_tune(steps, tf.T5ForConditionalGeneration(tf.T5Config(
        vocab_size=100, d_model=64, d_ff=128, num_layers=2, num_heads=2, d_kv=32, decoder_start_token_id=0)),
        input_ids=text, labels=text)


@program(FIRST)
def gpt2(steps):
    tf, text = transformers(), classes(100, 4, 32)
    fine_tune(steps, tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=100, n_embd=64, n_layer=2, n_head=2, n_positions=64)),
              input_ids=text, labels=text)


@program(FIRST)
def mixtral(steps):
    tf, text = transformers(), classes(100, 4, 32)
    fine_tune(steps, tf.MixtralForCausalLM(tf.MixtralConfig(
        vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, num_local_experts=4)), input_ids=text, labels=text)


@program(FIRST)
def whisper(steps):
    tf = transformers()
    fine_tune(steps, tf.WhisperForConditionalGeneration(tf.WhisperConfig(
        vocab_size=100, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100,
        max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=[], begin_suppress_tokens=[])),
        input_features=numbers(2, 80, 200), labels=classes(100, 2, 16))


@program(FIRST)
def clip(steps):
    tf = transformers()
    fine_tune(steps, tf.CLIPModel(tf.CLIPConfig(
        text_config=dict(vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=2, max_position_embeddings=32, eos_token_id=2, bos_token_id=1,
                         pad_token_id=0),
        vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
                           image_size=32, patch_size=8), projection_dim=32)),
        input_ids=torch.randint(3, 100, (8, 16)).to(GPU), pixel_values=numbers(8, 3, 32, 32), return_loss=True)


@program(FIRST)
def mamba(steps):
    tf, text = transformers(), classes(100, 2, 16)
    fine_tune(steps, tf.MambaForCausalLM(tf.MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                                                        state_size=8)), input_ids=text, labels=text)


@program(FIRST)
def eight_micro_steps(steps):
    """Steps of few launches."""
    model = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10)).to(GPU)
    optimizer = torch.optim.RMSprop(model.parameters())
    for _ in range(steps):
        loop.begins()
        for _ in range(8):
            (F.cross_entropy(model(torch.randn(32, 64, device=GPU)), classes(10, 32)) / 8).backward()
        optimizer.step()
        optimizer.zero_grad()


@program(FIRST)
def two_streams(steps):
    one, other = perceptron(256, 256, 256), nn.Linear(256, 256).to(GPU)
    side = torch.cuda.Stream()

    def loss():
        x = torch.randn(64, 256, device=GPU)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            beside = other(x)
        result = one(x)
        torch.cuda.current_stream().wait_stream(side)
        return (beside * result).mean()
    train(steps, [*one.parameters(), *other.parameters()], loss, torch.optim.SGD, lr=0.01)


@program(FIRST)
def profiled(steps):
    """By torch.profiler, for ten of its first steps."""
    model = perceptron(256, 256, 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torch.profiler.profile(schedule=torch.profiler.schedule(wait=5, warmup=2, active=3, repeat=1)) as profiler:
        for _ in range(steps):
            loop.begins()
            loss = model(torch.randn(64, 256, device=GPU)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()


@program(FIRST)
def data_parallel(steps):
    """Two GPUs."""
    model = nn.DataParallel(perceptron(64, 128, 10), device_ids=[0, 1])
    train(steps, model.parameters(), lambda: F.cross_entropy(
        model(torch.randn(32, 64, device=GPU)), torch.randint(10, (32,), device=GPU)))


@program(FIRST)
def compiled_optimizer(steps):
    model = torch.compile(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10)).to(GPU))
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    step = torch.compile(lambda: optimizer.step())
    for _ in range(steps):
        loop.begins()
        loss = F.cross_entropy(model(torch.randn(32, 64, device=GPU)), torch.randint(10, (32,), device=GPU))
        optimizer.zero_grad()
        loss.backward()
        step()


@program(FIRST)
def lbfgs(steps):
    model, x, y = nn.Linear(32, 1).to(GPU), numbers(64, 32), numbers(64, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss
    for _ in range(steps):
        loop.begins()
        optimizer.step(closure)


# The second set --------------------------------------------------------------------------------------------------


@program(SECOND)
def autoencoder(steps):
    encoder = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(),
                            nn.Linear(32 * 64, 32)).to(GPU)
    decoder = nn.Sequential(nn.Linear(16, 32 * 64), nn.Unflatten(1, (32, 8, 8)), nn.ConvTranspose2d(32, 16, 4, 2, 1),
                            nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Sigmoid()).to(GPU)

    def loss():
        image = torch.rand(16, 3, 32, 32).to(GPU)
        mean, spread = encoder(image).chunk(2, 1)
        made = decoder(mean + torch.randn_like(mean) * (0.5 * spread).exp())
        return F.binary_cross_entropy(made, image) - 0.5 * (1 + spread - mean.square() - spread.exp()).mean()
    train(steps, [*encoder.parameters(), *decoder.parameters()], loss)


@program(SECOND)
def two_views(steps):
    """One network for two views of the same images."""
    model = torchvision.models.resnet18(num_classes=64).to(GPU)

    def loss():
        image = numbers(8, 3, 32, 32)
        a, b = (F.normalize(model(image + 0.1 * torch.randn_like(image))) for _ in range(2))
        return F.cross_entropy(a @ b.t() / 0.1, torch.arange(8, device=GPU))
    train(steps, model.parameters(), loss, torch.optim.SGD, lr=0.1, momentum=0.9)


@program(SECOND)
def distillation(steps):
    teacher, student = perceptron(64, 256, 256, 256, 10).eval(), perceptron(64, 64, 10)

    def loss():
        x = numbers(32, 64)
        with torch.no_grad():
            wanted = teacher(x).softmax(-1)
        return F.kl_div(student(x).log_softmax(-1), wanted, reduction="batchmean")
    train(steps, student.parameters(), loss, torch.optim.AdamW)


@program(SECOND)
def deep_q(steps):
    """One action on the host, one batch of what was seen, and the target follows every 50 steps."""
    network = perceptron(4, 64, 64, 2)
    target = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    for step in range(steps):
        loop.begins()
        with torch.no_grad():
            network(numbers(1, 4)).argmax(-1).cpu()
        states, later, actions, rewards = numbers(32, 4), numbers(32, 4), classes(2, 32, 1), numbers(32)
        with torch.no_grad():
            worth = rewards + 0.99 * target(later).max(1).values
        loss = F.smooth_l1_loss(network(states).gather(1, actions)[:, 0], worth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            target.load_state_dict(network.state_dict())


@program(SECOND)
def word_vectors(steps):
    """Sparse gradients."""
    words, contexts = nn.Embedding(5000, 32, sparse=True).to(GPU), nn.Embedding(5000, 32, sparse=True).to(GPU)

    def loss():
        here, near, far = classes(5000, 64), classes(5000, 64), classes(5000, 64, 5)
        close = (words(here) * contexts(near)).sum(-1)
        apart = (words(here)[:, None] * contexts(far)).sum(-1)
        return -(F.logsigmoid(close).mean() + F.logsigmoid(-apart).mean())
    train(steps, [*words.parameters(), *contexts.parameters()], loss, torch.optim.SGD, lr=0.1)


@program(SECOND)
def flow(steps):
    """Six coupling layers."""
    layers = [perceptron(4, 64, 8) for _ in range(6)]

    def loss():
        x, total = numbers(64, 8), 0
        for layer in layers:
            kept, changed = x.chunk(2, 1)
            scale, shift = layer(kept).chunk(2, 1)
            x = torch.cat([changed * scale.tanh().exp() + shift, kept], 1)
            total = total + scale.tanh().sum(1)
        return (0.5 * x.square().sum(1) - total).mean()
    train(steps, [parameter for layer in layers for parameter in layer.parameters()], loss)


@program(SECOND)
def gradient_penalty(steps):
    """Five steps of the judge, with gradients of gradients, for each of the maker."""
    maker, judge = perceptron(16, 64, 32), perceptron(32, 64, 1)
    making, judging = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(steps):
        loop.begins()
        for _ in range(5):
            real, made = numbers(16, 32), maker(numbers(16, 16)).detach()
            between = (real + torch.rand(16, 1, device=GPU) * (made - real)).requires_grad_()
            slope, = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
            judging.zero_grad()
            (judge(made).mean() - judge(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()).backward()
            judging.step()
        making.zero_grad()
        (-judge(maker(numbers(16, 16))).mean()).backward()
        making.step()


@program(SECOND)
def learning_to_learn(steps):
    """Four tasks a step, two steps of learning in each."""
    model = perceptron(8, 32, 1)
    names = [name for name, _ in model.named_parameters()]

    def of_task():
        weights, x, y = dict(model.named_parameters()), numbers(16, 8), numbers(16, 1)
        for _ in range(2):
            error = F.mse_loss(torch.func.functional_call(model, weights, x), y)
            slopes = torch.autograd.grad(error, list(weights.values()), create_graph=True)
            weights = {name: weights[name] - 0.01 * slope for name, slope in zip(names, slopes)}
        return F.mse_loss(torch.func.functional_call(model, weights, x), y)
    train(steps, model.parameters(), lambda: sum(of_task() for _ in range(4)))


@program(SECOND)
def sharpness_aware(steps):
    """Two passes a step: the second where the loss is worst nearby."""
    model = perceptron(32, 64, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        loop.begins()
        x, y = numbers(16, 32), classes(10, 16)
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            slopes = [parameter.grad * 0.05 for parameter in model.parameters()]
            torch._foreach_add_(list(model.parameters()), slopes)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            torch._foreach_sub_(list(model.parameters()), slopes)
        optimizer.step()
        optimizer.zero_grad()


@program(SECOND)
def equation(steps):
    """The derivatives of a network solve an equation."""
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).to(GPU)

    def loss():
        at = torch.rand(128, 2, device=GPU, requires_grad=True)
        value = model(at)
        slope, = torch.autograd.grad(value.sum(), at, create_graph=True)
        bend, = torch.autograd.grad(slope[:, 0].sum(), at, create_graph=True)
        return (slope[:, 1] - 0.1 * bend[:, 0] + value[:, 0] * slope[:, 0]).square().mean()
    train(steps, model.parameters(), loss)


@program(SECOND)
def differential(steps):
    """A network integrated in eight steps of Runge and Kutta."""
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 8)).to(GPU)

    def loss():
        x, size = numbers(32, 8), 0.125
        for _ in range(8):
            a = model(x)
            b = model(x + 0.5 * size * a)
            c = model(x + 0.5 * size * b)
            x = x + size / 6 * (a + 2 * b + 2 * c + model(x + size * c))
        return x.square().mean()
    train(steps, model.parameters(), loss)


def image_model(name):
    def trained(steps):
        torch.manual_seed(0)
        model = torchvision.models.get_model(name, num_classes=10).to(GPU)
        train(steps, model.parameters(), lambda: F.cross_entropy(model(numbers(2, 3, 64, 64)), classes(10, 2)),
              torch.optim.SGD, lr=0.1, momentum=0.9)
    SECOND[name] = trained


for each in ("densenet121", "convnext_tiny", "shufflenet_v2_x0_5", "swin_t", "squeezenet1_1"):
    image_model(each)


@program(SECOND)
def opt(steps):
    tf, text = transformers(), classes(100, 4, 32)
    fine_tune(steps, tf.OPTForCausalLM(tf.OPTConfig(vocab_size=100, hidden_size=64, ffn_dim=128, num_hidden_layers=3,
                                                    num_attention_heads=2, word_embed_proj_dim=64)),
              input_ids=text, labels=text)


@program(SECOND)
def bart(steps):
    tf, text = transformers(), classes(100, 4, 32)
    fine_tune(steps, tf.BartForConditionalGeneration(tf.BartConfig(
        vocab_size=100, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128)), input_ids=text, labels=text)


@program(SECOND)
def sentences(steps):
    """A classifier whose batches are as long as their longest sentence."""
    tf, chance = transformers(), random.Random(4)
    model = tf.DistilBertForSequenceClassification(tf.DistilBertConfig(vocab_size=100, dim=64, hidden_dim=128,
                                                                       n_layers=3, n_heads=2)).to(GPU).train()

    def loss():
        text = classes(100, 8, chance.choice([16, 24, 32]))
        return model(input_ids=text, attention_mask=torch.ones_like(text), labels=classes(2, 8)).loss
    train(steps, model.parameters(), loss, torch.optim.AdamW)


@program(SECOND)
def beams(steps):
    """Answers of 16 words, by three beams."""
    tf = transformers()
    model = tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=100, n_embd=64, n_layer=2, n_head=2, n_positions=64,
                                             bos_token_id=1, eos_token_id=2)).to(GPU).eval()
    for _ in range(steps):
        loop.begins()
        model.generate(classes(100, 1, 8), max_new_tokens=16, min_new_tokens=16, num_beams=3, do_sample=False)


@program(SECOND)
def k_means(steps):
    points, centres = numbers(4096, 16), numbers(32, 16)
    for _ in range(steps):
        loop.begins()
        nearest = torch.cdist(points, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        counts = torch.zeros(32, device=GPU).index_add_(0, nearest, torch.ones(4096, device=GPU))
        centres = sums / counts.clamp(min=1)[:, None]


@program(SECOND)
def conjugate_gradients(steps):
    matrix, x = numbers(512, 512), torch.zeros(512, device=GPU)
    rest = numbers(512)
    direction, length = rest.clone(), rest @ rest
    for _ in range(steps):
        loop.begins()
        image = matrix @ direction
        share = length / (direction @ image)
        x += share * direction
        rest -= share * image
        shorter = rest @ rest
        direction = rest + shorter / length * direction
        length = shorter
        length.item()


@program(SECOND)
def stencil(steps):
    """Two launches a step."""
    field = numbers(1, 1, 128, 128)
    weights = torch.tensor([[0.0, 0.25, 0.0], [0.25, 0.0, 0.25], [0.0, 0.25, 0.0]], device=GPU)[None, None]
    for _ in range(steps):
        loop.begins()
        field = F.conv2d(F.pad(field, (1, 1, 1, 1)), weights)


@program(SECOND)
def ensemble(steps):
    """Four networks at once, by vmap."""
    models = [perceptron(16, 32, 4) for _ in range(4)]
    weights, buffers = torch.func.stack_module_state(models)
    one = models[0]

    def loss():
        out = torch.func.vmap(lambda w, b, x: torch.func.functional_call(one, (w, b), (x,)), (0, 0, None))(
            weights, buffers, numbers(32, 16))
        return F.cross_entropy(out.flatten(0, 1), classes(4, 128))
    train(steps, list(weights.values()), loss)


@program(SECOND)
def attention_network(steps):
    """Graph attention over neighbours that are drawn anew for each batch."""
    chance = random.Random(5)
    layers = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 32)]).to(GPU)
    scores = nn.ModuleList([nn.Linear(64, 1), nn.Linear(64, 1)]).to(GPU)

    def loss():
        x, edges = numbers(200, 32), classes(200, 2, chance.randint(500, 2000))
        for layer, score in zip(layers, scores):
            x = layer(x)
            weight = F.leaky_relu(score(torch.cat([x[edges[0]], x[edges[1]]], 1))).exp()
            total = torch.zeros(200, 1, device=GPU).index_add(0, edges[1], weight)
            x = F.elu(torch.zeros_like(x).index_add(0, edges[1], weight * x[edges[0]]) / (total + 1e-6))
        return F.cross_entropy(x, classes(32, 200))
    train(steps, [*layers.parameters(), *scores.parameters()], loss)


@program(SECOND)
def six_micro_steps(steps):
    """Steps of a convolutional network; gradients are clipped and the loss is read."""
    model = torchvision.models.resnet18(num_classes=10).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(steps):
        loop.begins()
        total = torch.zeros((), device=GPU)
        for _ in range(6):
            loss = F.cross_entropy(model(numbers(2, 3, 32, 32)), classes(10, 2)) / 6
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total.item()


@program(SECOND)
def none_statistics(steps):
    """Tables of any width, each read in another way."""
    chance = random.Random(6)
    looks = [lambda x: x.mean(0), lambda x: x.std(0), lambda x: torch.cov(x.t()), lambda x: x.sort(0).values,
             lambda x: x.quantile(0.5, 0), lambda x: torch.histc(x, 16), lambda x: (x - x.mean(0)).square().sum(0),
             lambda x: x.cumsum(0), lambda x: x.t() @ x, lambda x: x.unique(), lambda x: x.clamp(-1, 1).abs().max()]
    for _ in range(steps):
        table = numbers(128, chance.randint(1, 16))
        for look in chance.sample(looks, chance.randint(1, 6)):
            look(table)
        if chance.random() < 0.3:
            table.cpu()


@program(SECOND)
def none_tests(steps):
    """A suite of tests: each layer of torch.nn once, forward and backward."""
    chance = random.Random(7)
    kinds = [lambda w: nn.Linear(w, w), lambda w: nn.LayerNorm(w), lambda w: nn.GELU(), lambda w: nn.Softmax(-1),
             lambda w: nn.RMSNorm(w), lambda w: nn.Bilinear(w, w, w), lambda w: nn.SiLU(), lambda w: nn.Dropout(0.2),
             lambda w: nn.MultiheadAttention(w, 2, batch_first=True), lambda w: nn.GRUCell(w, w), lambda w: nn.PReLU()]
    for _ in range(steps):
        width = 8 * chance.randint(1, 8)
        layer = chance.choice(kinds)(width).to(GPU)
        x = numbers(4, width).requires_grad_()
        out = layer(x, x, x)[0] if isinstance(layer, nn.MultiheadAttention) else \
            layer(x, x) if isinstance(layer, (nn.Bilinear, nn.GRUCell)) else layer(x)
        out.sum().backward()
        if chance.random() < 0.5:
            x.grad.cpu()


PROGRAMS = {**FIRST, **SECOND}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    PROGRAMS[arguments.program](arguments.steps)
    torch.cuda.synchronize()
    print(arguments.program)
