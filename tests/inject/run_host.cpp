#include "run_host.hpp"

#include "testing.hpp"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inline_prof::test {
namespace {

constexpr int kStopped = 124;

bool is_ours(std::string_view entry) {
  for (const std::string_view prefix :
       {"INLINE_PROF_", "PROFILING_", "SIMGPU_",
        "LD_PRELOAD=", "LD_LIBRARY_PATH=", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "OMPI_", "PMI_",
        "SLURM_", "CUDA_", "NVTX_", "ASAN_OPTIONS="}) {
    if (entry.starts_with(prefix)) return true;
  }
  return false;
}

Texts environment_of(const HostOptions& options) {
  Texts entries;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_ours(*entry)) entries.emplace_back(*entry);
  entries.emplace_back("LD_LIBRARY_PATH=" INLINE_PROF_TEST_SIMGPU);
  if (options.with_library) entries.emplace_back("LD_PRELOAD=" INLINE_PROF_TEST_PRELOAD);
  // Sanitizer builds: a preloaded library is not the first one, and the fakes keep their memory.
  entries.emplace_back("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:handle_sigill=1");
  for (const std::string& entry : options.environment) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(entries, [&](const std::string& known) { return known.starts_with(name); });
    entries.push_back(entry);
  }
  return entries;
}

std::vector<char*> pointers_to(Texts& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns all that the process prints, or has printed when its time is over.
std::string read_until(int pipe, std::chrono::steady_clock::time_point deadline, bool& in_time) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      in_time = false;
      return text;
    }
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// Limits for every program with the library in it (docs/development.md).
constexpr long kMostLines = 2L * (64 + 1);  // libinject/sys/log.hpp
// With the program and the simulated driver, and this process, from which it was forked.
constexpr long kMostMib = 96;
constexpr long kMostCpuSeconds = 40;

bool is_our_line(const std::string& line) {
  return line.starts_with("inline_prof: ");
}

void expect_bounds(const HostRun& run, const rusage& used) {
  EXPECT_LE(std::ranges::count_if(lines_of(run.output), is_our_line), kMostLines) << run.output;
  if (INLINE_PROF_TEST_SANITIZED) return;  // it has memory and time of its own
  EXPECT_LE(used.ru_maxrss >> 10, kMostMib);
  EXPECT_LE(used.ru_utime.tv_sec + used.ru_stime.tv_sec, kMostCpuSeconds);
}

}  // namespace

nlohmann::json Workplace::json(const std::string& name) const {
  if (!std::filesystem::exists(path(name))) throw std::runtime_error(name + " was not written");
  return nlohmann::json::parse(content(name));
}

HostRun run_host(const Workplace& place, const std::string& program, const HostOptions& options) {
  for (const auto& [name, text] : options.files)
    place.file(name, text);
  const std::string path =
      program.starts_with('/') ? program : std::string(INLINE_PROF_TEST_HOSTS "/") + program;
  Texts arguments = joined({path}, options.arguments);
  Texts environment = environment_of(options);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);

  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    setpgid(0, 0);
    if (chdir(place.folder().c_str()) != 0) _exit(126);
    dup2(pipe[1], STDOUT_FILENO);
    dup2(pipe[1], STDERR_FILENO);
    execve(path.c_str(), argument_pointers.data(), environment_pointers.data());
    _exit(127);
  }
  close(pipe[1]);
  bool in_time = true;
  HostRun run;
  run.output = read_until(
      pipe[0], std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds), in_time);
  close(pipe[0]);
  if (!in_time) kill(-child, SIGKILL);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  run.exit_status = !in_time              ? kStopped
                    : WIFEXITED(status)   ? WEXITSTATUS(status)
                    : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                          : -1;
  if (options.with_library) expect_bounds(run, used);
  // The last line says the same in every run.
  const std::string begin = "inline_prof: wrote ";
  const std::size_t at = run.output.starts_with(begin) ? 0 : run.output.find("\n" + begin);
  if (at != std::string::npos) {
    const std::size_t line = at == 0 ? 0 : at + 1;
    const std::size_t end = run.output.find('\n', line) + 1;
    run.wrote = run.output.substr(line + begin.size(), end - line - begin.size() - 1);
    run.output.erase(line, end - line);
  }
  return run;
}

HostRun run_host(const std::string& program, const HostOptions& options) {
  const Workplace place;
  return run_host(place, program, options);
}

ProfiledRun::ProfiledRun(const std::string& program, const HostOptions& options) {
  static_cast<HostRun&>(*this) = run_host(place, program, options);
  EXPECT_EQ(exit_status, 0) << output;
  profile = place.json();
}

Texts joined(Texts first, const Texts& others) {
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

Texts lines_of(const std::string& text) {
  std::istringstream stream(text);
  Texts lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::ptrdiff_t count_lines(const std::string& text, const std::string& words) {
  return std::ranges::count_if(
      lines_of(text), [&](const std::string& line) { return line.find(words) != line.npos; });
}

std::string without_our_lines(const std::string& output) {
  std::string rest;
  for (const std::string& line : lines_of(output))
    if (!is_our_line(line)) rest += line + "\n";
  return rest;
}

const json& event_named(const json& profile, const std::string& name, int occurrence) {
  for (const auto& event : profile["events"]) {
    if (event["event_name"] == name && event["met_times_within_this_stream"] == occurrence)
      return event;
  }
  throw std::runtime_error("no event " + name + " in " + profile["events"].dump(1));
}

void expect_samples_of_each(const json& profile, std::size_t samples) {
  for (const json& event : profile["events"])
    EXPECT_EQ(event["measured_times_ms"].size(), samples) << event["event_name"];
}

std::string model_of_numbered_kernels(int first_us, int step_us, const std::string& other_members) {
  std::string rules;
  for (int i = 0; i < 12; ++i) {
    rules += std::string(i == 0 ? "" : ",") + R"({"name": "kernel_)" + std::to_string(i) +
             R"(_", "duration_us": )" + std::to_string(first_us + step_us * i) + "}";
  }
  return "{" + other_members + R"(, "rules": [)" + rules + "]}";
}

double numbered_kernel_us(const json& event, int first_us, int step_us) {
  const std::string name = event["event_name"];  // kernel_7_
  return first_us + step_us * std::stod(name.substr(name.find('_') + 1));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_us(const json& event) {
  const std::vector<double> times_ms = event["measured_times_ms"];
  return times_ms.empty() ? -1 : median(times_ms) * 1e3;
}

}  // namespace inline_prof::test
