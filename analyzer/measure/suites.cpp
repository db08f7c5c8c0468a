#include "measure/suites.hpp"

#include "measure/gemm_grid.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace inline_prof::measure {
namespace {

using Ops = std::vector<read::Op>;
using Attributes = std::vector<std::pair<std::string, read::Attribute>>;

read::Op op_of(std::string_view kind, Attributes attributes) {
  return {.kind = std::string(kind), .source = {}, .attributes = std::move(attributes)};
}

read::Op op_of(OpKind kind, Attributes attributes) {
  return op_of(op_kind_name(kind), std::move(attributes));
}

std::string text(const char* word) {
  return word;
}

// As a linear layer's forward pass: the weights lie transposed.  f32 products without tensor cores
// take so long that a part of the grid is enough.
void add_products(Ops& ops, const GpuFacts& gpu, const char* type, const char* compute,
                  std::size_t every, const char* recipe) {
  const bool is_f8 = text(type) == "f8e4m3";
  const std::string operand = text(type) == "tf32" ? "f32" : type;
  const auto grid = gemm_grid(gpu.sm_count, is_f8 ? 16 : 1);
  for (std::size_t i = 0; i < grid.size(); i += every) {
    const Product& product = grid[i];
    // tf32 is f32 whose products may round: the type is that of the tensors' use, as models name
    // it.
    Attributes attributes{{"m", product.m},
                          {"n", product.n},
                          {"k", product.k},
                          {"a_type", text(type)},
                          {"b_type", text(type)},
                          {"c_type", is_f8 ? text("bf16") : operand},
                          {"compute_type", text(compute)},
                          {"trans_b", true}};
    if (*recipe != '\0') attributes.emplace_back("recipe", text(recipe));
    ops.push_back(op_of(OpKind::kGemm, std::move(attributes)));
  }
}

Ops gemm_ops(const GpuFacts& gpu) {
  Ops ops;
  add_products(ops, gpu, "bf16", "f32", 1, "");
  add_products(ops, gpu, "f8e4m3", "f32", 1, "");
  add_products(ops, gpu, "f16", "f32", 2, "");
  add_products(ops, gpu, "tf32", "tf32", 2, "");
  add_products(ops, gpu, "f32", "f32", 4, "");
  return ops;
}

Ops gemm_quantise_ops(const GpuFacts& gpu) {
  Ops ops;
  add_products(ops, gpu, "f8e4m3", "f32", 1, "tensorwise");
  return ops;
}

// What one element costs each of our streaming kernels, in bytes.
struct Stream {
  const char* kernel;
  std::int64_t read_bytes;
  std::int64_t write_bytes;
};
constexpr std::array kStreams{Stream{"copy", 4, 4},          Stream{"add", 8, 4},
                              Stream{"scale", 4, 4},         Stream{"cast_f32_bf16", 4, 2},
                              Stream{"cast_bf16_f32", 2, 4}, Stream{"cast_bf16_f8e4m3", 2, 1}};

Ops memory_ops(const GpuFacts&) {
  Ops ops;
  for (const Stream& stream : kStreams) {
    // 4 Ki to 1 Gi elements; in between odd thirds of powers of two.
    for (std::int64_t elements = 4096; elements <= std::int64_t{1} << 30; elements *= 2) {
      for (const std::int64_t count : {elements, elements / 16 * 21}) {
        if (count > std::int64_t{1} << 30) continue;
        ops.push_back(op_of(OpKind::kMemory, {{"kernel", text(stream.kernel)},
                                              {"read_bytes", stream.read_bytes * count},
                                              {"write_bytes", stream.write_bytes * count}}));
      }
    }
  }
  return ops;
}

Ops row_ops(const GpuFacts&) {
  Ops ops;
  for (const std::int64_t row_bytes : {32, 64, 128, 256, 512, 1024, 2048}) {
    for (const std::int64_t table_bytes :
         {std::int64_t{1} << 24, std::int64_t{1} << 28, std::int64_t{1} << 32}) {
      for (const double alpha : {0.0, 1.05}) {
        const std::int64_t lookups = (std::int64_t{1} << 28) / row_bytes;
        ops.push_back(op_of("rows", {{"rows", table_bytes / row_bytes},
                                     {"row_bytes", row_bytes},
                                     {"lookups", lookups},
                                     {"zipf_alpha", alpha},
                                     {"read_bytes", lookups * (row_bytes + 8)},
                                     {"write_bytes", lookups * row_bytes}}));
      }
    }
  }
  return ops;
}

Ops embedding_ops(const GpuFacts&) {
  Ops ops;
  for (const char* pass : {"forward", "backward_sgd", "backward_rowwise_adagrad"}) {
    for (const std::int64_t rows : {1000, 100'000, 4'000'000}) {
      for (const std::int64_t dim : {32, 64, 128, 256}) {
        for (const std::int64_t bag : {1, 10, 50}) {
          for (const double alpha : {0.0, 1.05}) {
            for (const std::int64_t tables : {1, 8}) {
              if (tables * rows * dim > std::int64_t{2} << 30) continue;
              ops.push_back(op_of(OpKind::kEmbedding, {{"batch", std::int64_t{4096}},
                                                       {"tables", tables},
                                                       {"rows", rows},
                                                       {"bag", bag},
                                                       {"dim", dim},
                                                       {"type", text("f32")},
                                                       {"pass", text(pass)},
                                                       {"zipf_alpha", alpha}}));
            }
          }
        }
      }
    }
  }
  return ops;
}

Ops rows_and_columns(OpKind kind) {
  Ops ops;
  for (const char* pass : {"forward", "backward"}) {
    for (const char* type : {"f32", "bf16"}) {
      for (const std::int64_t columns : {256, 1024, 4096, 8192}) {
        for (const std::int64_t rows : {128, 2048, 32768}) {
          ops.push_back(op_of(
              kind,
              {{"rows", rows}, {"cols", columns}, {"type", text(type)}, {"pass", text(pass)}}));
        }
      }
    }
  }
  return ops;
}

// Ours, and cuDNN's for a part of the shapes: its engines are compiled when they are planned.
Ops norm_ops(const GpuFacts&) {
  Ops ops = rows_and_columns(OpKind::kNorm);
  for (read::Op& op : ops)
    op.attributes.emplace_back("implementation", text("own"));
  for (const char* implementation : {"cudnn_layer_norm", "cudnn_rms_norm"}) {
    for (const char* pass : {"forward", "backward"}) {
      for (const std::int64_t columns : {1024, 4096, 8192}) {
        for (const std::int64_t rows : {2048, 32768}) {
          ops.push_back(op_of(OpKind::kNorm, {{"rows", rows},
                                              {"cols", columns},
                                              {"type", text("bf16")},
                                              {"pass", text(pass)},
                                              {"implementation", text(implementation)}}));
        }
      }
    }
  }
  return ops;
}

Ops softmax_ops(const GpuFacts&) {
  return rows_and_columns(OpKind::kSoftmax);
}

// Without a mask as products and as cuDNN's one operation, with one as the graph that cuDNN fuses,
// in both passes; two lengths as that graph without a mask, to compare; and heads that share their
// keys.
Ops attention_ops(const GpuFacts&) {
  Ops ops;
  const auto add = [&](std::int64_t batch, std::int64_t length, std::int64_t head_dim,
                       const char* implementation, bool is_causal, std::int64_t kv_heads,
                       const char* pass = "forward") {
    Attributes attributes{{"batch", batch},       {"heads", std::int64_t{16}},
                          {"q_len", length},      {"kv_len", length},
                          {"head_dim", head_dim}, {"type", text("bf16")},
                          {"pass", text(pass)},   {"implementation", text(implementation)}};
    if (kv_heads != 16) attributes.emplace_back("kv_heads", kv_heads);
    if (is_causal) attributes.emplace_back("causal", true);
    ops.push_back(op_of(OpKind::kAttention, std::move(attributes)));
  };
  for (const std::int64_t length : {128, 512, 1024, 2048, 4096}) {
    for (const std::int64_t head_dim : {64, 128}) {
      for (const std::int64_t batch : {1, 8}) {
        add(batch, length, head_dim, "products", false, 16);
        add(batch, length, head_dim, "cudnn_sdpa", false, 16);
        add(batch, length, head_dim, "cudnn_graph", true, 16);
        add(batch, length, head_dim, "cudnn_graph", true, 16, "backward");
      }
      if (length == 1024 || length == 4096) {
        add(8, length, head_dim, "cudnn_graph", false, 16);
        add(8, length, head_dim, "cudnn_graph", false, 16, "backward");
        add(8, length, head_dim, "cudnn_sdpa", false, 4);
        add(8, length, head_dim, "cudnn_graph", true, 4, "backward");
      }
    }
  }
  return ops;
}

struct Layer {
  std::int64_t c, size, k, r, stride, pad;
};
// ResNet-50's and VGG-16's kinds of layers: K. He et al., CVPR 2016, arXiv:1512.03385, table 1;
// K. Simonyan, A. Zisserman, ICLR 2015, arXiv:1409.1556, table 1.
constexpr std::array kLayers{
    Layer{3, 224, 64, 7, 2, 3},    Layer{64, 56, 64, 1, 1, 0},   Layer{64, 56, 64, 3, 1, 1},
    Layer{64, 56, 256, 1, 1, 0},   Layer{256, 56, 128, 1, 2, 0}, Layer{128, 28, 128, 3, 1, 1},
    Layer{512, 28, 128, 1, 1, 0},  Layer{256, 14, 256, 3, 1, 1}, Layer{1024, 14, 256, 1, 1, 0},
    Layer{512, 7, 512, 3, 1, 1},   Layer{2048, 7, 512, 1, 1, 0}, Layer{64, 224, 64, 3, 1, 1},
    Layer{128, 112, 128, 3, 1, 1}, Layer{256, 56, 256, 3, 1, 1}, Layer{192, 28, 64, 5, 1, 2}};

struct Direction {
  const char* name;
  std::int64_t algorithms;  // of cuDNN's enumeration for it
};
constexpr std::array kDirections{Direction{"forward", 8}, Direction{"backward_data", 6},
                                 Direction{"backward_filter", 7}};

Attributes convolution(const Layer& layer, std::int64_t images, const char* type,
                       const char* direction) {
  return {{"n", images},
          {"c", layer.c},
          {"h", layer.size},
          {"w", layer.size},
          {"k", layer.k},
          {"r", layer.r},
          {"s", layer.r},
          {"stride", layer.stride},
          {"pad", layer.pad},
          {"type", text(type)},
          {"direction", text(direction)}};
}

Ops conv_ops(const GpuFacts&) {
  Ops ops;
  for (const char* type : {"f32", "f16"}) {
    for (const Direction& direction : kDirections) {
      for (const Layer& layer : kLayers) {
        for (const std::int64_t images : {8, 32})
          ops.push_back(op_of(OpKind::kConv, convolution(layer, images, type, direction.name)));
      }
    }
  }
  return ops;
}

read::Op with(read::Op op, const char* name, read::Attribute value) {
  op.attributes.emplace_back(name, std::move(value));
  return op;
}

// In the passes that a layer stands for: one, or all three if it names none.
Ops in_passes(const read::Op& op,
              void (*add)(Ops& ops, const read::Op& op, const Direction& pass)) {
  Ops ops;
  const std::string pass = text_or(op, "direction", "");
  for (const Direction& direction : kDirections) {
    if (pass.empty()) add(ops, with(op, "direction", text(direction.name)), direction);
    if (pass == direction.name) add(ops, op, direction);
  }
  return ops;
}

Ops each_algorithm(const read::Op& op) {
  if (op.find("algo") != nullptr) return {op};
  return in_passes(op, [](Ops& ops, const read::Op& layer, const Direction& pass) {
    for (std::int64_t algorithm = 0; algorithm < pass.algorithms; ++algorithm)
      ops.push_back(with(layer, "algo", algorithm));
  });
}

constexpr std::int64_t kMostEngines = 96;  // cuDNN 9.19 counts 75 to 85 for convolutions

// Numbers beyond what cuDNN has for a layer are skipped.
Ops each_engine(const read::Op& op) {
  if (op.find("engine") != nullptr || op.find("heuristic") != nullptr) return {op};
  return in_passes(op, [](Ops& ops, const read::Op& layer, const Direction&) {
    for (const char* mode : {"a", "b", "instant", "fallback"})
      ops.push_back(with(layer, "heuristic", text(mode)));
    for (std::int64_t engine = 0; engine < kMostEngines; ++engine)
      ops.push_back(with(layer, "engine", engine));
  });
}

void append(Ops& ops, const Ops& more) {
  ops.insert(ops.end(), more.begin(), more.end());
}

Ops conv_algorithm_ops(const GpuFacts&) {
  Ops ops;
  for (const Direction& direction : kDirections) {
    for (const Layer& layer : kLayers)
      append(ops,
             each_algorithm(op_of(OpKind::kConv, convolution(layer, 32, "f32", direction.name))));
  }
  return ops;
}

Ops conv_engine_ops(const GpuFacts&) {
  Ops ops;
  for (const std::size_t layer : {2UL, 4UL, 9UL}) {
    for (const char* type : {"f32", "f16"}) {
      for (const Direction& direction : kDirections)
        append(ops, each_engine(op_of(OpKind::kConv,
                                      convolution(kLayers.at(layer), 32, type, direction.name))));
    }
  }
  return ops;
}

// Read, write and copy streams from well inside the L2 to well outside of it.
Ops bandwidth_ops(const GpuFacts& gpu) {
  Ops ops;
  for (const char* kernel : {"read", "write", "copy"}) {
    for (const double share :
         {0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 4.0, 16.0, 64.0}) {
      const auto bytes =
          static_cast<std::int64_t>(share * static_cast<double>(gpu.l2_bytes)) / 4096 * 4096;
      const bool is_copy = text(kernel) == "copy";
      ops.push_back(op_of("bandwidth", {{"kernel", text(kernel)},
                                        {"read_bytes", text(kernel) == "write" ? 0
                                                       : is_copy               ? bytes / 2
                                                                               : bytes},
                                        {"write_bytes", text(kernel) == "read" ? 0
                                                        : is_copy              ? bytes / 2
                                                                               : bytes}}));
    }
  }
  return ops;
}

Ops collective_ops(const GpuFacts& gpu) {
  Ops ops;
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    for (std::int64_t bytes = 4096; bytes <= std::int64_t{1} << 30; bytes *= 4) {
      ops.push_back(op_of(OpKind::kCollective, {{"op", text(op)},
                                                {"num_gpus", gpu.device_count},
                                                {"bytes", bytes},
                                                {"type", text("bf16")}}));
    }
  }
  return ops;
}

Ops floor_ops(const GpuFacts&) {
  Ops ops;
  for (const char* what : {"empty_pair", "empty_kernel", "empty_pair_idle", "empty_kernel_idle",
                           "graph_of_one_kernel", "host_launch", "host_event_record"}) {
    ops.push_back(op_of("floor", {{"what", text(what)}}));
  }
  return ops;
}

}  // namespace

