// Operators that launch several different kernels, none of which is the whole operator: mixtures of
// experts and look-ups of embeddings.
#pragma once

#include "read/torch_trace/operations.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace inline_prof::read::torch_trace {

// One call of FBGEMM's look-ups in several tables.
struct LookUps {
  std::int64_t tables = 0;
  std::int64_t batch = 0;  // bags of a table
  std::int64_t indices = 0;
  std::int64_t rows = 0;  // of all tables
  std::int64_t dim = 0;   // mean elements of a row
  std::string_view type;
};

[[nodiscard]] bool is_look_up(std::string_view operator_name);
// Empty where the arguments are others than FBGEMM 0.3 to 1.0 records.
[[nodiscard]] std::optional<LookUps> look_ups_of(const OperatorCall& call);
// Returns how far a gradient of `bags` by `columns` is from that of the look-ups, as a factor of
// its width; empty where it cannot be theirs.
[[nodiscard]] std::optional<double> distance_of_gradient(const LookUps& forward, std::int64_t bags,
                                                         std::int64_t columns);

// Returns the operation of a kernel that looks up, or computes the gradient of it; empty for
// another kernel.
[[nodiscard]] std::optional<Op> look_up_operation(const LookUps& look_ups, std::string_view kernel);

// FBGEMM's other kernels around look-ups.
[[nodiscard]] std::optional<Op> sparse_operation(const OperatorCall& call, std::string_view kernel);

// The kernels of experts, in the order of their start: TensorRT-LLM's second product has a depth
// that is known by the first one, and Triton's kernel tells not which of both it is.
class Experts {
 public:
  // `operator_index` tells the calls apart.  Empty for another operator, or a kernel whose sizes
  // its name and grid do not tell.
  std::optional<Op> operation(std::int32_t operator_index, const OperatorCall& call,
                              std::string_view kernel, const LaunchShape& launch);

 private:
  std::optional<Op> triton_product(std::int32_t operator_index, const OperatorCall& call);

  struct First {
    std::int64_t columns = 0;  // of the first product
    std::int64_t rows = 0;     // tokens times their experts
  };
  std::map<std::int32_t, First> first_of_;
  std::map<std::int32_t, std::int64_t> products_of_;  // Triton's, so far
};

}  // namespace inline_prof::read::torch_trace
