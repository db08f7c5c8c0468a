// Launch sequences made up after the structure of real programs, with the truth about where their
// iterations begin: the host's waits and launches of graphs are in them, unlike in
// launch_program.hpp.
#pragma once

#include "launch_program.hpp"
#include "launch_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::schedule::test {

struct Call {
  std::uint32_t symbol = 0;
  std::uint32_t kernels = 1;             // more for a graph
  bool host_waits_before = false;        // for the device
  bool is_another_thread = false;        // than that of the launch before
  std::size_t bytes_reduced_before = 0;  // the most that ranks add up at once
  bool updates = false;                  // parameters
};

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : random_(seed) {}
  explicit Sequence(const LaunchProgram& program)
      : random_(1), starts_(program.starts().begin(), program.starts().end()) {
    for (const std::uint32_t kernel : program.launches())
      launch(kernel);
  }

  void launch(std::uint32_t symbol, std::uint32_t kernels = 1, bool updates = false) {
    calls_.push_back({symbol, kernels, std::exchange(waits_, false), std::exchange(turns_, false),
                      std::exchange(bytes_, 0), updates});
  }
  void launch(std::initializer_list<std::uint32_t> symbols) {
    for (const std::uint32_t symbol : symbols)
      launch(symbol);
  }
  void wait() { waits_ = true; }
  void turn() { turns_ = true; }
  void reduce(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  void begin_iteration() { starts_.push_back(calls_.size()); }
  // Numbers in 0..bound-1.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  bool chance(double probability) { return random_.chance(probability); }

  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  [[nodiscard]] const std::vector<std::uint64_t>& starts() const { return starts_; }

 private:
  LaunchProgram random_;
  std::vector<Call> calls_;
  std::vector<std::uint64_t> starts_;
  bool waits_ = false;
  bool turns_ = false;
  std::size_t bytes_ = 0;
};

struct NamedSequence {
  std::string name;
  std::function<Sequence()> make;
};

// --- generation of tokens

struct Decoder {
  std::size_t blocks = 8;
  std::uint32_t launches_a_block = 13;
  bool has_own_head = false;         // kernels that no block has
  bool prompt_ends_likewise = true;  // with the launches a token ends with
  bool waits = true;
};

// A prompt, then tokens of `blocks` equal blocks between a start and a tail.
inline Sequence decoder(std::uint64_t seed, const Decoder& d) {
  Sequence s(seed);
  const auto block = [&](std::uint32_t model) {
    for (std::uint32_t k = 0; k < d.launches_a_block; ++k)
      s.launch(model + 10 + k * 7 % 11);  // some kernels several times
  };
  const auto tail = [&] {
    if (d.has_own_head) return s.launch({900, 901, 12, 902});
    s.launch({12, 10, 19, 12, 20});
  };
  for (std::uint32_t i = 0; i < 30; ++i) {
    s.wait();
    s.launch(1 + i % 3);
  }
  for (std::size_t i = 0; i < d.blocks; ++i)
    block(100);
  if (d.prompt_ends_likewise) tail();
  for (int token = 0; token < 120; ++token) {
    if (d.waits) s.wait();
    s.begin_iteration();
    if (d.has_own_head) s.launch(899);
    s.launch({19, 14});
    for (std::size_t i = 0; i < d.blocks; ++i)
      block(0);
    tail();
  }
  return s;
}

struct Server {
  std::uint32_t least_tokens = 5;  // of an answer
  std::uint32_t most_tokens = 60;
  bool prompt_is_alike = true;  // but for the kernel of its attention: an iteration like others
};

