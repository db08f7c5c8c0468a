#include "read/read_profile.hpp"

#include "read/file_text.hpp"
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

}  // namespace inline_prof::read
