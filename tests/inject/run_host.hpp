// Runs a program under the injected library, on the simulated GPU, and returns what it printed and
// wrote.
#pragma once

#include "unit/temporary_folder.hpp"

#include <nlohmann/json.hpp>

namespace inline_prof::test {

using nlohmann::json;
using Texts = std::vector<std::string>;

struct HostRun {
  int exit_status = -1;  // as a shell gives it: 128 + N for signal N; 124 if it took too long
  std::string output;    // stdout and stderr, as they came, without ...
  std::string wrote{};   // ... our last line: the rest of "inline_prof: wrote ..."
};

// A temporary folder for one test, empty at first.
struct Workplace : TestFolder {
  [[nodiscard]] nlohmann::json json(const std::string& name = "prof.json") const;
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
  json profile;
};

// A test of host_phases whose iterations are marked, and one whose are found.
class MarkedOrFound : public TestWithParam<bool> {
 protected:
  [[nodiscard]] static Texts program(Texts stages) {
    if (GetParam()) stages.insert(stages.begin(), "--marks");
    return stages;
  }
};
#define INLINE_PROF_MARKED_AND_FOUND(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Iterations, suite, Bool(), [](const auto& is_marked) { \
    return is_marked.param ? "AreMarked" : "AreFound";                            \
  })

// Returns the first texts, then the others.
[[nodiscard]] Texts joined(Texts first, const Texts& others);
[[nodiscard]] Texts lines_of(const std::string& text);
// Returns the number of lines with these words.
[[nodiscard]] std::ptrdiff_t count_lines(const std::string& text, const std::string& words);
// Returns the program's own lines.
[[nodiscard]] std::string without_our_lines(const std::string& output);
// Returns the event of this name and occurrence in its stream.  Throws if there is none.
[[nodiscard]] const json& event_named(const json& profile, const std::string& name,
                                      int occurrence = 0);
// Expects so many samples of each event.
void expect_samples_of_each(const json& profile, std::size_t samples);
// A simulated GPU on which kernel_0_, kernel_1_ ... take `first_us`, `first_us + step_us` ...
[[nodiscard]] std::string model_of_numbered_kernels(int first_us, int step_us,
                                                    const std::string& other_members);
// Returns the time of such a kernel by its event's name.
[[nodiscard]] double numbered_kernel_us(const json& event, int first_us, int step_us);
[[nodiscard]] double median(std::vector<double> values);
// Returns the median of an event's samples, -1 if it has none.
[[nodiscard]] double median_us(const json& event);

}  // namespace inline_prof::test
