#include "sys/config.hpp"

#include "sys/config_error.hpp"
#include "sys/log.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

constexpr std::array kVariables{
    Variable{"INLINE_PROF_DISABLE", "0", "0, 1", "1: measure nothing in this process"},
    Variable{"INLINE_PROF_RANKS", "all", "all, or ranks such as 0,2,8-15",
             "the ranks that measure; the others run as if the library were absent"},
    Variable{"INLINE_PROF_SCHEDULE", "(found)", "a file",
             "what to measure: schedule.json, prof.schedule or prof.events; without it they are "
             "looked for in the profiling directory, then in the working directory, and without "
             "any of them everything met is measured"},
    Variable{"INLINE_PROF_DIR", "(working directory)", "a directory",
             "the profiling directory; made if it does not exist"},
    Variable{"INLINE_PROF_OUT", "(none)", "a path; %h %p %r %q{VAR} are replaced",
             "the output file: host name, process id, rank, value of VAR"},
    Variable{"INLINE_PROF_WARMUP", "10", "0 to 1000000000",
             "iterations before the first measured one"},
    Variable{"INLINE_PROF_REPEAT", "50", "1 to 1000000", "samples of each event"},
    Variable{"INLINE_PROF_ITERATION", "macro", "macro",
             "where iterations begin: PROFILE_ITERATION() or the C call"},
    Variable{"INLINE_PROF_POLICY", "in_order", "in_order, interleaved",
             "in_order: all samples of an event one after the other; interleaved: shuffled"},
    Variable{"INLINE_PROF_SEED", "1", "0 to 18446744073709551615",
             "seed of the interleaved order; equal on all ranks"},
    Variable{"INLINE_PROF_MODE", "fine_grained", "fine_grained, data",
             "fine_grained: one event an iteration; data: runtime data only"},
    Variable{"INLINE_PROF_BACKEND", "driver", "driver", "how launches are seen"},
    Variable{"INLINE_PROF_EXIT_WHEN_DONE", "0", "0, 1",
             "1: the process ends with status 0 once prof.json is written"},
    Variable{"INLINE_PROF_CHECKPOINT", "30", "1 to 86400",
             "seconds between two checkpoints of prof.json (written as incomplete)"},
    Variable{"INLINE_PROF_LOG", "warning", "quiet, error, warning, info", "what is said on stderr"},
    Variable{"PROFILING_DIR", "(working directory)", "a directory",
             "the original's name for INLINE_PROF_DIR"},
    Variable{"PROFILING_WARMUP_ITERS", "10", "0 to 1000000000",
             "the original's name for INLINE_PROF_WARMUP"},
    Variable{"PROFILING_REPEAT_TIMES_PER_EVENT", "50", "1 to 1000000",
             "the original's name for INLINE_PROF_REPEAT"},
    Variable{"PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT", "10", "0 to 1000000",
             "graph replays dropped after a graph was made anew"},
    Variable{"PROFILING_DATA_COLLECTION_ITERS", "0", "0 to 1000000",
             "iterations after the warm-up in which PROFILE_RECORD_DATA wants data"},
    Variable{"PROFILING_MODE", "0", "0", "the original's number of the mode: 0 is fine_grained"},
    Variable{"PROFILING_REPEAT_ITERS", "1000", "1 to 1000000000",
             "iterations of a one-shot run; the other modes do not use it"},
    Variable{"PROFILING_RECORD_EVERY_N", "5", "1 to 1000000",
             "a one-shot run measures every n-th iteration; the other modes do not use it"},
};

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view allowed) {
  std::string message(name);
  message.append("=").append(value.substr(0, 80)).append(": expected ").append(allowed);
  throw ConfigError(message);
}

const Variable& variable(std::string_view name) {
  for (const Variable& known : kVariables) {
    if (name == known.name) return known;
  }
  throw ConfigError(std::string(name) + ": not in the table");
}

// An empty value counts as unset, as shells that clear a variable expect.
std::optional<std::string> value_of(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): only read here
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

template <typename Integer>
std::optional<Integer> number(std::string_view text) {
  Integer parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return parsed;
}

std::optional<std::int64_t> integer(const char* name, std::int64_t lowest, std::int64_t highest) {
  const auto text = value_of(name);
  if (!text) return std::nullopt;
  const auto parsed = number<std::int64_t>(*text);
  if (!parsed || *parsed < lowest || *parsed > highest) refuse(name, *text, variable(name).range);
  return parsed;
}

// Ours first, then the original's name for the same thing.
std::optional<std::int64_t> integer(const char* name, const char* original, std::int64_t lowest,
                                    std::int64_t highest) {
  const auto ours = integer(name, lowest, highest);
  const auto theirs = integer(original, lowest, highest);
  return ours ? ours : theirs;
}

bool flag(const char* name) {
  return integer(name, 0, 1).value_or(0) == 1;
}

// The word itself, if it is one of `allowed`.
template <std::size_t N>
std::optional<std::string> word(const char* name, const std::array<std::string_view, N>& allowed) {
  auto text = value_of(name);
  if (!text) return std::nullopt;
  for (const auto known : allowed) {
    if (*text == known) return text;
  }
  refuse(name, *text, variable(name).range);
}

