#pragma once

#include "read/input_error.hpp"
#include "read/table.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// One convolution as SEER describes it: square images, square filters, one group, no dilation.
struct SeerLayer {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t in_width = 0;
  std::int64_t out_channels = 0;
  std::int64_t out_width = 0;
  std::int64_t filter_width = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;

  friend bool operator==(const SeerLayer&, const SeerLayer&) = default;
};

// The tables that SEER trains on and is judged by (model/published/seer/README.md).  Columns are
// told by their place, as its program does: the header's words are free.

// A row of the 18-column table of one kernel variant.  A 19th column, the type, is not read: it
// follows from the utilisations.
struct SeerSample {
  SeerLayer layer;
  std::int64_t algorithm = 0;      // as cuDNN numbers them
  double time_ms = 0.0;            // of the main kernel
  double fp32_instructions = 0.0;  // of the whole launch, counted by thread
  double dram_reads = 0.0;         // 32-byte sectors, of the whole launch
  double dram_writes = 0.0;
  std::int64_t resident_blocks = 0;  // B
  std::int64_t blocks = 0;           // L; column 16, the waves, follows from the two
  double fp32_utilisation = 0.0;     // nvprof's level, 0 to 10
  double dram_utilisation = 0.0;

  // 0 compute if the FP32 units are at level 8, else 1 DRAM if that is, else 2 neither.
  [[nodiscard]] int type() const {
    constexpr double busy = 8.0;
    return fp32_utilisation >= busy ? 0 : dram_utilisation >= busy ? 1 : 2;
  }
};

// A row of 10 columns: a layer, the algorithm, and one number: milliseconds, or a type (0 to 2) in
// the table algo5-ctree.
struct SeerTimedLayer {
  SeerLayer layer;
  std::int64_t algorithm = 0;
  double value = 0.0;
};

// A row of the table of algorithm picks: the measured time of each algorithm, negative where it
// failed, the one that was fastest, and the one that cuDNN's heuristic chose.
struct SeerPickRow {
  SeerLayer layer;
  std::array<double, 8> time_ms{};
  std::int64_t best = 0;
  std::int64_t cudnn_pick = 0;
};

// A row of an operator's table: a layer, and as many numbers as the table has columns behind it.
struct SeerOperatorRow {
  SeerLayer layer;
  std::vector<double> values;
};

// Each throws InputError with line and column: a wrong number of columns, a cell that is no number
// or not in its range, a Wo that the layer does not have.
[[nodiscard]] std::vector<SeerSample> read_seer_samples(const Table& table);
[[nodiscard]] std::vector<SeerTimedLayer> read_seer_timed_layers(const Table& table);
[[nodiscard]] std::vector<SeerPickRow> read_seer_picks(const Table& table);
// `value_count` numbers behind the 8 columns of the layer; more columns are refused.
[[nodiscard]] std::vector<SeerOperatorRow> read_seer_operator(const Table& table,
                                                              std::size_t value_count);

// The layers alone, from the first 8 columns of any of these.
[[nodiscard]] std::vector<SeerLayer> read_seer_layers(const Table& table);

// The layers of a Test-set-II.txt: a count, then eight numbers a line (N C Wi K Wo k s p).
// Throws InputError "LABEL: line 3: ...".
[[nodiscard]] std::vector<SeerLayer> read_seer_layer_list(std::string_view text,
                                                          const std::string& label);

// 1 + floor((Wi + 2 p - k) / s); 0 if the filter does not fit into the padded image.
[[nodiscard]] std::int64_t seer_out_width(const SeerLayer& layer);

}  // namespace inline_prof::read