// Answers of any length: a prompt's pass, then one of 317 launches for each token.
inline Sequence server(const Server& v) {
  Sequence s(5);
  const auto pass = [&](std::uint32_t attention) {
    s.begin_iteration();
    s.launch(1);
    for (int layer = 0; layer < 24; ++layer) {
      for (std::uint32_t k = 0; k < 13; ++k)
        s.launch(k == 5 ? attention : 10 + k);
    }
    s.launch({2, 3, 4, 5});
    s.wait();
  };
  for (std::uint32_t i = 0; i < 300; ++i)
    s.launch(901 + i % 3);
  for (int answer = 0; answer < 120; ++answer) {
    if (v.prompt_is_alike) {
      pass(500);
    } else {
      for (std::uint32_t i = 0; i < 200; ++i)
        s.launch(600 + i % 17);
      s.wait();
    }
    for (std::uint32_t token = v.least_tokens + s.below(v.most_tokens - v.least_tokens + 1);
         token > 0; --token)
      pass(501);
  }
  return s;
}

// Three steps launch by launch, then each is a graph of as many kernels.
inline Sequence captured_after_three(std::uint32_t kernels, bool waits) {
  Sequence s(1);
  for (std::uint32_t i = 0; i < 200; ++i)
    s.launch(1 + i % 5);
  for (int step = 0; step < 200; ++step) {
    if (waits) s.wait();
    s.begin_iteration();
    if (step >= 3) {
      s.launch(900, kernels);
      continue;
    }
    for (std::uint32_t i = 0; i < kernels; ++i)
      s.launch(100 + i % 40);
  }
  return s;
}

// Each token is one launch of a graph, or one of each of `parts` graphs with a kernel between.
inline Sequence decoder_of_graphs(std::size_t parts, std::uint32_t kernels, bool waits) {
  Sequence s(1);
  for (std::uint32_t i = 0; i < 150; ++i)
    s.launch(1 + i % 13);
  for (int token = 0; token < 150; ++token) {
    if (waits) s.wait();
    s.begin_iteration();
    for (std::uint32_t part = 0; part < parts; ++part) {
      s.launch(500 + part, kernels);
      if (parts > 1) s.launch(700);
    }
  }
  return s;
}

// The recorded ones: one token kernel by kernel after the prompt, or all of them.
inline Sequence recorded(const std::string& name) {
  Sequence s(1);
  bool is_captured = false;
  bool is_graph = false;
  bool token_is_due = false;
  std::uint32_t nodes = 0;
  std::size_t results = 0;
  const std::vector<TracedCall> calls = read_trace(name);
  for (const TracedCall& call : calls)
    is_graph = is_graph || call.kind == 'g';
  for (const TracedCall& call : calls) {
    if (call.kind == '[') nodes = 0;
    if (call.kind == '[' || call.kind == ']') is_captured = call.kind == '[';
    if (is_captured) {
      ++nodes;
      continue;
    }
    if (call.kind == 's' || call.kind == 'd') s.wait();
    // The first two results are the set-up's, the third is the prompt's; a token begins behind it.
    if (call.kind == 'd') token_is_due = ++results >= 3;
    if (call.kind != 'k' && call.kind != 'g') continue;
    if (token_is_due && (call.kind == 'g' || !is_graph)) s.begin_iteration();
    token_is_due = false;
    s.launch(call.number, call.kind == 'g' ? nodes - 1 : 1);
  }
  return s;
}

// --- training

struct Training {
  std::size_t layers = 12;
  std::size_t micro_steps = 1;
  std::uint32_t least_experts = 0;  // 0: none
  std::uint32_t most_experts = 0;
  std::uint32_t launches_an_expert = 1;
  std::uint32_t tiles = 1;         // variants of each product
  bool tile_by_iteration = false;  // else by product
  bool waits_for_loss = false;     // after the forward pass of each micro-step
  bool waits_at_end = false;
  std::size_t tuned_iterations = 0;  // the first ones try kernels
  std::size_t iterations = 70;
};

