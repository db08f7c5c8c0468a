// Tells what an operator of PyTorch computes, from its recorded arguments.
#pragma once

#include "read/profile.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read::torch_trace {

struct Argument {
  std::vector<std::vector<std::int64_t>>
      sizes;  // of a tensor one list, of a list of tensors several
  std::vector<std::vector<std::int64_t>> strides;  // as sizes; empty if not recorded
  std::string type;   // as recorded: "c10::BFloat16", "Scalar", "TensorList"
  std::string value;  // of a scalar or a list of them; empty if not recorded

  [[nodiscard]] bool is_tensor() const;
};

struct OperatorCall {
  std::string name;  // "aten::addmm"
  std::vector<Argument> arguments;
};

// The arguments of `name` out of the members of an operator's args, `text` as written in the trace.
// Members that are not there leave their part empty.
[[nodiscard]] OperatorCall operator_call(std::string_view name, std::string_view text);

// The launch out of a kernel's args, as written in the trace; zero where it was not recorded.
[[nodiscard]] LaunchShape launch_shape(std::string_view args);

struct GemmSides {
  std::int64_t m = 0, n = 0, k = 0;
  std::optional<std::int64_t> batch = {};
};
// A matrix product, whose result has A's type.
[[nodiscard]] Op gemm_of(const GemmSides& sides, std::string_view a_type, std::string_view b_type);

// The name that prof.json has for the numbers of a tensor; empty if it has none.
[[nodiscard]] std::string_view number_type_of(const Argument& argument);

// Bytes of the numbers that a kernel works on, by the types in its name; 0 if it has none.
[[nodiscard]] std::int64_t element_bytes_of_kernel(std::string_view name);

// Returns what the kernel computes, as a kind and attributes (docs/operations.md).  Of kind
// "operator" where the operator is not known, or its sizes were not recorded; empty without an
// operator.
[[nodiscard]] Op operation_of(const OperatorCall& call, std::string_view kernel_name,
                              const LaunchShape& launch);

// A collective of torch.distributed, from record_param_comms or an annotation "nccl:all_reduce".
[[nodiscard]] std::optional<Op> collective_of(std::string_view name, std::string_view text,
                                              std::optional<std::int64_t> world_size);

// Operators that launch several different kernels, none of which is the whole operator: mixtures of
// experts and look-ups of embeddings.

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
