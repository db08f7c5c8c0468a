// Embedding look-ups as the DLRM models see them: 4-byte elements, all tables of one size, the
// indices spread evenly.  Formulas, symbols and sources: embedding.md beside this file.
#pragma once

#include "model/model.hpp"

#include <array>
#include <cstdint>
#include <optional>

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

// The GPU's rates and sizes.  GB are 1e9 bytes; the throughput is compared with multiply-adds
// counted as one operation.
struct LookupMachine {
  double dram_gb_per_s = 0.0;
  double l2_gb_per_s = 0.0;
  double throughput_gflops = 0.0;
  std::int64_t l2_bytes = 0;
  std::int64_t sm_count = 0;
};

// The columns of a shape, in its order.  Beyond these ranges a product of them would leave 64-bit
// integers, or a hit rate take seconds.
inline constexpr std::array<Column, 7> kLookupColumns{{
    {"batch_size", "", ColumnKind::kInteger, 1, 1e8, true, "samples"},
    {"num_embeddings", "", ColumnKind::kInteger, 1, 1e12, true, "rows of a table"},
    {"num_tables", "", ColumnKind::kInteger, 1, 1e6, true, "tables"},
    {"bag_size", "", ColumnKind::kInteger, 0, 1e6, true, "rows that a sample reads of a table"},
    {"embedding_dim", "", ColumnKind::kInteger, 1, 65536, true, "elements of a row, 4 bytes each"},
    {"rows_per_block", "", ColumnKind::kInteger, 1, 1024, true,
     "samples that a thread block works on"},
    {"shmem", "", ColumnKind::kFlag, 0, 1, true, "indices are kept in shared memory"},
}};

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

}  // namespace inline_prof::model
