// prof-run: starts a program under the injected library, lists its settings, looks for what would
// keep it from working, and reaches programs that run.
//
// Exit status: the program's own; 127 if it is not found, 126 if it cannot be started, 2 for a
// wrong command line, 1 if the library is missing, the program cannot be simulated, the doctor has
// found a fault, or a process has not done what ctl asks.
#include "base/command_line.hpp"
#include "run/child.hpp"
#include "run/control.hpp"
#include "run/doctor.hpp"
#include "run/find_files.hpp"
#include "run/simulation.hpp"
#include "sys/config.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::run {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;
constexpr int kCannotBeStarted = 126;
constexpr int kNotFound = 127;

constexpr const char* kExamples =
    "Examples:\n"
    "  prof-run -- ./train --epochs 1                  measure everything that is met\n"
    "  prof-run --schedule schedule.json -- ./train    measure what the schedule names\n"
    "  prof-run --only 'blocks.2.attn*' -- ./train     measure these layers only\n"
    "  prof-run --sim -- ./train                       rehearse without a GPU\n"
    "  prof-run doctor -- ./train                      look for what would go wrong\n"
    "  prof-run ctl 4711 pause                         measure nothing in process 4711\n"
    "  prof-run --help-env                             every environment variable";

using cli::UsageError;

// An option that sets one of the injected library's variables; the table of variables has its
// description.
struct Setting {
  const char* option;
  const char* variable;
  bool is_path = false;  // made absolute: the program may change its directory first
};
constexpr std::array kSettings{
    Setting{"--schedule", "INLINE_PROF_SCHEDULE", true},
    Setting{"--dir", "INLINE_PROF_DIR", true},
    Setting{"--out", "INLINE_PROF_OUT", true},
    Setting{"--warmup", "INLINE_PROF_WARMUP"},
    Setting{"--repeat", "INLINE_PROF_REPEAT"},
    Setting{"--policy", "INLINE_PROF_POLICY"},
    Setting{"--seed", "INLINE_PROF_SEED"},
    Setting{"--watch", "INLINE_PROF_WATCH"},
    Setting{"--on-change", "INLINE_PROF_ON_CHANGE"},
    Setting{"--mode", "INLINE_PROF_MODE"},
    Setting{"--iteration", "INLINE_PROF_ITERATION"},
    Setting{"--ranks", "INLINE_PROF_RANKS"},
    Setting{"--checkpoint", "INLINE_PROF_CHECKPOINT"},
    Setting{"--log", "INLINE_PROF_LOG"},
};

struct Options {
  bool help_environment = false;
  std::string format = "table";
  bool simulate = false;
  bool exit_when_done = false;
  bool torch = false;
  std::string only;                             // glob of layers; empty: all
  std::map<std::string, std::string> settings;  // variable -> value
  std::vector<std::string> command;
};

std::string description_of(const char* name) {
  for (const sys::Variable& variable : sys::variables()) {
    if (std::strcmp(variable.name, name) == 0)
      return fmt::format("{} [{}] ({})", variable.meaning, variable.range, name);
  }
  throw std::logic_error(fmt::format("{} is not in the table of variables", name));
}

// Returns the command behind the options, without the `--` that may stand before it.
std::vector<std::string> command_in(std::vector<std::string> rest) {
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    throw UsageError(fmt::format("unknown option {}", rest.front()));
  }
  return rest;
}

void say(const std::string& words) {
  fmt::print(stderr, "prof-run: {}\n", words);
}

// Refuses what the injected library would refuse, before anything runs. Throws ConfigError.
void check_settings() {
  const auto config = sys::read_config();
  if (!config || config->schedule_path.empty()) return;
  if (access(config->schedule_path.c_str(), R_OK) != 0) {
    throw sys::ConfigError(fmt::format("INLINE_PROF_SCHEDULE={}: {}; expected a readable file",
                                       config->schedule_path, std::strerror(errno)));
  }
}

// Names the option that set the variable which `error` complains of, if one did.
std::string in_words_of_options(std::string error, const Options& options) {
  for (const auto& [option, variable, is_path] : kSettings) {
    const std::string setting = std::string(variable) + "=";
    if (error.starts_with(setting) && options.settings.contains(variable))
      error.replace(0, setting.size(), std::string(option) + " ");
  }
  return error;
}

// Writes a schedule of the layers that fit `glob`, whatever encloses them, and returns its path.
// The name comes from the glob: all ranks of a host may write it.
std::string schedule_of_layers(const std::string& glob) {
  if (glob.find_first_of("\"\\") != std::string::npos)
    throw UsageError("--only: a quote or a backslash, expected a glob of layer names");
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      fmt::format("inline_prof_only_{}_{:x}.json", getuid(), std::hash<std::string>()(glob));
  const std::string part = fmt::format("{}.{}", file.string(), getpid());
  std::ofstream(part) << fmt::format("{{\"patterns\": [{{\"match\": \"*{}.*\"}}]}}\n", glob);
  std::filesystem::rename(part, file);
  return file.string();
}

