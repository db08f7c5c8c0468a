// The table of environment variables, and the settings that were read from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace inline_prof::sys {

struct Variable {
  const char* name;
  const char* default_value;  // as shown to users
  const char* range;
  const char* meaning;
};

// Returns every variable that the injected library knows, in the order in which users should read
// them.
[[nodiscard]] std::span<const Variable> variables();

// Tells where iterations begin.
enum class IterationSource {
  kAuto,       // the macro if it is called, else the period of the launches
  kMacro,      // PROFILE_ITERATION() or the C call
  kNvtx,       // an NVTX range whose text fits the glob
  kKernel,     // each launch of the first kernel whose name fits the glob
  kPeriod,     // a given number of launches
  kOptimizer,  // the optimizer's step, reported by the Python package or by PyTorch's NVTX ranges
};

// The way in which launches are observed.
enum class Backend { kDriver, kCupti };

struct Config {
  std::string schedule_path;  // empty: search the places of docs/configuration.md
  std::string output_template;
  std::string metrics_template;  // empty: no such file
  std::string control_template;
  std::string on_change;  // a command; empty: none
  std::string run_name;   // the job's name, for the metrics; empty: none
  std::string directory;
  bool directory_is_set = false;
  std::optional<std::int64_t> warmup;  // environment only; a schedule's own value comes second
  std::optional<std::int64_t> repeat;
  std::optional<std::string> policy;
  std::optional<std::string> mode;
  std::optional<double> budget_percent;  // of the iteration time
  std::optional<double> target_ci;       // half width of the median's interval over the median
  double watch_share = 0;                // of the time, after the characterisation; 0: none
  double false_alarms_per_month = 1;     // of changes that are reported
  std::uint64_t seed = 1;
  bool seed_is_set = false;
  bool exit_when_done = false;
  bool progress = false;
  bool expects_torch = false;  // the Python package, which reads the variable, too
  bool follows_phases = true;
  std::int64_t data_iterations = 0;
  std::int64_t one_shot_iterations = 1000;
  std::int64_t one_shot_every = 5;
  std::uint64_t graph_copies_mib = 12;      // of copies of graphs, by estimate
  std::int64_t graph_warmup = 10;           // warm-up launches of a new clone
  std::int64_t overhead_iterations = 1024;  // at most, after the last sample; 0: not measured
  IterationSource iteration_source = IterationSource::kAuto;
  std::string iteration_glob;
  std::size_t iteration_period = 0;  // number of launches, for kPeriod
  int trigger_signal = 0;            // that begins and stops measuring; 0: it begins at once
  std::int64_t checkpoint_seconds = 30;
  std::optional<Backend> backend;  // unset: depends on how the library was loaded
  bool cupti_cross_check = false;

  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_rank;

  std::vector<std::string> warnings;  // of unknown names
};

// Reads the environment. Returns nothing if profiling is not wanted (disabled, or this rank is not
// in INLINE_PROF_RANKS). Throws ConfigError naming variable, value and the allowed range.
[[nodiscard]] [[gnu::cold]] std::optional<Config> read_config();

// An invalid setting: "NAME=VALUE: expected ...".  Ends profiling, never the application.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Replaces %h, %p, %r (without a rank: 0), %q{VAR} and %% in a file's name, as INLINE_PROF_OUT,
// INLINE_PROF_METRICS and INLINE_PROF_CONTROL have them. Throws ConfigError, which names
// `variable`, if another % is there or the result is no file's name.
[[nodiscard]] std::string expand_output_template(const std::string& pattern, const char* variable,
                                                 const std::string& host_name, int process_id,
                                                 std::optional<std::int64_t> rank);

}  // namespace inline_prof::sys
