#include "run/doctor.hpp"

#include "libraries/call_names.hpp"
#include "run/child.hpp"
#include "run/elf_file.hpp"
#include "run/find_files.hpp"
#include "sys/config.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <gnu/libc-version.h>
#include <set>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace inline_prof::run {
namespace {

constexpr std::string_view call_of(State state) {
  switch (state) {
    case State::kOk:
      return "OK";
    case State::kWarn:
      return "WARN";
    case State::kFail:
      return "FAIL";
  }
  return "";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Check check_library(const std::string& library_path) {
  if (library_path.empty()) {
    return {"library", State::kFail,
            "libinline_prof.so is neither in the build tree nor in the installation of this "
            "program"};
  }
  if (library_path.find_first_of(": ") != std::string::npos) {
    return {"library", State::kFail,
            fmt::format("{}: LD_PRELOAD cannot hold a path with a blank or a colon", library_path)};
  }
  void* library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {"library", State::kFail, dlerror()};
  const bool speaks = dlsym(library, "inline_prof_abi_v1") != nullptr;
  if (!speaks)
    return {"library", State::kFail, fmt::format("{}: has no inline_prof_abi_v1", library_path)};
  return {"library", State::kOk, library_path};
}

// Starts a child that lists what it has loaded.
Check check_preload(const std::string& library_path) {
  const std::string cat = find_program("cat");
  if (cat.empty()) return {"preload", State::kWarn, "not tried: there is no program cat"};
  const Outcome child = run_child({cat, "/proc/self/maps"}, {{"LD_PRELOAD", library_path}});
  if (child.output.find(library_path) != std::string::npos && child.exit_status == 0)
    return {"preload", State::kOk, "a child has loaded the library"};
  const std::string first_line = child.output.substr(0, child.output.find('\n'));
  return {"preload", State::kFail,
          child.output.starts_with("ERROR:") ? first_line : "a child did not load the library"};
}

Check check_glibc() {
  const std::string_view version = gnu_get_libc_version();
  const auto dot = version.find('.');
  const long major = std::strtol(version.data(), nullptr, 10);
  const long minor =
      dot == std::string_view::npos ? 0 : std::strtol(version.data() + dot + 1, nullptr, 10);
  const bool old = major < 2 || (major == 2 && minor < 17);
  return {"glibc", old ? State::kFail : State::kOk,
          fmt::format("{}{}", version, old ? ": 2.17 or newer is needed" : "")};
}

Check check_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    return {"driver", State::kWarn,
            "libcuda.so.1 is not here: programs run only on the simulated GPU (--sim)"};
  }
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0 || version <= 0)
    return {"driver", State::kWarn, "libcuda.so.1 does not say which CUDA version it supports"};
  const std::string words = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  constexpr int oldest = 11080;
  if (version < oldest)
    return {"driver", State::kWarn, words + ": older than 11.8, the oldest that is supported"};
  return {"driver", State::kOk, words};
}

Check check_directory(const sys::Config& config) {
  const std::string directory = config.directory;
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0 && errno == ENOENT)
    return {"directory", State::kOk, directory + ": will be made"};
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return {
        "directory", State::kFail,
        fmt::format("{}: prof.json cannot be written there: {}", directory, std::strerror(errno))};
  }
  return {"directory", State::kOk, directory};
}

// Includes the directory, which the configuration names.
void check_configuration(std::vector<Check>& checks) {
  try {
    const auto config = sys::read_config();
    if (!config) {
      checks.push_back({"configuration", State::kWarn,
                        "this process would measure nothing (INLINE_PROF_DISABLE or "
                        "INLINE_PROF_RANKS)"});
      return;
    }
    for (const std::string& warning : config->warnings)
      checks.push_back({"configuration", State::kWarn, warning});
    if (config->warnings.empty())
      checks.push_back({"configuration", State::kOk, "every variable can be followed"});
    checks.push_back(check_directory(*config));
  } catch (const sys::ConfigError& error) {
    checks.push_back({"configuration", State::kFail, error.what()});
  }
}