void apply_settings(const Options& options) {
  if (!options.only.empty()) {
    if (options.settings.contains("INLINE_PROF_SCHEDULE"))
      throw UsageError("--only makes a schedule: expected no --schedule beside it");
    setenv("INLINE_PROF_SCHEDULE", schedule_of_layers(options.only).c_str(), 1);
  }
  for (const auto& [name, value] : options.settings)
    setenv(name.c_str(), value.c_str(), 1);
  if (options.exit_when_done) setenv("INLINE_PROF_EXIT_WHEN_DONE", "1", 1);
  if (options.torch) setenv("INLINE_PROF_TORCH", "1", 1);
  try {
    check_settings();
  } catch (const sys::ConfigError& error) {
    throw sys::ConfigError(in_words_of_options(error.what(), options));
  }
}

// Returns what LD_PRELOAD names beside our library. Another copy of it is left out: it would
// measure the same launches.
std::string other_preloads(const std::string& library_path) {
  const char* before = std::getenv("LD_PRELOAD");
  std::string_view rest = before == nullptr ? "" : before;
  std::string others;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (entry.empty()) continue;
    const std::filesystem::path file(entry);
    if (file.filename() != "libinline_prof.so") {
      others.append(":").append(entry);
      continue;
    }
    std::error_code error;
    if (!std::filesystem::equivalent(file, library_path, error)) {
      say(fmt::format("LD_PRELOAD names another library, {}, which is left out: {} is ours", entry,
                      library_path));
    }
  }
  return others;
}

void preload(const std::string& library_path) {
  if (library_path.find_first_of(": ") != std::string::npos) {
    throw std::runtime_error(
        fmt::format("{}: LD_PRELOAD cannot hold a path with a blank or a colon", library_path));
  }
  setenv("LD_PRELOAD", (library_path + other_preloads(library_path)).c_str(), 1);
  // The library would set it itself. A tool that the user has set stays, and is chained.
  setenv("NVTX_INJECTION64_PATH", library_path.c_str(), 0);
}

constexpr const char* kNoSimulatedGpu =
    "--sim: the simulated GPU is neither in the build tree nor in the installation of this "
    "program (of a wheel: pip install inline_prof_simgpu-*.whl)";

void simulate(const std::string& command) {
  const std::string folder = find_simulated_gpu();
  if (folder.empty()) throw std::runtime_error(kNoSimulatedGpu);
  const std::string program = find_program(command);
  const std::string reason = program.empty() ? "" : why_not_simulated(program, folder);
  if (!reason.empty()) throw std::runtime_error("--sim: " + reason);
  setenv("LD_LIBRARY_PATH", library_path_with(folder).c_str(), 1);
}

// Returns only if the program cannot be started.
int become(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  execvp(arguments.front().c_str(), pointers_to(arguments).data());
  const int error = errno;
  say(fmt::format("{}: {}", command.front(), std::strerror(error)));
  return error == ENOENT ? kNotFound : kCannotBeStarted;
}

// Python runs the first sitecustomize.py that it finds; ours runs the next one, too.
void start_with_python() {
  const char* asked = std::getenv("INLINE_PROF_TORCH");
  if (asked == nullptr || std::strcmp(asked, "1") != 0) return;
  const std::string folder = find_python_startup();
  if (folder.empty()) {
    return say(
        "INLINE_PROF_TORCH: the Python package is neither in the build tree nor in the "
        "installation of this program: modules have no names");
  }
  const char* before = std::getenv("PYTHONPATH");
  const std::string value =
      before == nullptr || *before == '\0' ? folder : fmt::format("{}:{}", folder, before);
  setenv("PYTHONPATH", value.c_str(), 1);
}

// A job that was queued for hours runs in any case; what keeps it from being profiled is reported
// once.
void prepare_profiling() {
  const std::string library_path = find_library();
  try {
    if (library_path.empty()) {
      throw std::runtime_error(
          "libinline_prof.so is neither in the build tree nor in the installation of this program");
    }
    preload(library_path);
    start_with_python();
  } catch (const std::runtime_error& error) {
    say(fmt::format("{}: the program runs without being profiled", error.what()));
  }
  // A user at a terminal sees the progress.
  if (isatty(STDERR_FILENO) != 0) setenv("INLINE_PROF_PROGRESS", "1", 0);
}

constexpr std::size_t kWidth = 96;
constexpr std::string_view kIndent = "    ";

