// One file, joined with its predictions by itself; join.hpp puts the files of a run together.
#pragma once

#include "join/analysis.hpp"
#include "join/isolate.hpp"
#include "join/join.hpp"
#include "join/samples.hpp"
#include "model/predictor.hpp"
#include "read/machine.hpp"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

struct JoinedRun {
  Run run;
  std::vector<Row> rows;  // parents are indices into these; no verdicts yet
  Samples samples;        // of each row

  std::set<std::string> machine_ids;
  std::set<std::string> machine_reasons;
  std::set<std::string> machine_doubts;
  std::string bias_source;
  std::string bias_detail;
  std::vector<double> kernel_floors_us;
  std::size_t dropped_offsets = 0;
  std::size_t shorter_than_bias = 0;  // rows
  IsolatedRows isolated;              // none without JoinOptions::isolated
  std::vector<std::string> warnings;
};

// Rows do not know the file's place in the analysis yet.
[[nodiscard]] JoinedRun join_run(read::Profile profile, std::span<const read::Machine> known,
                                 const JoinOptions& options, const model::Predictor& predictor);

}  // namespace inline_prof::join
