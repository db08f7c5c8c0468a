// The calibrated model of embedding look-ups and their gradients (README.md beside this file).
#pragma once

#include "model/calibrated/embedding/index_distribution.hpp"
#include "model/model.hpp"
#include "read/machine.hpp"

#include <optional>
#include <string_view>

namespace inline_prof::model {

[[nodiscard]] ModelEntry embedding_entry();

enum class EmbeddingPass { kForward, kBackwardSgd, kBackwardRowwiseAdagrad };

// As prof.json spells it; empty for another word.
[[nodiscard]] std::optional<EmbeddingPass> embedding_pass(std::string_view name);

struct EmbeddingShape {
  double batch = 1;  // bags of a table
  double tables = 1;
  double rows = 1;  // of a table
  double bag = 1;   // look-ups of a bag
  double dim = 1;   // elements of a row
  double element_bytes = 4;
  EmbeddingPass pass = EmbeddingPass::kForward;
  std::optional<double> cached_rows;  // of a table in L2; empty: what fits
};

struct EmbeddingTime {
  double time_us = 0;
  double unique_rows = 0;  // of a table
  double cached_rows = 0;
  double hit_rate = 0;
  double dram_bytes = 0;
  double l2_bytes = 0;
  double sort_us = 0;
  double latency_us = 0;
  std::string_view bound;  // "memory", "l2", "latency" or "launch"
};

// Rows are read from DRAM where the L2 no longer has them, in sectors of 32 bytes; what all bags
// read passes through the L2.  The share of hits comes from the distribution of the indices
// (IndexDistribution::hit_rate).  The constants come from vendors and literature, not from a fit:
// no timings of single embedding kernels are public.  So there is no interval.
// Throws std::invalid_argument where `machine` lacks the size of its L2.
[[nodiscard]] EmbeddingTime predict_embedding(const EmbeddingShape& shape,
                                              const IndexDistribution& indices,
                                              const read::Machine& machine);

}  // namespace inline_prof::model
