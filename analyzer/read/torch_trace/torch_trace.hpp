// Traces of torch.profiler as profiles: what PyTorch and Kineto write by export_chrome_trace().
//
// Each occurrence of a kernel in an iteration is an event with one sample an iteration, as in a
// prof.json.  Iterations are the steps of the profiler's schedule (ProfilerStep#N); a trace without
// them is one iteration.
#pragma once

#include "read/profile_format.hpp"

#include <array>
#include <string>
#include <string_view>

namespace inline_prof::read::torch_trace {

// True for text that begins as Chrome's JSON does.
[[nodiscard]] bool recognises(std::string_view beginning);

// Throws InputError.  A trace has all its values whatever is `wanted`.
[[nodiscard]] Profile read(std::string text, const std::string& label,
                           Wanted wanted = Wanted::kAll);

inline constexpr std::array<std::string_view, 4> kFileNames{"*.pt.trace.json", "*.pt.trace.json.gz",
                                                            "*trace*.json", "*trace*.json.gz"};
inline constexpr ProfileFormat kFormat{
    .file_names = kFileNames, .recognises = recognises, .read = read};

}  // namespace inline_prof::read::torch_trace
