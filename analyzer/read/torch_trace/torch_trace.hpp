// Traces of torch.profiler as profiles: what PyTorch and Kineto write by export_chrome_trace().
//
// Each occurrence of a kernel in an iteration is an event with one sample an iteration, as in a
// prof.json.  Iterations are the steps of the profiler's schedule (ProfilerStep#N); a trace without
// them is one iteration.
#pragma once

#include "read/profile.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read::torch_trace {

// Capabilities::format of its profiles.
inline constexpr std::string_view kFormatName = "a trace of torch.profiler";

// True for text that begins as Chrome's JSON does.
[[nodiscard]] bool recognises(std::string_view beginning);

// Throws InputError.  A trace has all its values whatever is `wanted`.
[[nodiscard]] Profile read(std::string text, const std::string& label,
                           Wanted wanted = Wanted::kAll);

// A kernel, copy or fill of a trace, for programs that write beside it.
struct TracedWork {
  std::size_t args_end = 0;  // the place in the text of the brace that closes its args
  bool has_args = false;     // the braces hold something
  double duration_us = 0;
  std::optional<std::size_t> event;  // of the profile that read() returns; empty: in none
};

struct TracedWorks {
  std::string text;               // as given, as far as whole events go
  std::vector<TracedWork> works;  // those with args, in the order of the text
};

// Returns the places of the works that read() makes events of.  Throws InputError.
[[nodiscard]] TracedWorks find_works(std::string text, const std::string& label);

inline constexpr std::array<std::string_view, 2> kFileNames{"*trace*.json", "*.json.gz"};
inline constexpr ProfileFormat kFormat{
    .file_names = kFileNames, .recognises = recognises, .read = read};

}  // namespace inline_prof::read::torch_trace
