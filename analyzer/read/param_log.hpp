// Output of PARAM's communication benchmarks (github.com/facebookresearch/param): the lines that
// begin with COMMS-RES.
#pragma once

#include "read/input_error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

struct ParamRow {
  double bytes = 0.0;
  double time_us = 0.0;                      // median over iterations
  std::optional<double> algorithm_gb_per_s;  // as printed, three decimals
  std::optional<double> bus_gb_per_s;
};

struct ParamLog {
  std::string collective;  // "all_reduce"; "" if neither the lines nor the file's name say
  std::string type;        // "float32"; "" if not said
  std::int64_t ranks = 0;  // from a file name like all_reduce_8.txt; 0: not said
  std::vector<ParamRow> rows;
};

// Columns are taken from the line that names them, so that all generations from 2021 to 2026 are
// understood, also those with a column of total times behind the bandwidths; point-to-point (the
// time is that of a ping), quantised (the whole time; no bandwidths) and uneven all-to-all (means
// over ranks).
// Throws InputError with file, line and column.
[[nodiscard]] ParamLog parse_param_log(const std::string& text, const std::string& label);

// A row as ml_perf_model's own reader understands it (memory_bw_utils.py at 5b2522a): the words
// "size" and "latency" by their place, bandwidths from the end, and 4e-4 GB/s added to both,
// because the log prints small ones as 0.000.  In logs with a column behind the bandwidths it takes
// a bandwidth for the other one and a time for a bandwidth; so does this.
struct OriginalParamRow {
  std::string exchange;  // uneven all-to-all: "4096,11-19-15-20,32"; else ""
  double bytes = 0.0;
  double latency_us = 0.0;
  double algorithm_gb_per_s = 0.0;
  double bus_gb_per_s = 0.0;
};

// The rows that the original keeps: all but the first three COMMS-RES lines (the header and the two
// smallest sizes), of an uneven all-to-all all but the first.  Throws InputError.
[[nodiscard]] std::vector<OriginalParamRow> original_param_rows(const std::string& text,
                                                                const std::string& label);

}  // namespace inline_prof::read
