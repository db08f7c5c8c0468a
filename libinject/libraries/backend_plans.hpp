// cuDNN's graph API: which convolution, or which attention, an execution plan consists of.
//
// A finalized plan cannot be asked: it returns its engine configuration, engine and graph, but not
// the graph's operations (CUDNN_ATTR_OPERATIONGRAPH_OPS: CUDNN_STATUS_NOT_SUPPORTED in cuDNN
// 9.19).  So operations are read when the application puts them into a graph, their strides and
// paddings, and attention's tensors, when it sets them, and each descriptor made from another
// inherits its operation.
#pragma once

#include "libraries/vendor_cudnn.hpp"
#include "record/event_record.hpp"

#include <cstdint>
#include <optional>

namespace inline_prof::libraries {

// Called after the application has set or read an attribute that holds descriptors. `real` is the
// function that it called.
void note_descriptors_set(void* real, void* descriptor, int name, const void* elements,
                          std::int64_t count);
void note_descriptors_read(void* descriptor, const void* elements, std::int64_t count);
void forget_descriptor(const void* descriptor);

// Returns nothing if the plan has neither, or was made from a serialized form.
[[nodiscard]] std::optional<record::Op> operation_of_plan(const void* plan);

}  // namespace inline_prof::libraries
