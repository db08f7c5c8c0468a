#include "read/read_profile.hpp"

#include "base/text.hpp"
#include "read/file_text.hpp"
#include "read/prof_json/prof_json.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>
#include <utility>

namespace inline_prof::read {
namespace {

constexpr std::array kFormats{kProfJson, torch_trace::kFormat};

const ProfileFormat& format_of(std::string_view text) {
  const std::string_view beginning = text.substr(0, kBeginning);
  for (const ProfileFormat& format : kFormats) {
    if (format.recognises(beginning)) return format;
  }
  return kFormats.front();
}

// cuBLAS and cuDNN may round f32 to tf32 for the tensor cores (cuDNN, "Data Types and Enums":
// CUDNN_DEFAULT_MATH), and no call says whether they do.  The kernel's name does.
void set_compute_types(Profile& profile) {
  for (Event& event : profile.events) {
    if (!event.op || event.op->find("compute_type") != nullptr) continue;
    const bool is_f32 = event.op->get<std::string>("type") == "f32" ||
                        event.op->get<std::string>("a_type") == "f32";
    const auto kind = op_kind_from_name(event.op->kind);
    if (!is_f32 || (kind != OpKind::kConv && kind != OpKind::kGemm)) continue;
    for (const std::string_view word : {"tf32", "s1688", "s16816gemm"}) {
      if (event.kernel_name.find(word) == event.kernel_name.npos) continue;
      event.op->attributes.emplace_back("compute_type", std::string("tf32"));
      break;
    }
  }
}

}  // namespace

std::span<const ProfileFormat> profile_formats() {
  return kFormats;
}

Profile read_profile(std::string text, const std::string& label, Wanted wanted,
                     const PhaseChoice& phase) {
  if (is_gzip(text)) text = gunzip(text, label, kMaxFileBytes);
  const ProfileFormat& format = format_of(text);
  Profile profile = format.read(std::move(text), label, wanted);
  set_compute_types(profile);
  show_phase(profile, phase);
  return profile;
}

Profile read_profile(const std::filesystem::path& file, Wanted wanted, const PhaseChoice& phase) {
  return read_profile(read_text(file), file.string(), wanted, phase);
}

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
  if (files.empty())
    throw InputError(fmt::format("{}: holds no {}", folder.string(), known_names()));
  std::ranges::sort(files);
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
    if (fs::is_directory(argument, error)) {
      std::ranges::move(files_in(argument), std::back_inserter(files));
    } else if (fs::exists(argument, error)) {
      files.emplace_back(argument);
    } else {
      throw InputError(fmt::format("{}: No such file or directory", argument));
    }
  }
  return files;
}

}  // namespace inline_prof::read
