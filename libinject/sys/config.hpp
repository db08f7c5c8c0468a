// The one table of environment variables, and what was read from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::sys {

struct Variable {
  const char* name;
  const char* default_value;  // as shown to users
  const char* range;
  const char* meaning;
};

// Every name the guest knows, in the order in which users should read them.
[[nodiscard]] std::span<const Variable> variables();

struct Config {
  std::string schedule_path;  // empty: look in the places of docs/configuration.md
  std::string output_template;
  std::string directory;
  bool directory_is_set = false;
  std::optional<std::int64_t> warmup;  // environment only; a schedule's own value comes second
  std::optional<std::int64_t> repeat;
  std::optional<std::string> policy;
  std::uint64_t seed = 1;
  bool seed_is_set = false;
  bool exit_when_done = false;
  bool data_only = false;  // mode `data`: no event is timed
  std::int64_t data_iterations = 0;
  std::int64_t checkpoint_seconds = 30;

  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_rank;

  std::vector<std::string> warnings;  // unknown names; each was said on stderr once
};

// Empty where profiling is not wanted (disabled, or this rank is not in INLINE_PROF_RANKS).
// Throws ConfigError naming variable, value and what is allowed.
[[nodiscard]] std::optional<Config> read_config();

}  // namespace inline_prof::sys
