#include "measure/suites.hpp"

#include "read/measurements/measurements.hpp"
#include "read/text_lines.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

namespace inline_prof::measure {
namespace {

constexpr std::int64_t kTile = 128;

// Returns the i-th number of the van der Corput sequence: the digits of i behind the point, in
// reverse.
double halton(int index, int base) {
  double result = 0;
  double weight = 1;
  for (; index > 0; index /= base) {
    weight /= base;
    result += weight * (index % base);
  }
  return result;
}

std::int64_t between(double share, double log2_least, double log2_most) {
  return std::llround(std::exp2(log2_least + share * (log2_most - log2_least)));
}

class Grid {
 public:
  explicit Grid(std::int64_t multiple) : multiple_(multiple) {}

  void add(std::int64_t m, std::int64_t n, std::int64_t k) {
    const GridShape product{rounded(m), rounded(n), rounded(k)};
    if (seen_.emplace(product.m, product.n, product.k).second) products_.push_back(product);
  }
  [[nodiscard]] std::vector<GridShape> take() { return std::move(products_); }

 private:
  [[nodiscard]] std::int64_t rounded(std::int64_t side) const {
    return std::max(std::int64_t{1}, (side + multiple_ - 1) / multiple_) * multiple_;
  }

  std::int64_t multiple_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen_;
  std::vector<GridShape> products_;
};

void add_spread(Grid& grid) {
  for (int i = 1; i <= 60; ++i) {
    grid.add(between(halton(i, 2), 4, 15), between(halton(i, 3), 4, 15),
             between(halton(i, 5), 4, 13));
  }
}

// Adds full waves, and one tile more: they tell whether a started wave costs a whole one.
void add_waves(Grid& grid, std::int64_t sm_count) {
  for (const std::int64_t waves : {1, 2, 3, 5}) {
    for (const std::int64_t k : {512, 1024, 2048, 4096, 8192}) {
      const std::int64_t tiles = waves * sm_count;
      const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(tiles)));
      std::int64_t across = side;
      while (tiles % across != 0)
        --across;
      grid.add(across * kTile, tiles / across * kTile, k);
      grid.add(kTile, (tiles + 1) * kTile, k);
    }
  }
}

void add_skinny(Grid& grid) {
  for (const std::int64_t few : {1, 2, 8, 16, 64}) {
    for (const std::int64_t n : {1024, 4096, 8192}) {
      grid.add(few, n, n);
      grid.add(n, few, n);
    }
    for (const std::int64_t k : {1024, 16384}) {
      grid.add(few, 12288, k);
      grid.add(12288, few, k);
    }
  }
}

void add_depths(Grid& grid) {
  for (std::int64_t k = 64; k <= 65536; k *= 2) {
    for (const std::int64_t side : {256, 512, 1024})
      grid.add(side, side, k);
  }
}

void add_long(Grid& grid) {
  for (const std::int64_t side : {6144, 8192, 10240, 12288, 16384}) {
    grid.add(side, side, side);
    grid.add(side, side, side / 2);
    grid.add(2 * side, side, side);
    grid.add(side, 2 * side, side);
  }
}

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

read::Attribute attribute_of(const read::Table& table, std::size_t row, std::size_t column,
                             const std::string& cell) {
  const auto whole = read::number_of<std::int64_t>(cell);
  switch (read::attribute_type(table.columns()[column])) {
    case read::AttributeType::kInteger:
      if (!whole) table.fail(row, column, fmt::format("expected a whole number, found {}", cell));
      return *whole;
    case read::AttributeType::kBoolean:
      if (cell != "true" && cell != "false") {
        table.fail(row, column, fmt::format("expected true or false, found {}", cell));
      }
      return cell == "true";
    case read::AttributeType::kText:
      return cell;
    case read::AttributeType::kAny:
      break;
  }
  if (whole) return *whole;
  if (const auto number = read::number_of(cell)) return *number;
  return cell;
}

// Returns the kind of the suite's operations.
std::string kind_of(const Suite& suite) {
  const auto ops = suite.ops(GpuFacts{});
  return ops.front().kind;
}

}  // namespace

std::int64_t integer(const read::Op& op, std::string_view name) {
  const auto value = op.get<std::int64_t>(name);
  if (!value) throw Skipped(fmt::format("{} without {}", op.kind, name));
  if (*value < 1) throw Skipped(fmt::format("{} with {} = {}", op.kind, name, *value));
  return *value;
}

std::int64_t integer_or(const read::Op& op, std::string_view name, std::int64_t otherwise) {
  return op.find(name) == nullptr ? otherwise : integer(op, name);
}

std::string text_or(const read::Op& op, std::string_view name, std::string_view otherwise) {
  return op.get<std::string>(name).value_or(std::string(otherwise));
}

bool is_set(const read::Op& op, std::string_view name) {
  return op.get<bool>(name).value_or(op.get<std::int64_t>(name).value_or(0) != 0);
}

double number_or(const read::Op& op, std::string_view name, double otherwise) {
  if (const auto value = op.get<double>(name)) return *value;
  const auto whole = op.get<std::int64_t>(name);
  return whole ? static_cast<double>(*whole) : otherwise;
}

std::vector<GridShape> gemm_grid(std::int64_t sm_count, std::int64_t multiple) {
  Grid grid(multiple);
  add_spread(grid);
  add_waves(grid, std::max<std::int64_t>(1, sm_count));
  add_skinny(grid);
  add_depths(grid);
  add_long(grid);
  return grid.take();
}

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

std::vector<read::Op> ops_of_grid(const std::filesystem::path& file, const Suite& suite) {
  const std::string kind = kind_of(suite);
  // SEER's file is converted to a table first.
  const bool is_seers = file.extension() == ".txt" && kind == op_kind_name(OpKind::kConv);
  const read::Table table = is_seers ? read::Table(read::csv_text(read::convert_measurements(
                                                       file, kind, read::ConvertSettings{})),
                                                   file.string())
                                     : read::read_table(file);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (std::ranges::find(suite.columns, table.columns()[i]) != suite.columns.end())
      columns.push_back(i);
  }
  if (columns.empty()) {
    throw read::InputError(fmt::format("{}: line 1: no column of suite {}: expected some of {}",
                                       file.string(), suite.name, fmt::join(suite.columns, ", ")));
  }
  std::vector<read::Op> ops;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    read::Op op{.kind = kind, .source = {}, .attributes = {}};
    for (const std::size_t column : columns) {
      const std::string cell = table.cell(row, column);
      // SEER's layers name no pass: with all algorithms, each stands for all three.
      const bool is_assumed =
          is_seers && suite.each_way != nullptr && table.columns()[column] == "direction";
      if (!cell.empty() && !is_assumed) {
        op.attributes.emplace_back(table.columns()[column], attribute_of(table, row, column, cell));
      }
    }
    if (suite.each_way == nullptr) {
      ops.push_back(std::move(op));
    } else {
      std::ranges::move(suite.each_way(op), std::back_inserter(ops));
    }
  }
  return ops;
}

ProfileOps ops_of_profile(const read::Profile& profile) {
  ProfileOps found;
  std::set<std::string> seen;
  for (const read::Event& event : profile.events) {
    const OpKindEntry* kind = event.op ? find_op_kind(event.op->kind) : nullptr;
    if (!event.op) {
      ++found.skipped["operation not known"];
    } else if (kind == nullptr || !kind->is_measured) {
      ++found.skipped[fmt::format("{} cannot be replayed", event.op->kind)];
    } else if (seen.insert(read::op_text(*event.op)).second) {
      found.ops.push_back(*event.op);
    }
  }
  return found;
}

}  // namespace inline_prof::measure
