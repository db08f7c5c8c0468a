// Runs a program under the injected library, on the simulated GPU, and returns what it printed and
// wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace inline_prof::test {

using Texts = std::vector<std::string>;

struct HostRun {
  int exit_status = -1;  // as a shell gives it: 128 + N for signal N; 124 if it took too long
  std::string output;    // stdout and stderr, as they came, without ...
  std::string wrote{};   // ... our last line: the rest of "inline_prof: wrote ..."
};

// A temporary folder for one test, empty at first.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Names of the files in it, or in its `folder`, sorted.
  [[nodiscard]] Texts files(const std::string& folder = "") const;
  [[nodiscard]] nlohmann::json json(const std::string& name = "prof.json") const;
  [[nodiscard]] std::string text(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

struct HostOptions {
  Texts arguments = {};
  Texts environment = {};  // "NAME=VALUE"; none of the test's own names of ours is kept
  std::map<std::string, std::string> files = {};  // written before the program starts
  bool with_library = true;
  int seconds = 60;
};

// `program`: the name of one of tests/inject/hosts, or an absolute path.  Runs in `place`, or in a
// folder of its own.
[[nodiscard]] HostRun run_host(const Workplace& place, const std::string& program,
                               const HostOptions& options = {});
[[nodiscard]] HostRun run_host(const std::string& program, const HostOptions& options = {});

// A run in a folder of its own that must end with status 0 and write prof.json.
struct ProfiledRun : HostRun {
  explicit ProfiledRun(const std::string& program, const HostOptions& options = {});

  Workplace place;
  nlohmann::json profile;
};

// Returns the first texts, then the others.
[[nodiscard]] Texts joined(Texts first, const Texts& others);
[[nodiscard]] Texts lines_of(const std::string& text);
// Returns the program's own lines.
[[nodiscard]] std::string without_our_lines(const std::string& output);
// Returns the event of this name and occurrence in its stream.  Throws if there is none.
[[nodiscard]] const nlohmann::json& event_named(const nlohmann::json& profile,
                                                const std::string& name, int occurrence = 0);
// A simulated GPU on which kernel_0_, kernel_1_ ... take `first_us`, `first_us + step_us` ...
[[nodiscard]] std::string model_of_numbered_kernels(int first_us, int step_us,
                                                    const std::string& other_members);
// Returns the time of such a kernel by its event's name.
[[nodiscard]] double numbered_kernel_us(const nlohmann::json& event, int first_us, int step_us);
[[nodiscard]] double median(std::vector<double> values);
// Returns the median of an event's samples, -1 if it has none.
[[nodiscard]] double median_us(const nlohmann::json& event);

}  // namespace inline_prof::test
