// Which kernel model an operator of a trace stands for, and its sizes:
// docs/models/iteration_published.md.
#pragma once

#include "model/published/dlrm/event_tree.hpp"
#include "model/published/dlrm/lookup.hpp"
#include "model/published/dlrm/product_table.hpp"

#include <string>
#include <vector>

namespace inline_prof::model {

// What the operators' models need.  The defaults are the V100 of the original; its L2 is 6 MiB, and
// four times that stands in the code.
struct OperatorModels {
  const ProductTable* products = nullptr;  // null: matrix products have no prediction
  LookupMachine machine{.dram_gb_per_s = 809,
                        .l2_gb_per_s = 2888,
                        .throughput_gflops = 12200,
                        .l2_bytes = 25165824,
                        .sm_count = 80};
};

struct OperatorKernels {
  bool is_known = false;         // one of the operators that have a model
  std::vector<double> times_us;  // one for each kernel that the model knows of
  std::string error;             // the exception with which the original ends; "" if it does not
  std::string reason;
};

// Unknown operators take no time in the original.
[[nodiscard]] OperatorKernels operator_kernels(const EventTree& tree, NodeId op,
                                               const OperatorModels& models);

}  // namespace inline_prof::model
