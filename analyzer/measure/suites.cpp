#include "measure/suites.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
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

// Adds products of a linear layer's forward pass, whose weights lie transposed: every `every`-th of
// the grid, since f32 products without tensor cores take long.
void add_products(Ops& ops, const GpuFacts& gpu, const char* type, const char* compute,
                  std::size_t every, const char* recipe) {
  const bool is_f8 = text(type) == "f8e4m3";
  const std::string operand = text(type) == "tf32" ? "f32" : type;
  const auto grid = gemm_grid(gpu.sm_count, is_f8 ? 16 : 1);
  for (std::size_t i = 0; i < grid.size(); i += every) {
    const GridShape& product = grid[i];
    // tf32 is f32 whose products may round; models name it as a type.
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

// Bytes that each of our streaming kernels moves for one element.
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
    // 4 Ki to 1 Gi elements: powers of two, and 21/16 of them.
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

// A layer that names no algorithm stands for each; one without a direction for all three passes.
Ops each_algorithm(const read::Op& op) {
  if (op.find("algo") != nullptr) return {op};
  Ops ops;
  const std::string pass = text_or(op, "direction", "");
  for (const Direction& direction : kDirections) {
    if (!pass.empty() && pass != direction.name) continue;
    const read::Op layer = pass.empty() ? with(op, "direction", text(direction.name)) : op;
    for (std::int64_t algorithm = 0; algorithm < direction.algorithms; ++algorithm)
      ops.push_back(with(layer, "algo", algorithm));
  }
  return ops;
}

Ops conv_algorithm_ops(const GpuFacts&) {
  Ops ops;
  for (const Direction& direction : kDirections) {
    for (const Layer& layer : kLayers)
      std::ranges::move(
          each_algorithm(op_of(OpKind::kConv, convolution(layer, 32, "f32", direction.name))),
          std::back_inserter(ops));
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
      const std::string name = text(kernel);
      const std::int64_t most = name == "copy" ? bytes / 2 : bytes;  // in one direction
      ops.push_back(op_of("bandwidth", {{"kernel", name},
                                        {"read_bytes", name == "write" ? 0 : most},
                                        {"write_bytes", name == "read" ? 0 : most}}));
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

}  // namespace

std::span<const Suite> all_suites() {
  static const std::vector<std::string_view> conv_columns{
      "n",   "c",        "h",     "w",        "k",      "r",    "s",         "stride",
      "pad", "stride_w", "pad_w", "dilation", "groups", "type", "direction", "algo"};
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
      {"conv", "convolutions by the algorithm that cuDNN chooses", conv_columns, conv_ops, true},
      {"conv_algorithms", "convolutions by each algorithm that cuDNN has", conv_columns,
       conv_algorithm_ops, false, each_algorithm},
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
