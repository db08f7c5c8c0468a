// The embedding models of 2022 to 2024, with the GPUs that their authors measured:
// docs/models/embedding_published.md.
#pragma once

#include "model/published/collective/curve.hpp"
#include "model/published/dlrm/lookup.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace inline_prof::model {

// All values as published.  L2 bandwidth by size is known of the V100 only and used for all.
struct LookupGpu {
  std::string_view name;
  double throughput_gflops;
  double dram_gb_per_s;
  double l2_gb_per_s;
  std::int64_t sm_count;
  std::int64_t l2_bytes;
  std::int64_t shared_bytes_per_sm;
  collective::Curve dram;  // of one copy: bus factor 1
};

[[nodiscard]] std::span<const LookupGpu> lookup_gpus();
// Null if there is none of this name.
[[nodiscard]] const LookupGpu* find_lookup_gpu(std::string_view name);

// `rows_per_block` of the shape: 0 for FBGEMM's kernels, which choose it themselves.
struct LookupV2 {
  std::int64_t cached_rows = 0;
  double unused_row = 0.0;  // probability that a row of a table is never read
  double forward_us = 0.0;  // by the chance of a hit; the model's answer
  bool forward_by_l2 = false;
  double forward_simple_us = 0.0;
  double backward_sgd_simple_us = 0.0;
  std::optional<double> backward_sgd_us;  // empty where it divides by 0: fewer rows than the bag
};

// Needs bag > 0.
[[nodiscard]] LookupV2 lookup_v2(const LookupShape& shape, const LookupGpu& gpu);

}  // namespace inline_prof::model
