// prof-model measure: starts prof-measure, a program of its own because it links CUDA.
#include "base/command_line.hpp"
#include "cli/common/program.hpp"
#include "cli/prof_model/commands.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

namespace fs = std::filesystem;

fs::path find_program() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  // Beside us, where we are installed, and where both are built.
  const std::array places{folder / "prof-measure",
                          folder / INLINE_PROF_LIBEXEC_FROM_BIN / "inline_prof" / "prof-measure",
                          folder / "../measure/prof-measure"};
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  throw std::runtime_error(fmt::format(
      "{}: not found: it is in no wheel, and is built and installed with a CUDA toolkit "
      "(cmake --install BUILD --component measure)",
      places[1].lexically_normal().string()));
}

void run_measure(const std::vector<std::string>& words) {
  std::vector<std::string> command{find_program().string()};
  command.insert(command.end(), words.begin(), words.end());
  become(std::move(command));
}

}  // namespace

void declare_measure(Command& command, int& /*status*/) {
  command.forwards(run_measure);
}

}  // namespace inline_prof::cli
