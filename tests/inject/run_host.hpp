// Runs a program under the injected library, on the simulated GPU, and brings back what it said and
// wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace inline_prof::test {

struct HostRun {
  int exit_status = -1;  // as a shell gives it: 128 + N for signal N; 124 where it was stopped
  std::string output;    // stdout and stderr, as they came
};

// A folder of its own for each test, empty at first and gone afterwards.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Names of the files in it, sorted.
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] nlohmann::json json(const std::string& name = "prof.json") const;
  [[nodiscard]] std::string text(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

struct HostOptions {
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment =
      {};  // "NAME=VALUE"; nothing of the test's own PROF names is kept
  bool with_library = true;
  int seconds = 60;
};

// `program`: the name of one of tests/inject/hosts, or an absolute path.  Runs in `place`.
[[nodiscard]] HostRun run_host(const Workplace& place, const std::string& program,
                               const HostOptions& options = {});

}  // namespace inline_prof::test
