// Logs of nccl-tests (github.com/NVIDIA/nccl-tests), as text and as JSON (-J): what all_reduce_perf
// and its sisters print.  Several tests may follow each other in one file.
#pragma once

#include "read/input_error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

// One half of a row.
struct NcclTiming {
  double time_us = 0.0;
  double algorithm_gb_per_s = 0.0;  // as printed: two decimals, so 0.00 for small messages
  double bus_gb_per_s = 0.0;
  // Wrong elements, or in versions before 2022 the largest deviation; empty for N/A: not checked.
  std::optional<double> wrong;
};

struct NcclRow {
  double bytes = 0.0;  // all_gather, reduce_scatter, alltoall: of all ranks together
  std::string type;    // "float", "half", "bfloat16" ...
  NcclTiming out_of_place;
  std::optional<NcclTiming> in_place;
};

struct NcclTest {
  std::string name;        // "all_reduce"; "" if the log does not say (versions before 2.17)
  std::int64_t ranks = 0;  // 0: not said
  std::vector<NcclRow> rows;
};

// Columns are taken from the line that names them, so that logs of all versions are understood:
// with and without root or redop, with cputime, per-iteration statistics or a time stamp behind.
// Throws InputError with file and line: no test in the file, a row before the names of the columns,
// a row with too few words, a word that is no number.
[[nodiscard]] std::vector<NcclTest> parse_nccl_tests(const std::string& text,
                                                     const std::string& label);

}  // namespace inline_prof::read
