// The work of XLA's kernels, as JAX and TensorFlow launch them.
//
// When XLA has compiled a module it registers texts with NVTX (annotation.cc of XLA's GPU runtime,
// as in JAX 0.10): the module's title, and of each instruction its title, its own text, its lines
// in the program, and the computation that it calls.  The title is the name of the range around
// the launches; a fusion's kernel has the instruction's name.
#pragma once

#include "record/event_record.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace inline_prof::labels {

// Returns true for the range around one run of a compiled function.
[[nodiscard]] bool begins_xla_module(std::string_view text);

// Takes a text that was registered by this thread.  Returns true if no range will have it as its
// name, so that it need not be kept.
// It is built small, not fast: XLA registers its texts once.
[[gnu::cold]] bool note_xla_text(std::string_view text);

struct XlaWork {
  std::string layer;  // the names of the program's functions and scopes: "jit(step).jvp()"
  record::Op op;      // without a kind if the kernel is no fusion
};

// The work of a kernel that is launched in the ranges `layer`; nothing outside XLA's ranges.
[[nodiscard]] std::optional<XlaWork> xla_work(std::string_view layer, std::string_view kernel);

}  // namespace inline_prof::labels
