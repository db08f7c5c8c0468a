#include "sys/config.hpp"

#include "base/text.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
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
    Variable{"INLINE_PROF_ITERATION", "auto",
             "auto, macro, optimizer, nvtx:GLOB, kernel:GLOB or period:N (1 to 65536)",
             "where iterations begin: macro: PROFILE_ITERATION() or the C call; nvtx: a range of "
             "that text; kernel: a launch of the first kernel of that name; optimizer: its step; "
             "period: where N launches begin to repeat on the busiest stream, a graph's counted "
             "as one; "
             "auto: the macro where it is called, else the period of the launches"},
    Variable{
        "INLINE_PROF_POLICY", "interleaved", "in_order, interleaved, adaptive",
        "interleaved: every event once, the large ones first, then all again, shuffled; in_order: "
        "all samples of an event one after the other; "
        "adaptive: classes of equal launches, until each is known to INLINE_PROF_TARGET_CI"},
    Variable{"INLINE_PROF_BUDGET", "0.1%", "above 0% to 100%, or above 0 to 1",
             "what the pairs of events may cost of an iteration's time (policy adaptive)"},
    Variable{"INLINE_PROF_TARGET_CI", "0.03", "above 0, below 1",
             "half width of the 95 % interval of a class's median, over the median, at which it "
             "is known well enough (policy adaptive)"},
    Variable{"INLINE_PROF_WATCH", "0", "0% to 10%, or 0 to 0.1",
             "share of the time in which a run goes on measuring once all samples are taken, to "
             "find what gets slower; 0: it stops"},
    Variable{"INLINE_PROF_FALSE_ALARMS", "1", "above 0 to 1000000",
             "changes a month that a watched run reports though there are none"},
    Variable{"INLINE_PROF_ON_CHANGE", "(none)", "a shell command",
             "what a watched run starts when something became slower or faster, once a minute at "
             "most; variables CHANGE_... describe it"},
    Variable{
        "INLINE_PROF_CONTROL", "/tmp/inline_prof.%p.control",
        "an absolute path; %h %p %r %q{VAR} are replaced",
        "the file by which prof-run ctl reaches the process; it is looked at ten times a second"},
    Variable{"INLINE_PROF_SEED", "1", "0 to 18446744073709551615",
             "seed of the interleaved order; equal on all ranks"},
    Variable{"INLINE_PROF_MODE", "fine_grained", "fine_grained, one_shot, data, unit_test",
             "fine_grained: one event an iteration; one_shot: every event in every n-th "
             "iteration; data: runtime data only; unit_test: every event between "
             "PROFILE_UNIT_TEST_START and _STOP"},
    Variable{"INLINE_PROF_PHASES", "1", "0, 1",
             "1: where iterations begin to launch something else, what they launch is measured, "
             "too, as another phase; 0: only what the first iterations launch is"},
    Variable{
        "INLINE_PROF_OVERHEAD", "1024", "0 to 1000000",
        "iterations at most, after the last sample, in which the cost of measuring is measured; 0: "
        "none"},
    Variable{"INLINE_PROF_GRAPH_COPIES", "12", "0 to 1048576",
             "MiB that copies of CUDA graphs may take, at 1 KiB a node; graphs beyond it are timed "
             "as a whole"},
    Variable{"INLINE_PROF_TRIGGER", "(none)", "signal:USR1 or signal:USR2",
             "measuring begins and stops with each signal; without it measuring begins at once"},
    Variable{"INLINE_PROF_BACKEND", "(driver, cupti if injected)", "driver, cupti",
             "how launches are seen: driver, by wrappers of the driver's functions (LD_PRELOAD); "
             "cupti, by CUPTI's callbacks, which is the default under CUDA_INJECTION64_PATH"},
    Variable{"INLINE_PROF_CROSS_CHECK", "none", "none, cupti",
             "cupti: CUPTI counts the launches of the warm-up and times the measured kernels, too; "
             "a check of our own numbers that costs time"},
    Variable{"INLINE_PROF_EXIT_WHEN_DONE", "0", "0, 1",
             "1: the process ends with status 0 once prof.json is written"},
    Variable{"INLINE_PROF_CHECKPOINT", "30", "1 to 86400",
             "seconds between two checkpoints of prof.json (written as incomplete)"},
    Variable{
        "INLINE_PROF_METRICS", "(none)", "a path; %h %p %r %q{VAR} are replaced",
        "a file for Prometheus (node_exporter's textfile collector), written anew at each "
        "checkpoint; of a rank it has .rankN before its ending, unless %r or %p is in the path"},
    Variable{"INLINE_PROF_PROGRESS", "0", "0, 1",
             "1: rank 0 says every 5 s how many iterations are left (prof-run sets it where stderr "
             "is a terminal)"},
    Variable{"INLINE_PROF_TORCH", "0", "0, 1",
             "1: the modules of a PyTorch program are its layers (prof-run and the Python package "
             "read it)"},
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
    Variable{"PROFILING_MODE", "0", "0, 1, 2",
             "the original's number of the mode: 0 fine_grained, 1 one_shot, 2 unit_test"},
    Variable{"PROFILING_REPEAT_ITERS", "1000", "1 to 1000000000",
             "iterations of a one-shot run after its warm-up"},
    Variable{"PROFILING_RECORD_EVERY_N", "5", "1 to 1000000",
             "a one-shot run measures every n-th iteration"},
};

