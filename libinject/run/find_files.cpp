#include "run/find_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace inline_prof::run {
namespace {

namespace fs = std::filesystem;

// Returns the first of `places`, relative to this program's folder, that holds `file`. The
// installation comes before a build tree: an environment may lie in a clone of the sources.
fs::path find_near_us(std::initializer_list<const char*> places, const char* file) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const char* place : places) {
    fs::path folder = (program.parent_path() / place).lexically_normal();
    if (fs::exists(folder / file, error)) return folder;
  }
  return {};
}

bool is_executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_library() {
  constexpr const char* name = "libinline_prof.so";
  const fs::path folder = find_near_us({INLINE_PROF_BIN_TO_LIB, ".."}, name);
  return folder.empty() ? "" : (folder / name).string();
}

std::string find_simulated_gpu() {
  return find_near_us({INLINE_PROF_BIN_TO_LIB "/inline_prof/simgpu", "../../simgpu/lib"},
                      "libcuda.so.1")
      .string();
}

std::string find_python_startup() {
  return find_near_us(
             {INLINE_PROF_BIN_TO_LIB "/inline_prof/python/startup", "../../python/startup"},
             "sitecustomize.py")
      .string();
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (true) {
    const auto colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_executable(candidate)) return candidate.string();
    if (colon == std::string_view::npos) return "";
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace inline_prof::run