// Returns `text` in lines of at most kWidth characters, each indented.
std::string wrapped(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t length = text.size();
    if (length > kWidth - kIndent.size()) {
      length = text.rfind(' ', kWidth - kIndent.size());
      if (length == std::string_view::npos) length = text.find(' ');
      if (length == std::string_view::npos) length = text.size();
    }
    lines += fmt::format("{}{}\n", kIndent, text.substr(0, length));
    text.remove_prefix(length);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

// The injected library's table of variables, for a terminal.
std::string environment_table() {
  std::string table;
  for (const sys::Variable& variable : sys::variables()) {
    table += fmt::format("{}  (default {}; {})\n{}", variable.name, variable.default_value,
                         variable.range, wrapped(variable.meaning));
  }
  return table;
}

// Returns [{"name", "default", "range", "meaning"}]
std::string environment_json() {
  auto table = nlohmann::ordered_json::array();
  for (const sys::Variable& variable : sys::variables()) {
    table.push_back({{"name", variable.name},
                     {"default", variable.default_value},
                     {"range", variable.range},
                     {"meaning", variable.meaning}});
  }
  return table.dump(2) + "\n";
}

int run(const Options& options) {
  if (options.help_environment) {
    fmt::print("{}", options.format == "json" ? environment_json() : environment_table());
    return 0;
  }
  if (options.command.empty()) throw UsageError("no program is named");
  apply_settings(options);
  if (options.simulate) simulate(options.command.front());
  prepare_profiling();
  return become(options.command);
}

// Examines the simulated GPU: a driver's place is known when a program starts.
int become_doctor_of_simulated(const Options& options) {
  const std::string folder = find_simulated_gpu();
  if (folder.empty()) throw std::runtime_error(kNoSimulatedGpu);
  setenv("LD_LIBRARY_PATH", library_path_with(folder).c_str(), 1);
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe"), "doctor",
                                   "--format", options.format};
  command.insert(command.end(), options.command.begin() + 1, options.command.end());
  return become(command);
}

int run_doctor(const Options& options) {
  const auto checks =
      examine(find_library(), options.command.empty() ? "" : options.command.front());
  fmt::print("{}", options.format == "json" ? as_json(checks) : as_table(checks));
  return is_well(checks) ? 0 : kFailed;
}

// Declares the options of prof-run, or of prof-run doctor.
void declare(cli::Command& app, bool is_doctor, Options& options) {
  app.add_rest(options.command);
  app.add_option("--format", options.format, "table or json").check(cli::one_of({"table", "json"}));
  if (is_doctor) return;
  app.add_flag("--help-env", options.help_environment,
               "prints every environment variable that the library reads");
  app.add_flag("--sim", options.simulate,
               "runs the program on the simulated GPU, on two with SIMGPU_DEVICES=2 (shared CUDA "
               "runtime only)");
  app.add_option("--only", options.only,
                 "Measures only the layers that fit this glob, as blocks.2.attn*");
  app.add_flag("--torch", options.torch, description_of("INLINE_PROF_TORCH"));
  app.add_flag("--exit-when-done", options.exit_when_done,
               description_of("INLINE_PROF_EXIT_WHEN_DONE"));
  for (const Setting& setting : kSettings) {
    app.add_text(
        setting.option,
        [&options, &setting](const std::string& value) {
          if (value.empty()) return;
          options.settings[setting.variable] =
              setting.is_path ? std::filesystem::absolute(value).string() : value;
        },
        description_of(setting.variable));
  }
}

int run_control(int argc, char** argv) {
  std::vector<std::string> words;
  int seconds = 10;
  const cli::Program program{
      .name = "prof-run ctl",
      .description =
          "prof-run ctl [OPTIONS] PID... REQUEST: asks the library in running processes. "
          "REQUEST: pause, resume, characterise (take all samples again), write "
          "(prof.json, now) or status."};
  const auto status = cli::parse(program, argc, argv, [&](cli::Command& app) {
    app.add_option("--timeout", seconds, "seconds to wait for an answer");
    app.add_rest(words);
  });
  if (status) return *status;
  return control(words, seconds) ? 0 : kFailed;
}

int main_of(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "ctl") == 0) return run_control(argc - 1, argv + 1);
  Options options;
  const bool is_doctor = argc > 1 && std::strcmp(argv[1], "doctor") == 0;
  const cli::Program program =
      is_doctor ? cli::Program{.name = "prof-run doctor",
                               .description =
                                   "prof-run doctor [OPTIONS] [-- COMMAND]: looks for "
                                   "what would keep COMMAND from being profiled."}
                : cli::Program{.name = "prof-run",
                               .description =
                                   "prof-run [OPTIONS] -- COMMAND [ARGUMENT...]: starts "
                                   "COMMAND with libinline_prof.so preloaded.",
                               .footer = kExamples,
                               .version = "prof-run " INLINE_PROF_VERSION};
  const auto status = cli::parse(program, is_doctor ? argc - 1 : argc, is_doctor ? argv + 1 : argv,
                                 [&](cli::Command& app) { declare(app, is_doctor, options); });
  if (status) return *status;
  options.command = command_in(std::move(options.command));
  // Written behind the options: prof-run --sim doctor.
  const bool is_late_doctor = options.simulate && !options.command.empty() &&
                              options.command.front() == "doctor" && find_program("doctor").empty();
  if (is_late_doctor) return become_doctor_of_simulated(options);
  return is_doctor ? run_doctor(options) : run(options);
}

}  // namespace
}  // namespace inline_prof::run

int main(int argc, char** argv) {
  using namespace inline_prof;
  try {
    return run::main_of(argc, argv);
  } catch (const run::UsageError& error) {
    run::say(error.what());
    std::fputs("Try prof-run --help.\n", stderr);
    return run::kWrongCommandLine;
  } catch (const sys::ConfigError& error) {
    run::say(error.what());
    return run::kWrongCommandLine;
  } catch (const std::exception& error) {
    run::say(error.what());
    return run::kFailed;
  }
}
