#include "read/inputs.hpp"

#include "base/text.hpp"
#include "read/input_error.hpp"
#include "read/profile_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace inline_prof::read {
namespace {

namespace fs = std::filesystem;

// A pipe named on the command line is read; one found in a folder is not: it may never have a
// writer.
void refuse_what_never_ends(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_status status = entry.status(error);
  if (error || !fs::is_other(status)) return;
  throw InputError(
      fmt::format("{}: is a pipe, a socket or a device, expected a file", entry.path().string()));
}

// "prof.json, *.prof.json or *.one_shot.json"
std::string known_names() {
  std::vector<std::string_view> names;
  for (const ProfileFormat& format : profile_formats())
    names.insert(names.end(), format.file_names.begin(), format.file_names.end());
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!is_profile_name(it->path().filename().string())) continue;
    refuse_what_never_ends(*it);
    files.push_back(it->path());
  }
  if (error) throw InputError(fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty()) {
    throw InputError(fmt::format("{}: holds no {}", folder.string(), known_names()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool is_profile_name(std::string_view name) {
  const auto fits = [name](std::string_view pattern) { return base::glob_matches(pattern, name); };
  return std::ranges::any_of(profile_formats(), [&](const ProfileFormat& format) {
    return std::ranges::any_of(format.file_names, fits);
  });
}

std::vector<fs::path> expand_inputs(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      files.emplace_back(argument);
      continue;
    }
    const std::vector<fs::path> inside = files_in(argument);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace inline_prof::read
