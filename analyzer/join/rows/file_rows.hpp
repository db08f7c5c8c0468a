// The first stage: one file's events as measured rows.
#pragma once

#include "join/rows/event_bias.hpp"
#include "join/rows/row.hpp"
#include "join/rows/samples.hpp"
#include "read/layers.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::join {

struct FileRows {
  Run run;                // with its events
  std::vector<Row> rows;  // one for each event; parents are indices into these
  Samples samples;        // of each row

  std::string bias_source;
  std::string bias_detail;
  std::vector<double> kernel_floors_us;
  std::size_t dropped_offsets = 0;
  std::size_t shorter_than_bias = 0;  // rows
  std::vector<std::string> warnings;
};

// Rows do not know the file's place among the runs yet.
[[nodiscard]] FileRows rows_of(read::Profile profile, const std::optional<read::Layers>& layers,
                               const BiasSetting& event_bias);

// Returns a row for each event, with its layer and parent and without times.
[[nodiscard]] std::vector<Row> nested_rows(const read::Profile& profile);

// Returns the blocks of the one kernel that the event launches; 0 if there are several.
[[nodiscard]] double blocks_of(const read::Event& event);

}  // namespace inline_prof::join
