// The iteration of a run as it was measured, by the published models and by ours.
#pragma once

#include "read/machine.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace inline_prof::cli {

struct RunIteration {
  std::optional<double> measured_us;
  std::size_t iterations = 0;  // in the file
  // The DLRM models' end-to-end time.  Of a prof.json, which does not say what the host does
  // between launches, with T1 to T5 as 0.
  std::optional<double> published_us;
  std::size_t rows = 0;            // that take time in an iteration
  std::size_t published_rows = 0;  // of them: with a published prediction, else as measured
  std::optional<double> ours_us;   // the longest path's, with predictions where there are any
  std::optional<double> lower_us;  // of ours: the 90 % interval
  std::optional<double> upper_us;
  double ours_part = 0;  // of it, by predictions
  std::string note;      // about `published_us`; may be empty
  std::string reason;    // why there is no such path
};

// Throws read::InputError.
[[nodiscard]] RunIteration iteration_of_run(const std::filesystem::path& file,
                                            const std::optional<read::Machine>& machine,
                                            const std::string& layers, const std::string& products);

[[nodiscard]] std::string run_iteration_text(const RunIteration& iteration);
[[nodiscard]] std::string run_iteration_json(const RunIteration& iteration);

}  // namespace inline_prof::cli
