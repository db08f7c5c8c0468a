#include "read/read_profile.hpp"

#include "read/file_text.hpp"
#include "read/gzip.hpp"
#include "read/prof_json/prof_json.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <array>
#include <string_view>
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

}  // namespace

std::span<const ProfileFormat> profile_formats() {
  return kFormats;
}

Profile read_profile(std::string text, const std::string& label, Wanted wanted,
                     const PhaseChoice& phase) {
  if (is_gzip(text)) text = gunzip(text, label, kMaxFileBytes);
  const ProfileFormat& format = format_of(text);
  Profile profile = format.read(std::move(text), label, wanted);
  show_phase(profile, phase);
  return profile;
}

Profile read_profile(const std::filesystem::path& file, Wanted wanted, const PhaseChoice& phase) {
  return read_profile(read_text(file), file.string(), wanted, phase);
}

}  // namespace inline_prof::read
