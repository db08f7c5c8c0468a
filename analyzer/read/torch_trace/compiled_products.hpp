// Sizes of the matrix products inside compiled functions (AOTAutograd), whose operator has the
// sizes of all weights together, but none for each kernel.
#pragma once

#include "read/profile.hpp"
#include "read/torch_trace/places.hpp"
#include "read/torch_trace/trace_events.hpp"

#include <cstddef>
#include <unordered_map>

namespace inline_prof::read::torch_trace {

// Returns the products by their index in TraceEvents::works.  A product's tiles and grid tell two
// of its sides, to within a tile, and its name whether it is a linear layer's result (tn), the
// gradient of its input (nn) or that of its weights (nt); the weights that fit tell the third.
// Where several fit, the order decides: layers run in the order of the arguments, the backward pass
// in the reverse one.  Where it does not, and products of those that fit would differ by more than
// a factor of two, the kernel is left out.
[[nodiscard]] std::unordered_map<std::size_t, Op> compiled_products(const TraceEvents& trace,
                                                                    const Places& places);

}  // namespace inline_prof::read::torch_trace
