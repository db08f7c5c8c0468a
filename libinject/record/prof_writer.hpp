// Writes a RunRecord as the text of prof.json, generation 3 (docs/prof_json.md).
#pragma once

#include "record/run_record.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::record {

// Facts that are only known when the file is written.
struct WriteFacts {
  bool complete = false;
  bool simulated = false;  // the driver is that of the simulated GPU
  int process_id = 0;
  std::map<std::string, std::string> libraries;  // name -> version, of those loaded
  std::uint64_t cuda_errors = 0;
  double iteration_confidence = 0;  // 0..1
  std::optional<CrossCheck> cross_check;
  std::vector<std::string> not_seen;  // in addition to the run's
  std::size_t expected_bytes = 0;  // of the text: a string that doubles takes three times as much
};

// The caller holds `run.mutex`.
[[nodiscard]] std::string prof_json(RunRecord& run, const WriteFacts& facts);

// Returns FNV-1a over event names, layers, occurrences, devices and streams in order: equal on
// ranks that run the same program. Devices and streams count by order of appearance. 16 hexadecimal
// digits.
[[nodiscard]] std::string event_list_hash(const EventList& events);

}  // namespace inline_prof::record
