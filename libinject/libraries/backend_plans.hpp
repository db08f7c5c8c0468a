// cuDNN's backend: which convolution an execution plan is made of.
//
// A finalized plan does not say: the library gives its configuration, engine and graph back, but
// not the graph's operations (CUDNN_ATTR_OPERATIONGRAPH_OPS: CUDNN_STATUS_NOT_SUPPORTED in cuDNN
// 9.19).  So the operations are read when the application puts them into a graph, the strides and
// paddings of each when the application gives it them, and are handed on to whatever descriptor is
// made from one that has them.
#pragma once

#include "libraries/vendor_cudnn.hpp"
#include "record/event_record.hpp"

#include <cstdint>
#include <optional>

namespace inline_prof::hook {

// After the application has set or read an attribute that holds descriptors.  `real` is the
// function that was called.
void note_descriptors_set(void* real, void* descriptor, int name, const void* elements,
                          std::int64_t count);
void note_descriptors_read(void* descriptor, const void* elements, std::int64_t count);
void forget_descriptor(const void* descriptor);

// Empty where the plan was made otherwise (from a text), or of no convolution.
[[nodiscard]] std::optional<record::Op> operation_of_plan(const void* plan);

}  // namespace inline_prof::hook
