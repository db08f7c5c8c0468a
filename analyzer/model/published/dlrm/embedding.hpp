// The embedding models of DLRM as models of tables (lookup.hpp, lookup_v2.hpp).
#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

[[nodiscard]] ModelEntry embedding_forward_entry();
[[nodiscard]] ModelEntry embedding_backward_sgd_entry();
[[nodiscard]] ModelEntry embedding_backward_rowwise_adagrad_entry();
[[nodiscard]] ModelEntry embedding_v2_entry();

}  // namespace inline_prof::model