inline Sequence training(std::uint64_t seed, const Training& t) {
  Sequence s(seed);
  std::uint32_t tile_of_iteration = 0;
  const auto product = [&](std::uint32_t kernel) {
    const std::uint32_t tile = t.tile_by_iteration ? tile_of_iteration : s.below(t.tiles);
    s.launch(kernel + 1000 * tile);
  };
  const auto experts = [&](std::uint32_t kernel) {
    if (t.most_experts == 0) return;
    s.launch(kernel);
    const std::uint32_t times = t.least_experts + s.below(t.most_experts - t.least_experts + 1);
    for (std::uint32_t i = 0; i < times * t.launches_an_expert; ++i)
      s.launch(kernel + 1 + i % t.launches_an_expert);
    s.launch(kernel + 9);
  };
  s.launch({1, 1, 2});
  for (std::size_t layer = 0; layer < t.layers; ++layer)
    s.launch({3, 3, 4, 4, 4});
  for (std::size_t i = 0; i < t.iterations; ++i) {
    s.begin_iteration();
    for (std::size_t step = 0; step < t.micro_steps; ++step) {
      tile_of_iteration = s.below(t.tiles);
      s.launch(10);
      for (std::size_t layer = 0; layer < t.layers; ++layer) {
        s.launch(11);
        product(20);
        s.launch({12, 13});
        product(21);
        s.launch({14, 15});
        experts(40);
        product(22);
        if (i < t.tuned_iterations) s.launch({90, 91, 92});
      }
      s.launch({16, 17});
      if (t.waits_for_loss) s.wait();
      s.launch(18);
      for (std::size_t layer = 0; layer < t.layers; ++layer) {
        product(23);
        s.launch({31, 32});
        experts(60);
        product(24);
        s.launch(33);
        product(25);
        s.launch({34, 35});
      }
      s.launch(36);
    }
    s.launch({37, 38, 38});
    for (std::size_t layer = 0; layer < 2 * t.layers; ++layer)
      s.launch(39);
    if (t.waits_at_end) s.wait();
  }
  return s;
}

// Layers that are all different, as of a convolutional network.
inline Sequence convolutions(std::uint64_t seed, std::uint32_t layers) {
  Sequence s(seed);
  for (std::uint32_t i = 0; i < layers; ++i)
    s.launch({1, 2});
  for (int i = 0; i < 70; ++i) {
    s.begin_iteration();
    for (std::uint32_t layer = 0; layer < layers; ++layer)
      s.launch({20 + layer * 5 % 23, 50, 51 + layer % 2});
    s.launch({60, 61});
    for (std::uint32_t layer = layers; layer > 0; --layer)
      s.launch({70 + layer * 5 % 23, 100 + layer * 7 % 19, 52});
    s.launch({130, 131, 131});
  }
  return s;
}

// `length` steps through time, forward and back.
inline Sequence recurrent(std::uint32_t length) {
  Sequence s(1);
  s.launch({1, 2, 3, 3});
  for (int i = 0; i < 70; ++i) {
    s.begin_iteration();
    s.launch(10);
    for (std::uint32_t step = 0; step < length; ++step)
      s.launch({11, 12, 13, 14});
    s.launch({15, 16});
    for (std::uint32_t step = 0; step < length; ++step)
      s.launch({21, 22, 23, 24, 25});
    s.launch({26, 27, 27, 27});
  }
  return s;
}

// An image takes `steps` passes of one network, then a decoder.
inline Sequence diffusion(std::uint32_t steps, std::uint32_t layers) {
  Sequence s(1);
  for (std::uint32_t i = 0; i < 60; ++i)
    s.launch(1 + i % 4);
  for (int image = 0; image < 60; ++image) {
    s.begin_iteration();
    s.launch({10, 11, 12});
    for (std::uint32_t step = 0; step < steps; ++step) {
      s.launch(13);
      for (std::uint32_t layer = 0; layer < layers; ++layer)
        s.launch({20, 21, 22, 23, 21, 24, 25});
      s.launch({14, 15});
    }
    for (std::uint32_t layer = 0; layer < 5; ++layer)
      s.launch({30, 31, 32});
    s.launch(33);
    s.wait();
  }
  return s;
}

