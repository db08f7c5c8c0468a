// prof-model measure: starts prof-measure, which is linked with CUDA where prof-model is not.
#include "cli/common/command_line.hpp"
#include "cli/prof_model/commands.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
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
  throw std::runtime_error(
      fmt::format("{}: not found: built without a CUDA toolkit, or installed without component "
                  "measure (cmake --install BUILD --component measure)",
                  places[1].lexically_normal().string()));
}

void run_measure(const std::vector<std::string>& words) {
  const std::string program = find_program().string();
  std::vector<std::string> arguments{program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw std::runtime_error(fmt::format("{}: {}", program, std::generic_category().message(errno)));
}

}  // namespace

void declare_measure(Command& program) {
  program.add_forwarding_subcommand(
      "measure", "Times shapes alone on a GPU, as tables to fit (--help tells how)", run_measure);
}

}  // namespace inline_prof::cli