const Variable& variable(std::string_view name) {
  for (const Variable& known : kVariables) {
    if (name == known.name) return known;
  }
  throw ConfigError(std::string(name) + ": not in the table");
}

[[noreturn]] void refuse(const char* name, std::string_view value) {
  std::string message(name);
  message.append("=").append(value.substr(0, 80)).append(": expected ");
  throw ConfigError(message.append(variable(name).range));
}

// Returns the variable's value. An empty one counts as unset, as shells that clear a variable
// expect.
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

// Reads an integer within the variable's range, "LOWEST to HIGHEST".
template <typename Integer = std::int64_t>
std::optional<Integer> integer(const char* name) {
  const auto text = value_of(name);
  if (!text) return std::nullopt;
  constexpr std::string_view to = " to ";
  const std::string_view range = variable(name).range;
  const std::size_t between = range.find(to);
  const auto lowest = number<Integer>(range.substr(0, between));
  const auto highest = number<Integer>(range.substr(between + to.size()));
  const auto parsed = number<Integer>(*text);
  if (!parsed || *parsed < lowest || *parsed > highest) refuse(name, *text);
  return parsed;
}

// Reads `name`, else `alias`, the original profiler's name for the same. Both are checked.
std::optional<std::int64_t> integer(const char* name, const char* alias) {
  const auto value = integer(name);
  const auto value_of_alias = integer(alias);
  return value ? value : value_of_alias;
}

// Returns the value, which must be one of the words of the variable's range, and its place there.
struct Word {
  std::string text;
  std::size_t place = 0;
};
std::optional<Word> word_in_range(const char* name) {
  auto text = value_of(name);
  if (!text) return std::nullopt;
  std::string_view rest = variable(name).range;
  for (std::size_t place = 0;; ++place) {
    const std::size_t comma = rest.find(", ");
    if (rest.substr(0, comma) == *text) return Word{.text = *std::move(text), .place = place};
    if (comma == std::string_view::npos) refuse(name, *text);
    rest.remove_prefix(comma + 2);
  }
}

std::optional<std::string> keyword(const char* name) {
  auto found = word_in_range(name);
  return found ? std::optional(std::move(found->text)) : std::nullopt;
}

bool flag(const char* name, bool by_default = false) {
  const auto found = word_in_range(name);
  return found ? found->text == "1" : by_default;
}

// Reads a number above `lowest` and below `highest`, or equal to it if that is `included`.
// Independent of the locale: "0.1" is a tenth everywhere.
std::optional<double> decimal(const char* name, double lowest, double highest, bool included) {
  const auto text = value_of(name);
  if (!text) return std::nullopt;
  const auto parsed = number<double>(*text);
  if (!parsed || !(*parsed > lowest) || *parsed > highest || (!included && *parsed == highest))
    refuse(name, *text);
  return parsed;
}

// Reads a share of the time, in percent. "0.1%" and "0.001" are the same, as in a schedule.json.
std::optional<double> percentage(const char* name, double most, bool may_be_zero) {
  const auto text = value_of(name);
  if (!text) return std::nullopt;
  std::string_view digits = *text;
  const bool is_percentage = digits.ends_with('%');
  if (is_percentage) digits.remove_suffix(1);
  const double percent = number<double>(digits).value_or(-1) * (is_percentage ? 1 : 100);
  if (!(percent >= 0 && percent <= most) || (percent == 0 && !may_be_zero)) refuse(name, *text);
  return percent;
}

std::optional<std::string> mode() {
  constexpr std::array<const char*, 3> originals{"fine_grained", "one_shot", "unit_test"};
  auto ours = keyword("INLINE_PROF_MODE");
  const auto original = word_in_range("PROFILING_MODE");
  if (ours || !original) return ours;
  return originals[original->place];
}

constexpr double kMostWatchPercent = 10;
constexpr std::size_t kLongestPeriod = 65536;  // schedule::IterationFinder::kLongestGiven

