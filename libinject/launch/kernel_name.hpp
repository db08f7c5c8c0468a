#pragma once

#include <string>
#include <string_view>

namespace inline_prof::launch {

// An event name from a kernel's mangled name: no return type, no parameters, no blanks, since a
// name with blanks cannot stand in a prof.schedule.
//
//   _Z3addIfEvPT_i     ->  add<float>
//   ampere_h16816gemm  ->  ampere_h16816gemm
[[nodiscard]] std::string readable_kernel_name(std::string_view mangled);

}  // namespace inline_prof::launch
