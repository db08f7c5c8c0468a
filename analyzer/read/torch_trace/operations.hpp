// Tells what an operator of PyTorch computes, from its recorded arguments.
#pragma once

#include "read/profile.hpp"

#include <cstdint>
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

}  // namespace inline_prof::read::torch_trace