// Micro-batches through one stage of a pipeline, one forward and one back in turn.
inline Sequence pipeline(std::uint32_t micro_batches, std::uint32_t layers) {
  Sequence s(1);
  s.launch({1, 2, 3});
  const auto pass = [&](std::initializer_list<std::uint32_t> layer_launches) {
    s.launch(80);
    for (std::uint32_t layer = 0; layer < layers; ++layer)
      s.launch(layer_launches);
    s.launch(81);
  };
  for (int i = 0; i < 60; ++i) {
    s.begin_iteration();
    for (int k = 0; k < 3; ++k)
      pass({10, 11, 12, 13, 11, 14});
    for (std::uint32_t k = 3; k < micro_batches; ++k) {
      pass({10, 11, 12, 13, 11, 14});
      pass({20, 21, 22, 23, 24, 21, 22});
    }
    for (int k = 0; k < 3; ++k)
      pass({20, 21, 22, 23, 24, 21, 22});
    s.launch({40, 41, 42, 42, 42, 42});
  }
  return s;
}

// Training in PyTorch, whose backward passes another thread launches. The optimizer has kernels
// that are known by their names, unless `is_unnamed`.
class TorchTraining {
 public:
  TorchTraining(std::uint64_t seed, bool is_unnamed) : s_(seed), is_unnamed_(is_unnamed) {
    for (int i = 0; i < 29; ++i)
      s_.launch({1, 2});
    s_.launch({3, 3, 3, 3});
  }

  void input() {
    s_.wait();
    s_.launch(5);
  }
  void forward(std::uint32_t model = 0, std::size_t layers = 8) {
    s_.launch(model + 20);
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t k : {10U, 11U, 12U, 13U, 12U, 14U, 15U, 12U, 16U, 12U, 14U, 13U})
        s_.launch(model + k);
    }
    s_.launch({model + 21, model + 22});
  }
  void backward(std::uint32_t model = 0, std::size_t layers = 8) {
    s_.turn();
    s_.launch({model + 50, model + 51});
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t k :
           {40U, 41U, 42U, 43U, 41U, 44U, 45U, 41U, 46U, 42U, 47U, 41U, 43U, 48U, 49U})
        s_.launch(model + k);
    }
    s_.launch(model + 52);
    s_.turn();
  }
  void update(std::uint32_t model = 0) {
    for (std::uint32_t i = 0; i < (is_unnamed_ ? 80U : 10U); ++i)
      s_.launch(model + 80 + i % 5, 1, !is_unnamed_);
    s_.launch({60, 60, 60});
  }
  void step() {
    input();
    forward();
    backward();
    update();
  }
  void evaluate(int batches) {
    for (; batches > 0; --batches) {
      input();
      forward();
      s_.launch(30);
      s_.wait();
    }
  }

  Sequence& sequence() { return s_; }

 private:
  Sequence s_;
  bool is_unnamed_;
};

