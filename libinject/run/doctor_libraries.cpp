#include "libraries/call_names.hpp"
#include "run/child.hpp"
#include "run/doctor.hpp"
#include "run/elf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>

namespace inline_prof::run {
namespace {

// Returns "libcublas" for "libcublas.so".
std::string_view short_name(const libraries::VendorLibraryName& library) {
  const std::string_view stem = library.stem;
  return stem.substr(0, stem.find('.'));
}

bool is_a_vendors(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return std::any_of(libraries::kVendorLibraries.begin(), libraries::kVendorLibraries.end(),
                     [&](const auto& each) { return name.starts_with(short_name(each)); });
}

// Returns the program and what it is linked with, without the vendors' own files.
std::vector<std::string> files_of(const std::string& program, const std::string& interpreter) {
  std::vector<std::string> files{program};
  const Outcome list =
      run_child({interpreter, program}, {{"LD_TRACE_LOADED_OBJECTS", "1"}, {"LD_PRELOAD", ""}});
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) {
    const ListedLibrary library = library_in(line);
    if (library.place.find('/') != std::string::npos && !is_a_vendors(library.place)) {
      files.push_back(library.place);
    }
  }
  return files;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

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
      const std::string library(short_name(libraries::name_of(call.library)));
      if (each->undefined.contains(call.symbol)) called.insert(library);
      if (each->defined.contains(call.symbol) || each->hidden.contains(call.symbol)) {
        inside.insert(library);
      }
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

}  // namespace inline_prof::run
