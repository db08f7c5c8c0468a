#include "model/published/dlrm/trace_iteration.hpp"
#include "model/published/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace inline_prof::model {
namespace {

using read::Shape;
using read::TraceEvent;

constexpr std::int64_t kBackwardBag = 38;  // a constant of the original

NoAnswer missing(std::string_view what) {
  return {kNoElement, fmt::format("the trace lacks {}", what)};
}

// Newer PyTorch puts a namespace before the name, and autograd a prefix.
std::string_view plain_name(std::string_view name) {
  for (const std::string_view prefix : {"autograd::engine::evaluate_function: ", "aten::"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

std::int64_t size_at(const TraceEvent& event, std::size_t input, std::size_t place) {
  if (input >= event.inputs.size() || place >= event.inputs[input].size() ||
      event.inputs[input][place] <= 0) {
    throw missing(fmt::format("size {} of input {} of {}", place, input, event.name));
  }
  return event.inputs[input][place];
}

// Returns the nodes of this name below `node` that lie in no other one of it.
std::vector<NodeId> descendants(const EventTree& tree, NodeId node, std::string_view name) {
  std::vector<NodeId> found;
  for (const NodeId child : tree.nodes[node].children) {
    const bool is_one = plain_name(tree.event(child).name) == name;
    const auto inner = is_one ? std::vector{child} : descendants(tree, child, name);
    found.insert(found.end(), inner.begin(), inner.end());
  }
  return found;
}

void add_product(const ProductShape& shape, const OperatorModels& models,
                 OperatorKernels& kernels) {
  if (models.products == nullptr) {
    kernels.reason = "no table of measured products (--params)";
    return;
  }
  const ProductPrediction prediction = predict_product(
      *models.products, shape,
      {.gflops = models.machine.throughput_gflops, .gb_per_s = models.machine.dram_gb_per_s});
  if (!prediction.error.empty()) {
    kernels.error = prediction.error;
    kernels.reason = fmt::format("the table has nothing around {} x {} x {} x {}", shape[0],
                                 shape[1], shape[2], shape[3]);
    return;
  }
  kernels.times_us.push_back(prediction.time_us);
}

// The products of these operators; input 0 of addmm is the bias.
ProductShape product_shape(const TraceEvent& event, std::string_view name) {
  const std::size_t first = name == "addmm" ? 1 : 0;
  if (name != "bmm")
    return {1, size_at(event, first, 0), size_at(event, first + 1, 1), size_at(event, first, 1)};
  return {size_at(event, 0, 0), size_at(event, 0, 1), size_at(event, 1, 2), size_at(event, 0, 2)};
}

void add_products_below(const EventTree& tree, NodeId op, std::string_view name,
                        const OperatorModels& models, OperatorKernels& kernels) {
  for (const NodeId child : descendants(tree, op, name))
    add_product(product_shape(tree.event(child), name), models, kernels);
}

// Name of the first kernel that the operator launches, and block of the last one.
struct LaunchedKernels {
  std::string first_name;
  std::int64_t last_block_y = 0;
};

LaunchedKernels launched_kernels(const EventTree& tree, NodeId op) {
  LaunchedKernels result;
  for (const NodeId node : launches_of(tree, op)) {
    const TraceEvent* kernel = tree.kernel_of(node);
    if (kernel == nullptr || tree.event(node).name != "cudaLaunchKernel") continue;
    if (result.first_name.empty()) result.first_name = kernel->name;
    if (kernel->block.size() > 1) result.last_block_y = kernel->block[1];
  }
  if (result.first_name.empty()) {
    throw missing(fmt::format("kernel of {}", tree.event(op).name));
  }
  return result;
}

// The second argument of the kernel's template.  The original takes the word for the value, so that
// "false" counts as true; only an absent word does not.
bool names_shared_memory(const std::string& kernel) {
  const std::size_t first = kernel.find(',');
  if (first == std::string::npos) return false;
  const std::size_t second = kernel.find(',', first + 1);
  const std::string word = kernel.substr(
      first + 1, second == std::string::npos ? std::string::npos : second - first - 1);
  return word.find_first_not_of(' ') != std::string::npos;
}

const TraceEvent& child_at(const EventTree& tree, NodeId op, const char* name, std::size_t place) {
  const std::vector<NodeId> children = descendants(tree, op, name);
  if (place >= children.size()) {
    throw missing(fmt::format("child {} {} of {}", place, name, tree.event(op).name));
  }
  return tree.event(children[place]);
}

std::int64_t quotient(std::int64_t whole, std::int64_t part) {
  if (part <= 0 || whole < part) throw missing("look-up sizes that fit together");
  return whole / part;
}

// A trace may hold any number.
void check(const LookupShape& shape) {
  const std::array sizes{shape.batch, shape.rows, shape.tables,
                         shape.bag,   shape.dim,  shape.rows_per_block};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = static_cast<double>(sizes[i]);
    if (value < kLookupColumns[i].least || value > kLookupColumns[i].most) {
      throw missing("look-up sizes that can be");
    }
  }
}

// A size as the place-th one of the first input of a child.
struct ChildSize {
  std::size_t child;
  std::size_t place;
};

// The places of a look-up's sizes, below its children of one name.
struct LookupSizes {
  const char* children;
  ChildSize tables, all_rows, dim, offsets;
};
constexpr LookupSizes kForwardSizes{"output_nr", {1, 0}, {0, 0}, {0, 1}, {3, 0}};
constexpr LookupSizes kBackwardSizes{"size", {0, 0}, {1, 0}, {1, 1}, {2, 0}};

// All but the bag.
LookupShape lookup_shape(const EventTree& tree, NodeId op, const LookupSizes& sizes,
                         const LaunchedKernels& launched) {
  const auto at = [&](const ChildSize& size) {
    return size_at(child_at(tree, op, sizes.children, size.child), 0, size.place);
  };
  LookupShape shape;
  shape.tables = at(sizes.tables);
  shape.rows = quotient(at(sizes.all_rows), shape.tables);
  shape.dim = at(sizes.dim);
  shape.batch = quotient(at(sizes.offsets) - 1, shape.tables);
  shape.rows_per_block = launched.last_block_y;
  shape.keeps_indices_in_shared_memory = names_shared_memory(launched.first_name);
  return shape;
}

void add_lookup(const EventTree& tree, NodeId op, const OperatorModels& models,
                OperatorKernels& kernels, bool is_forward) {
  const LaunchedKernels launched = launched_kernels(tree, op);
  LookupShape shape = lookup_shape(tree, op, is_forward ? kForwardSizes : kBackwardSizes, launched);
  shape.bag = is_forward ? size_at(child_at(tree, op, kForwardSizes.children, 2), 0, 0) /
                               shape.batch / shape.tables
                         : kBackwardBag;
  check(shape);
  if (is_forward) {
    if (const auto result = lookup_forward(shape, models.machine)) {
      kernels.times_us.push_back(std::max(result->dram_us, result->l2_us));
    } else {
      kernels.error = kDivisionByZero;
      kernels.reason = "the look-up has fewer rows than samples";
    }
  } else if (launched.first_name.find("sgd") != std::string::npos) {
    const LookupBackward result = lookup_backward_sgd(shape, models.machine);
    kernels.times_us.push_back(std::max(result.memory_us, result.compute_us));
  } else {
    kernels.times_us.push_back(lookup_backward_rowwise_adagrad_us(shape, models.machine));
  }
}

void add_kernels(const EventTree& tree, NodeId op, const OperatorModels& models,
                 OperatorKernels& kernels) {
  const TraceEvent& event = tree.event(op);
  const std::string_view name = plain_name(event.name);
  kernels.is_known = true;
  if (name == "addmm" || name == "bmm") {
    add_product(product_shape(event, name), models, kernels);
  } else if (name == "AddmmBackward" || name == "AddmmBackward0") {
    add_products_below(tree, op, "mm", models, kernels);
  } else if (name == "BmmBackward" || name == "BmmBackward0") {
    add_products_below(tree, op, "bmm", models, kernels);
  } else if (name == "LookupFunction" || name == "LookupFunctionBackward") {
    add_lookup(tree, op, models, kernels, name == "LookupFunction");
  } else {
    kernels.is_known = false;
  }
}

}  // namespace

OperatorKernels operator_kernels(const EventTree& tree, NodeId op, const OperatorModels& models) {
  OperatorKernels kernels;
  try {
    add_kernels(tree, op, models, kernels);
  } catch (const NoAnswer& none) {
    kernels.times_us.clear();
    kernels.error = none.error;
    kernels.reason = none.reason;
  }
  return kernels;
}

}  // namespace inline_prof::model
