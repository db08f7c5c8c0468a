// Measured times and predictions, side by side.
#pragma once

#include "join/analysis.hpp"
#include "join/predict/predicted_file.hpp"
#include "join/rows/event_bias.hpp"
#include "read/input_error.hpp"
#include "read/layers.hpp"
#include "read/machine.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace inline_prof::join {

struct JoinOptions : PredictOptions {
  std::optional<read::Layers> layers;
  BiasSetting event_bias;
  bool keep_samples = false;          // fill Analysis::samples_us
  bool keep_events = false;           // those of Analysis::runs, with their samples
  bool leave_out_unreadable = false;  // of several files, with a warning
  std::function<void(std::size_t done, std::size_t all)> on_joined;  // after every file, if set
};

// Gives file number `i`, from 0.  Two threads call it at once.
using LoadProfile = std::function<read::Profile(std::size_t i)>;

// File by file: of one that is joined, only what the analysis holds stays in memory.  `known` are
// the machines that devices are matched with.
[[nodiscard]] Analysis join_files(std::size_t count, const LoadProfile& load,
                                  std::span<const read::Machine> known, const JoinOptions& options);

// The same of files that are in memory already.
[[nodiscard]] Analysis join_profiles(std::vector<read::Profile> profiles,
                                     std::span<const read::Machine> known,
                                     const JoinOptions& options);

// The value that a file gave, or what is wrong with it: the other ranks still make a report.
template <typename Value>
struct Readable {
  std::optional<Value> value;
  std::string complaint;
};

template <typename Read>
[[nodiscard]] auto or_complaint(const Read& read) -> Readable<std::invoke_result_t<const Read&>> {
  try {
    return {read(), {}};
  } catch (const read::InputError& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace inline_prof::join