// Adds programs that are no plain repetition.
template <typename Add>
void add_torch_trainings(const Add& add) {
  const auto add_steps = [&](const std::string& name, bool is_unnamed, auto step) {
    add("torch_" + name + (is_unnamed ? "_unnamed" : ""), [is_unnamed, step] {
      TorchTraining t(11, is_unnamed);
      for (int i = 0; i < 80; ++i) {
        t.sequence().begin_iteration();
        step(t, i);
      }
      return std::move(t.sequence());
    });
  };
  const auto add_evaluated = [&](int every, int batches, bool is_unnamed) {
    add_steps("evaluated_every_" + std::to_string(every) + "_of_" + std::to_string(batches),
              is_unnamed, [every, batches](TorchTraining& t, int i) {
                t.step();
                if ((i + 1) % every == 0) t.evaluate(batches);
              });
  };
  add_evaluated(3, 5, false);
  for (const bool is_unnamed : {false, true}) {
    for (const int every : {5, 6, 8}) {
      add_evaluated(every, 1, is_unnamed);
      add_evaluated(every, 5, is_unnamed);
    }
    add_steps("critic_5_times", is_unnamed, [](TorchTraining& t, int) {
      for (int critic = 0; critic < 5; ++critic) {
        t.input();
        for (const std::uint32_t model : {1000U, 2000U, 2000U})
          t.forward(model, 4);
        t.backward(2000, 4);
        t.update(2000);
      }
      t.forward(1000, 4);
      t.forward(2000, 4);
      t.backward(2000, 4);
      t.backward(1000, 4);
      t.update(1000);
      t.sequence().wait();
    });
    add_steps("captured_after_three", is_unnamed, [](TorchTraining& t, int i) {
      if (i < 3) return t.step();
      t.input();
      t.sequence().launch(900, 96);
      t.sequence().launch(901, 120);
      t.update();
    });
    // An optimizer that runs the network four times for each batch.
    add_steps("closure_4_times", is_unnamed, [](TorchTraining& t, int) {
      t.input();
      for (int i = 0; i < 4; ++i) {
        t.forward(0, 3);
        t.backward(0, 3);
        t.sequence().launch({620, 621, 622, 623, 624});
        t.sequence().wait();
      }
    });
  }
  add_steps("1_to_5_micro_steps", false, [](TorchTraining& t, int) {
    for (std::uint32_t k = t.sequence().below(5) + 1; k > 0; --k) {
      t.input();
      t.forward(0, 3);
      t.backward(0, 3);
    }
    t.update();
  });
  // Step lengths are tried until the loss is lower.
  add_steps("1_to_4_tries", false, [](TorchTraining& t, int) {
    t.input();
    t.forward();
    t.backward();
    for (std::uint32_t k = t.sequence().below(4) + 1; k > 0; --k) {
      t.sequence().launch({620, 621, 622});
      t.forward();
      t.sequence().wait();
    }
    t.update();
  });
  add_steps("preconditioned_every_10", false, [](TorchTraining& t, int i) {
    t.input();
    t.forward();
    t.backward();
    for (int k = 0; k < (i % 10 == 0 ? 32 : 0); ++k)
      t.sequence().launch({401, 402, 403, 402});
    t.update();
  });
}

// --- programs without iterations

// Requests of any length: other numbers of layers' worth of work each time.
inline Sequence requests(std::uint64_t seed) {
  Sequence s(seed);
  for (int i = 0; i < 400; ++i) {
    s.wait();
    s.launch(10);
    for (std::uint32_t part = 1 + s.below(12); part > 0; --part)
      s.launch({20 + s.below(6), 30, 31 + s.below(5), 40});
    s.launch(11);
  }
  return s;
}

// Small programs in turn, by chance.
inline Sequence notebook(std::uint64_t seed) {
  Sequence s(seed);
  for (int cell = 0; cell < 300; ++cell) {
    const std::uint32_t kind = s.below(9);
    for (std::uint32_t i = 2 + s.below(30); i > 0; --i)
      s.launch({100 * kind + s.below(4), 7});
    s.wait();
  }
  return s;
}