void check_other_tools(const std::string& library_path, std::vector<Check>& checks) {
  struct Conflict {
    const char* variable;
    const char* meaning;
  };
  constexpr std::array conflicts{
      Conflict{"CUDA_INJECTION64_PATH", "another profiler is injected and costs time of its own"},
      Conflict{"NVTX_INJECTION64_PATH",
               "another tool receives the NVTX ranges, too; if it cannot be loaded, nobody does"},
      Conflict{"LD_AUDIT", "an auditor sees our look-ups first"},
      Conflict{"CUDA_LAUNCH_BLOCKING", "every launch waits: times are upper bounds"}};
  const std::size_t before = checks.size();
  for (const auto& [name, meaning] : conflicts) {
    const std::string value = variable(name);
    if (value.empty() || value == "0" || value == library_path) continue;
    checks.push_back({"environment", State::kWarn, fmt::format("{}={}: {}", name, value, meaning)});
  }
  const std::string preloads = variable("LD_PRELOAD");
  std::string_view rest = preloads;
  while (!rest.empty()) {
    const auto end = rest.find_first_of(": ");
    const std::string entry(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const auto file = read_elf(entry);
    if (!file || !file->defined.contains("dlsym") || file->defined.contains("inline_prof_abi_v1"))
      continue;
    checks.push_back({"environment", State::kWarn,
                      fmt::format("LD_PRELOAD: {} overrides dlsym, too; ours comes first and "
                                  "passes on to it",
                                  entry)});
  }
  if (checks.size() == before)
    checks.push_back({"environment", State::kOk, "no other tool is in the way"});
}

Check check_command(const std::string& command) {
  const std::string program = find_program(command);
  if (program.empty())
    return {"command", State::kFail, command + ": no program of this name can be started"};
  struct stat facts {};
  const bool other_user = stat(program.c_str(), &facts) == 0 &&
                          (((facts.st_mode & S_ISUID) != 0 && facts.st_uid != geteuid()) ||
                           ((facts.st_mode & S_ISGID) != 0 && facts.st_gid != getegid()) ||
                           getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
  if (other_user) {
    return {"command", State::kFail,
            program + ": runs with other rights than yours, so LD_PRELOAD is ignored"};
  }
  const auto file = read_elf(program);
  if (!file) {
    return {"command", State::kOk, program + ": a script; what it starts inherits the library"};
  }
  if (!file->is_64_bit) return {"command", State::kFail, program + ": a 32-bit program"};
  if (file->interpreter.empty())
    return {"command", State::kFail, program + ": linked statically, so LD_PRELOAD is ignored"};
  if (has_static_cuda_runtime(*file)) {
    return {"command", State::kOk,
            program + ": brings its own CUDA runtime; it is measured, and cannot be simulated"};
  }
  return {"command", State::kOk, program};
}

// Returns the program and what it is linked with, without the vendors' own files.
std::vector<std::string> files_of(const std::string& program, const std::string& interpreter) {
  std::vector<std::string> files{program};
  const Outcome list =
      run_child({interpreter, program}, {{"LD_TRACE_LOADED_OBJECTS", "1"}, {"LD_PRELOAD", ""}});
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) {
    const ListedLibrary library = library_in(line);
    if (library.place.find('/') != std::string::npos && !libraries::is_a_vendors(library.place))
      files.push_back(library.place);
  }
  return files;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Checks whether the calls of a program's libraries can be described. `program` is the path of an
// ELF file with a dynamic linker. Libraries that it loads while it runs are not seen.
std::vector<Check> check_vendor_libraries(const std::string& program) {
  const auto file = read_elf(program);
  if (!file || file->interpreter.empty()) return {};
  std::vector<Check> checks;
  std::set<std::string> called;
  for (const std::string& path : files_of(program, file->interpreter)) {
    const auto each = read_elf(path, WhichSymbols::kAll);
    if (!each) continue;
    std::set<std::string> inside;
    for (const libraries::CallName& call : libraries::kCallNames) {
      const std::string library(libraries::short_name(call.library));
      if (each->undefined.contains(call.symbol)) called.insert(library);
      if (each->defined.contains(call.symbol) || each->hidden.contains(call.symbol))
        inside.insert(library);
    }
    if (!inside.empty()) {
      checks.push_back(
          {"libraries", State::kWarn,
           fmt::format("{} inside {}: static copy, kernels timed, shapes missing", joined(inside),
                       std::filesystem::path(path).filename().string())});
    }
  }
  if (!called.empty()) {
    checks.push_back({"libraries", State::kOk,
                      fmt::format("calls of {} say what they compute", joined(called))});
  }
  if (checks.empty()) {
    checks.push_back({"libraries", State::kOk,
                      "none is linked with the program; what it loads later is wrapped, but for "
                      "RTLD_DEEPBIND and dlmopen"});
  }
  return checks;
}

}  // namespace

std::vector<Check> examine(const std::string& library_path, const std::string& command) {
  std::vector<Check> checks;
  checks.push_back(check_library(library_path));
  if (checks.back().state != State::kFail) checks.push_back(check_preload(library_path));
  checks.push_back(check_glibc());
  checks.push_back(check_driver());
  check_configuration(checks);
  check_other_tools(library_path, checks);
  if (!command.empty()) {
    checks.push_back(check_command(command));
    const std::string program = find_program(command);
    if (checks.back().state != State::kFail && !program.empty()) {
      const auto libraries = check_vendor_libraries(program);
      checks.insert(checks.end(), libraries.begin(), libraries.end());
    }
  }
  return checks;
}

std::string as_table(const std::vector<Check>& checks) {
  std::string table;
  for (const Check& check : checks)
    table += fmt::format("{:<5} {:<14} {}\n", call_of(check.state), check.name, check.text);
  return table;
}

std::string as_json(const std::vector<Check>& checks) {
  nlohmann::ordered_json report{{"schema", "inline_prof_doctor/1"},
                                {"ok", is_well(checks)},
                                {"checks", nlohmann::ordered_json::array()}};
  for (const Check& check : checks) {
    report["checks"].push_back(
        {{"name", check.name}, {"state", call_of(check.state)}, {"text", check.text}});
  }
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool is_well(const std::vector<Check>& checks) {
  return std::ranges::find(checks, State::kFail, &Check::state) == checks.end();
}

}  // namespace inline_prof::run