std::span<const Suite> all_suites() {
  static const std::vector<std::string_view> conv_columns{
      "n",   "c",        "h",     "w",        "k",      "r",    "s",         "stride",
      "pad", "stride_w", "pad_w", "dilation", "groups", "type", "direction", "algo"};
  static const std::vector<std::string_view> conv_engine_columns = [&] {
    std::vector<std::string_view> columns = conv_columns;
    columns.back() = "engine";
    columns.emplace_back("heuristic");
    return columns;
  }();
  static const std::vector<Suite> suites{
      {"gemm",
       "products by cuBLAS and cuBLASLt: bf16, f8e4m3, f16, tf32, f32",
       {"m", "n", "k", "batch", "a_type", "b_type", "c_type", "compute_type", "trans_a", "trans_b"},
       gemm_ops,
       true},
      {"gemm_quantise",
       "f8e4m3 products with the quantisation of A in front: fit with --boundary gemm+quantise",
       {"m", "n", "k", "batch", "a_type", "b_type", "c_type", "compute_type", "trans_a", "trans_b",
        "recipe"},
       gemm_quantise_ops,
       true},
      {"memory",
       "element-wise kernels, casts and copies",
       {"kernel", "read_bytes", "write_bytes"},
       memory_ops,
       true},
      {"rows",
       "reads of random rows",
       {"rows", "row_bytes", "lookups", "zipf_alpha", "read_bytes", "write_bytes"},
       row_ops,
       true},
      {"embedding",
       "look-ups that are added up, and their gradients",
       {"batch", "tables", "rows", "bag", "dim", "type", "pass", "zipf_alpha"},
       embedding_ops,
       true},
      {"norm",
       "layer and RMS norms, of our own and by cuDNN",
       {"rows", "cols", "type", "pass", "implementation"},
       norm_ops,
       true},
      {"softmax", "softmax over rows", {"rows", "cols", "type", "pass"}, softmax_ops, true},
      {"attention",
       "fused by cuDNN, and as two products with a softmax between them",
       {"batch", "heads", "kv_heads", "q_len", "kv_len", "head_dim", "causal", "type", "pass",
        "implementation"},
       attention_ops,
       true},
      {"conv", "convolutions by the algorithm that cuDNN chooses", conv_columns, conv_ops, true},
      {"conv_algorithms", "convolutions by each algorithm that cuDNN has", conv_columns,
       conv_algorithm_ops, false, each_algorithm},
      {"conv_engines",
       "convolutions by each engine of cuDNN's graph interface, and as its heuristics propose",
       conv_engine_columns, conv_engine_ops, false, each_engine},
      {"bandwidth",
       "of L2 and DRAM",
       {"kernel", "read_bytes", "write_bytes"},
       bandwidth_ops,
       false},
      {"collective",
       "NCCL over the GPUs of this process",
       {"op", "num_gpus", "bytes", "type"},
       collective_ops,
       false},
      {"floor", "what launches and events take by themselves", {"what"}, floor_ops, false},
  };
  return suites;
}

const Suite& find_suite(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Suite& suite : all_suites()) {
    if (suite.name == name) return suite;
    names.push_back(suite.name);
  }
  throw std::invalid_argument(
      fmt::format("no suite is called {}: choose from {}", name, fmt::join(names, ", ")));
}

}  // namespace inline_prof::measure