inline std::vector<NamedSequence> sequences() {
  std::vector<NamedSequence> all;
  const auto add = [&](std::string name, std::function<Sequence()> make) {
    all.push_back({std::move(name), std::move(make)});
  };
  const auto add_training = [&](const std::string& name, Training t) {
    add("training_" + name, [t] { return training(7, t); });
  };
  const auto add_decoder = [&](const std::string& name, Decoder d) {
    add("decode_" + name, [d] { return decoder(7, d); });
  };
  add("recorded_llama_eager", [] { return recorded("llama_decode_eager.txt"); });
  add("recorded_llama_graphs", [] { return recorded("llama_decode_graphs.txt"); });

  add_decoder("7_blocks", {.blocks = 7});
  add_decoder("16_blocks", {.blocks = 16});
  add_decoder("32_blocks", {.blocks = 32});
  add_decoder("32_blocks_own_head", {.blocks = 32, .has_own_head = true});
  add_decoder("24_short_blocks", {.blocks = 24, .launches_a_block = 9});
  add_decoder("80_blocks", {.blocks = 80, .launches_a_block = 17});
  add_decoder("no_wait", {.blocks = 28, .prompt_ends_likewise = false, .waits = false});
  add_decoder("no_wait_own_head",
              {.blocks = 12, .has_own_head = true, .prompt_ends_likewise = false, .waits = false});
  add("graph_of_97", [] { return decoder_of_graphs(1, 97, true); });
  add("graph_of_400", [] { return decoder_of_graphs(1, 400, false); });
  add("graphs_in_parts_of_12", [] { return decoder_of_graphs(12, 9, true); });
  add("graphs_in_parts_of_32", [] { return decoder_of_graphs(32, 14, false); });

  add("server_5_to_60", [] { return server({}); });
  add("server_1_to_12", [] { return server({.least_tokens = 1, .most_tokens = 12}); });
  add("server_other_prompts",
      [] { return server({.least_tokens = 1, .most_tokens = 12, .prompt_is_alike = false}); });
  add("captured_after_three", [] { return captured_after_three(379, false); });
  add("captured_after_three_waits", [] { return captured_after_three(379, true); });

  add_training("plain", {});
  add_training("4_layers", {.layers = 4});
  add_training("48_layers", {.layers = 48});
  add_training("waits_for_loss", {.waits_for_loss = true});
  add_training("waits_at_end", {.waits_at_end = true});
  add_training("tuned_first", {.tuned_iterations = 2});
  add_training("accumulation_2", {.micro_steps = 2});
  add_training("accumulation_4_waits", {.micro_steps = 4, .waits_for_loss = true});
  add_training("accumulation_8", {.layers = 6, .micro_steps = 8});
  add_training("accumulation_12", {.layers = 24, .micro_steps = 12});
  add_training("accumulation_16", {.micro_steps = 16});
  add_training("accumulation_16_waits", {.layers = 6, .micro_steps = 16, .waits_for_loss = true});
  add_training("accumulation_32", {.layers = 4, .micro_steps = 32});
  add_training("experts_4_to_8", {.least_experts = 4, .most_experts = 8});
  add_training("experts_4_to_8_of_3",
               {.least_experts = 4, .most_experts = 8, .launches_an_expert = 3});
  add_training("experts_deep", {.layers = 32, .least_experts = 4, .most_experts = 8});
  add_training("experts_1_to_4", {.layers = 8, .least_experts = 1, .most_experts = 4});
  add_training("tiles_4", {.tiles = 4});
  add_training("tiles_4_deep", {.layers = 36, .tiles = 4});
  add_training("tiles_4_by_batch", {.tiles = 4, .tile_by_iteration = true});
  add_training("tiles_2_experts", {.least_experts = 4, .most_experts = 8, .tiles = 2});
  add_training("tiles_4_accumulation", {.layers = 6, .micro_steps = 4, .tiles = 4});

  add("convolutions_18", [] { return convolutions(1, 18); });
  add("convolutions_50", [] { return convolutions(1, 50); });
  add("recurrent_20", [] { return recurrent(20); });
  add("recurrent_60", [] { return recurrent(60); });
  add("diffusion_20", [] { return diffusion(20, 6); });
  add("diffusion_50", [] { return diffusion(50, 10); });
  add("pipeline_8", [] { return pipeline(8, 4); });
  add("pipeline_16", [] { return pipeline(16, 3); });
  add("evaluation_every_7", [] { return Sequence(evaluation(3, 12, 70, 7, 4)); });
  add("evaluation_every_12", [] { return Sequence(evaluation(3, 24, 70, 12, 10)); });
  add("two_models", [] { return Sequence(alternating(3, 12, 60)); });
  add("one_stream_of_several", [] { return Sequence(one_stream_of_several(9, 16, 60)); });
  add("data_dependent", [] { return Sequence(data_dependent(9, 16, 60)); });

  add_torch_trainings(add);

  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::string number = std::to_string(seed);
    add("none_requests_" + number, [seed] { return requests(seed); });
    add("none_notebook_" + number, [seed] { return notebook(seed); });
    add("none_batches_" + number, [seed] { return Sequence(batches(seed + 10, 1 + seed, 300)); });
  }
  return all;
}

}  // namespace inline_prof::schedule::test