void read_iteration_source(Config& config) {
  constexpr const char* name = "INLINE_PROF_ITERATION";
  const auto text = value_of(name);
  if (!text) return;
  const auto colon = text->find(':');
  const std::string_view kind = std::string_view(*text).substr(0, colon);
  config.iteration_glob = colon == std::string::npos ? "" : text->substr(colon + 1);
  const bool has_glob = !config.iteration_glob.empty();
  struct Source {
    std::string_view text;
    IterationSource source;
    bool wants_glob;
  };
  constexpr std::array sources{Source{"auto", IterationSource::kAuto, false},
                               Source{"macro", IterationSource::kMacro, false},
                               Source{"optimizer", IterationSource::kOptimizer, false},
                               Source{"nvtx", IterationSource::kNvtx, true},
                               Source{"kernel", IterationSource::kKernel, true},
                               Source{"period", IterationSource::kPeriod, true}};
  for (const Source& known : sources) {
    if (known.text != kind || known.wants_glob != has_glob) continue;
    if (!known.wants_glob && colon != std::string::npos) continue;
    config.iteration_source = known.source;
    if (known.source != IterationSource::kPeriod) return;
    config.iteration_period = number<std::size_t>(config.iteration_glob).value_or(0);
    if (config.iteration_period == 0 || config.iteration_period > kLongestPeriod) break;
    return;
  }
  refuse(name, *text);
}

void read_trigger(Config& config) {
  constexpr const char* name = "INLINE_PROF_TRIGGER";
  const auto text = value_of(name);
  if (!text) return;
  if (*text != "signal:USR1" && *text != "signal:USR2") refuse(name, *text);
  config.trigger_signal = text->ends_with('1') ? SIGUSR1 : SIGUSR2;
}

[[noreturn]] void refuse_template(const std::string& pattern, const char* variable,
                                  const std::string& problem) {
  throw ConfigError(std::string(variable) + "=" + pattern + ": " + problem +
                    "; known are %h, %p, %r, %q{VAR} and %%");
}

// Replaces each %h, %p and %r by `value('h', "")`, each %q{VAR} by `value('q', "VAR")`.
template <typename Value>
std::string expand(const std::string& pattern, const char* variable, const Value& value) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text.push_back(pattern[i]);
      continue;
    }
    if (++i == pattern.size()) refuse_template(pattern, variable, "a % at the end");
    const char word = pattern[i];
    if (word == '%') {
      text.push_back('%');
    } else if (word == 'q') {
      const auto end = pattern.find('}', i);
      if (pattern.compare(i, 2, "q{") != 0 || end == std::string::npos)
        refuse_template(pattern, variable, "%q is not followed by {VAR}");
      text += value(word, pattern.substr(i + 2, end - i - 2));
      i = end;
    } else if (word == 'h' || word == 'p' || word == 'r') {
      text += value(word, "");
    } else {
      refuse_template(pattern, variable, std::string("unknown %") + word);
    }
  }
  return text;
}

void check_template(const std::string& pattern, const char* variable) {
  expand(pattern, variable, [](char, const std::string&) { return ""; });
}

// A relative path would depend on where the program is when it first uses the GPU.
void read_control(Config& config) {
  constexpr const char* name = "INLINE_PROF_CONTROL";
  config.control_template = value_of(name).value_or(variable(name).default_value);
  check_template(config.control_template, name);
  if (config.control_template.front() != '/') refuse(name, config.control_template);
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
  return parsed && *parsed >= 0 ? parsed : std::nullopt;  // not our variable: ignored
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

// Returns the job's name, which is the same on all ranks: torchrun's or the scheduler's.
std::string run_name() {
  for (const char* name : {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID"}) {
    const auto value = value_of(name);
    if (value && *value != "none") return *value;  // torchrun's default
  }
  return "";
}

// Reads a list such as "0,2,8-15".
bool rank_is_wanted(std::int64_t rank) {
  const auto text = value_of("INLINE_PROF_RANKS");
  if (!text || *text == "all") return true;
  const auto refuse_ranks = [&] { refuse("INLINE_PROF_RANKS", *text); };
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

constexpr std::string_view kPrefix = "INLINE_PROF_";

void note_unknown_names(Config& config) {
  std::array<std::string_view, kVariables.size()> names{};
  std::transform(kVariables.begin(), kVariables.end(), names.begin(),
                 [](const Variable& each) { return std::string_view(each.name); });
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kPrefix)) continue;
    const std::string name(text.substr(0, text.find('=')));
    const std::string_view near = base::near_word(name, names);
    if (name == near) continue;
    std::string warning = name + ": unknown variable; ";
    if (!near.empty()) warning.append("did you mean ").append(near).append("? ");
    warning.append("prof-run --help-env lists the known ones");
    config.warnings.push_back(std::move(warning));
  }
}

}  // namespace