// Launchers and schedulers that tell a process its rank.
struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
};
constexpr std::array kLaunchers{
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK"},  // torchrun
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

std::optional<std::int64_t> launcher_number(const char* name) {
  const auto text = value_of(name);
  if (!text) return std::nullopt;
  const auto parsed = number<std::int64_t>(*text);
  return parsed && *parsed >= 0 ? parsed : std::nullopt;  // not ours to complain about
}

void read_rank(Config& config) {
  for (const Launcher& launcher : kLaunchers) {
    config.rank = launcher_number(launcher.rank);
    if (!config.rank) continue;
    config.world_size = launcher_number(launcher.world_size);
    config.local_rank = launcher_number(launcher.local_rank);
    return;
  }
}

// "0,2,8-15"
bool rank_is_wanted(std::int64_t rank) {
  const auto text = value_of("INLINE_PROF_RANKS");
  if (!text || *text == "all") return true;
  const auto refuse_ranks = [&] {
    refuse("INLINE_PROF_RANKS", *text, variable("INLINE_PROF_RANKS").range);
  };
  bool wanted = false;
  std::string_view rest = *text;
  while (true) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = number<std::int64_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number<std::int64_t>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) refuse_ranks();
    wanted = wanted || (*first <= rank && rank <= *last);
    if (comma == std::string_view::npos) return wanted;
    rest.remove_prefix(comma + 1);
  }
}

// The Python half has names of its own; they are nobody's mistake.
bool belongs_to_python(std::string_view name) {
  return name.starts_with("INLINE_PROF_TORCH");
}

constexpr std::string_view kPrefix = "INLINE_PROF_";

void warn_of_unknown_names(Config& config) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kPrefix)) continue;
    const std::string name(text.substr(0, text.find('=')));
    bool known = belongs_to_python(name);
    for (const Variable& each : kVariables)
      known = known || name == each.name;
    if (known) continue;
    std::string warning = name + ": unknown variable; prof-run --help-env lists the known ones";
    say(LogLevel::kWarning, "%s", warning.c_str());
    config.warnings.push_back(std::move(warning));
  }
}

constexpr std::array<std::string_view, 4> kLevels{"quiet", "error", "warning", "info"};

void read_log_level() {
  const auto level = word("INLINE_PROF_LOG", kLevels);
  if (!level) return;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (*level == kLevels[i]) set_log_level(static_cast<LogLevel>(i));
  }
}

}  // namespace

std::span<const Variable> variables() {
  return kVariables;
}

std::optional<Config> read_config() {
  read_log_level();
  if (flag("INLINE_PROF_DISABLE")) return std::nullopt;

  Config config;
  read_rank(config);
  if (!rank_is_wanted(config.rank.value_or(0))) return std::nullopt;

  config.schedule_path = value_of("INLINE_PROF_SCHEDULE").value_or("");
  config.output_template = value_of("INLINE_PROF_OUT").value_or("");
  auto directory = value_of("INLINE_PROF_DIR");
  if (!directory) directory = value_of("PROFILING_DIR");
  config.directory_is_set = directory.has_value();
  config.directory = directory.value_or(".");

  config.warmup = integer("INLINE_PROF_WARMUP", "PROFILING_WARMUP_ITERS", 0, 1'000'000'000);
  config.repeat = integer("INLINE_PROF_REPEAT", "PROFILING_REPEAT_TIMES_PER_EVENT", 1, 1'000'000);
  config.policy =
      word("INLINE_PROF_POLICY", std::array<std::string_view, 2>{"in_order", "interleaved"});
  if (const auto text = value_of("INLINE_PROF_SEED")) {
    const auto seed = number<std::uint64_t>(*text);
    if (!seed) refuse("INLINE_PROF_SEED", *text, variable("INLINE_PROF_SEED").range);
    config.seed = *seed;
    config.seed_is_set = true;
  }
  config.exit_when_done = flag("INLINE_PROF_EXIT_WHEN_DONE");
  config.data_iterations = integer("PROFILING_DATA_COLLECTION_ITERS", 0, 1'000'000).value_or(0);
  config.checkpoint_seconds = integer("INLINE_PROF_CHECKPOINT", 1, 86'400).value_or(30);
  config.data_only =
      word("INLINE_PROF_MODE", std::array<std::string_view, 2>{"fine_grained", "data"}) == "data";

  // Checked, so that a typing error is found, though only one value has a meaning here.
  static_cast<void>(word("INLINE_PROF_ITERATION", std::array<std::string_view, 1>{"macro"}));
  static_cast<void>(word("INLINE_PROF_BACKEND", std::array<std::string_view, 1>{"driver"}));
  static_cast<void>(integer("PROFILING_MODE", 0, 0));
  static_cast<void>(integer("PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT", 0, 1'000'000));
  static_cast<void>(integer("PROFILING_REPEAT_ITERS", 1, 1'000'000'000));
  static_cast<void>(integer("PROFILING_RECORD_EVERY_N", 1, 1'000'000));

  warn_of_unknown_names(config);
  return config;
}

}  // namespace inline_prof::sys
