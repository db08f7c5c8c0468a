// Embedding look-ups as the DLRM models of 2021 see them: 4-byte elements, all tables of one size,
// the indices spread evenly.  Formulas, symbols and sources: docs/models/embedding_published.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace inline_prof::model {

struct LookupShape {
  std::int64_t batch = 0;  // samples
  std::int64_t rows = 0;   // of a table
  std::int64_t tables = 0;
  std::int64_t bag = 0;             // rows that a sample reads of a table
  std::int64_t dim = 0;             // elements of a row
  std::int64_t rows_per_block = 0;  // samples that a thread block works on
  bool keeps_indices_in_shared_memory = false;
};

// What the GPU can do.  GB are 1e9 bytes; the throughput is compared with multiply-adds counted as
// one operation.
struct LookupMachine {
  double dram_gb_per_s = 0.0;
  double l2_gb_per_s = 0.0;
  double throughput_gflops = 0.0;
  std::int64_t l2_bytes = 0;
  std::int64_t sm_count = 0;
};

struct LookupForward {
  std::int64_t tables_at_once = 0;  // worked on at the same time
  std::int64_t cached_bytes = 0;    // of one table
  std::int64_t cached_rows = 0;     // of one table; negative where the indices alone fill the L2
  double hit_rate = 0.0;            // may leave [0, 1] where cached_rows is negative
  double dram_bytes = 0.0;
  double l2_bytes = 0.0;
  double dram_us = 0.0;
  double l2_us = 0.0;
};

struct LookupBackward {
  double memory_us = 0.0;
  double compute_us = 0.0;
};

// Needs dram, l2, l2_bytes and sm_count.  Empty where the original divides by zero: fewer rows than
// samples.
[[nodiscard]] std::optional<LookupForward> lookup_forward(const LookupShape& shape,
                                                          const LookupMachine& machine);

// Needs dram and throughput.
[[nodiscard]] LookupBackward lookup_backward_sgd(const LookupShape& shape,
                                                 const LookupMachine& machine);

// Needs dram; nothing is computed.
[[nodiscard]] double lookup_backward_rowwise_adagrad_us(const LookupShape& shape,
                                                        const LookupMachine& machine);

// x / y, rounded up; both are positive.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}
// x / y, rounded down also for negative x, as Python's // does; C++ rounds towards 0.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t x, std::int64_t y) {
  return x / y - (x % y < 0 ? 1 : 0);
}
// What `bytes` cost in DRAM and L2, which move sectors of 32 bytes.
[[nodiscard]] constexpr std::int64_t in_sectors(std::int64_t bytes) {
  return 32 * ceil_div(bytes, 32);
}

// prod over i < terms of (cached - i) / (rows - i): how likely `terms` different rows are all among
// the cached ones.  Needs terms <= rows.
[[nodiscard]] double all_cached(std::int64_t cached, std::int64_t rows, std::int64_t terms);

}  // namespace inline_prof::model