std::span<const Variable> variables() {
  return kVariables;
}

std::optional<Config> read_config() {
  if (const auto level = word_in_range("INLINE_PROF_LOG"))
    set_log_level(static_cast<LogLevel>(level->place));
  if (flag("INLINE_PROF_DISABLE")) return std::nullopt;

  Config config;
  read_rank(config);
  if (!rank_is_wanted(config.rank.value_or(0))) return std::nullopt;

  config.schedule_path = value_of("INLINE_PROF_SCHEDULE").value_or("");
  config.output_template = value_of("INLINE_PROF_OUT").value_or("");
  check_template(config.output_template, "INLINE_PROF_OUT");
  config.metrics_template = value_of("INLINE_PROF_METRICS").value_or("");
  check_template(config.metrics_template, "INLINE_PROF_METRICS");
  read_control(config);
  config.run_name = run_name();
  auto directory = value_of("INLINE_PROF_DIR");
  if (!directory) directory = value_of("PROFILING_DIR");
  config.directory_is_set = directory.has_value();
  config.directory = directory.value_or(".");

  config.warmup = integer("INLINE_PROF_WARMUP", "PROFILING_WARMUP_ITERS");
  config.repeat = integer("INLINE_PROF_REPEAT", "PROFILING_REPEAT_TIMES_PER_EVENT");
  config.policy = keyword("INLINE_PROF_POLICY");
  config.budget_percent = percentage("INLINE_PROF_BUDGET", 100, false);
  config.watch_share = percentage("INLINE_PROF_WATCH", kMostWatchPercent, true).value_or(0) / 100;
  config.false_alarms_per_month =
      decimal("INLINE_PROF_FALSE_ALARMS", 0, 1'000'000, true).value_or(1);
  config.on_change = value_of("INLINE_PROF_ON_CHANGE").value_or("");
  config.target_ci = decimal("INLINE_PROF_TARGET_CI", 0, 1, false);
  const auto seed = integer<std::uint64_t>("INLINE_PROF_SEED");
  config.seed = seed.value_or(config.seed);
  config.seed_is_set = seed.has_value();
  config.exit_when_done = flag("INLINE_PROF_EXIT_WHEN_DONE");
  if (config.exit_when_done && config.watch_share > 0) {
    throw ConfigError(
        "INLINE_PROF_EXIT_WHEN_DONE=1: expected 0 beside INLINE_PROF_WATCH, which goes on "
        "measuring until the program ends");
  }
  config.progress = flag("INLINE_PROF_PROGRESS");
  config.expects_torch = flag("INLINE_PROF_TORCH");
  config.follows_phases = flag("INLINE_PROF_PHASES", true);
  config.data_iterations = integer("PROFILING_DATA_COLLECTION_ITERS").value_or(0);
  config.checkpoint_seconds = integer("INLINE_PROF_CHECKPOINT").value_or(30);
  config.mode = mode();
  config.one_shot_iterations =
      integer("PROFILING_REPEAT_ITERS").value_or(config.one_shot_iterations);
  config.one_shot_every = integer("PROFILING_RECORD_EVERY_N").value_or(config.one_shot_every);
  config.overhead_iterations = integer("INLINE_PROF_OVERHEAD").value_or(config.overhead_iterations);
  read_iteration_source(config);
  read_trigger(config);

  if (const auto name = keyword("INLINE_PROF_BACKEND"))
    config.backend = *name == "cupti" ? Backend::kCupti : Backend::kDriver;
  config.cupti_cross_check = keyword("INLINE_PROF_CROSS_CHECK").value_or("none") == "cupti";

  config.graph_copies_mib =
      integer<std::uint64_t>("INLINE_PROF_GRAPH_COPIES").value_or(config.graph_copies_mib);
  config.graph_warmup =
      integer("PROFILING_WARMUP_AFTER_CUDAGRAPH_REINIT").value_or(config.graph_warmup);

  note_unknown_names(config);
  return config;
}

std::string expand_output_template(const std::string& pattern, const char* variable,
                                   const std::string& host_name, int process_id,
                                   std::optional<std::int64_t> rank) {
  const auto value = [&](char word, const std::string& name) {
    if (word == 'h') return host_name;
    if (word == 'p') return std::to_string(process_id);
    if (word == 'r') return std::to_string(rank.value_or(0));
    const char* const set = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (set == nullptr) refuse_template(pattern, variable, "the variable " + name + " is not set");
    return std::string(set);
  };
  std::string path = expand(pattern, variable, value);
  if (path.empty() || path.back() == '/') {
    throw ConfigError(
        std::string(variable) + "=" + pattern +
        ": names a directory; a file is expected, INLINE_PROF_DIR sets the directory");
  }
  return path;
}

}  // namespace inline_prof::sys
