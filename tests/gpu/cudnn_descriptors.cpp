// Asks cuDNN what it gives back of a graph's convolutions, on a machine with a GPU: two of the
// answers are why the injected library follows plans as it does
// (libinject/libraries/backend_plans.cpp).
//
//   38  the operations of a finalized graph are not given back
//   44  the tensors of a finalized convolution have the groups as a dimension: images {n, g, c / g,
//       h, w}, filters {g, k / g, c / g, r, s}
#include "cudnn_graph.hpp"
#include "gpu_check.hpp"

namespace {

using namespace cudnn_graph;
using inline_prof::gpu_test::Answers;
using inline_prof::gpu_test::text_of;

std::string words_of(const Integers& sizes) {
  std::string words;
  for (const std::int64_t size : sizes)
    words += (words.empty() ? "" : " ") + std::to_string(size);
  return "{" + words + "}";
}

Integers sizes_of(const Descriptor& operation, cudnnBackendAttributeName_t name) {
  return operation.read(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR)
      .integers_of(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

void expect_sizes(Answers& answers, const Direction& direction, const Shape& shape,
                  const Descriptor& operation, const char* when) {
  const std::int64_t g = shape.groups;
  const Integers image{shape.images, g, shape.channels / g, shape.height, shape.width};
  const Integers filter{g, shape.filters / g, shape.channels / g, 3, 3};
  const Integers output{shape.images, g, shape.filters / g, shape.height, shape.width};
  const Integers found_image = sizes_of(operation, direction.image);
  const Integers found_filter = sizes_of(operation, direction.filter);
  const Integers found_output = sizes_of(operation, direction.output);
  const bool is_so = found_image == image && found_filter == filter && found_output == output;
  answers.expect(is_so,
                 text_of("44: %s, %d groups, %s: image %s, filter %s, output %s", direction.name,
                         static_cast<int>(g), when, words_of(found_image).c_str(),
                         words_of(found_filter).c_str(), words_of(found_output).c_str()) +
                     (is_so ? ""
                            : text_of("; expected %s, %s, %s", words_of(image).c_str(),
                                      words_of(filter).c_str(), words_of(output).c_str())));
}

void expect_no_operations(Answers& answers, const Direction& direction, const Descriptor& graph) {
  const Descriptor operation(direction.operation);
  cudnnBackendDescriptor_t raw = operation.raw();
  std::int64_t count = -1;
  const cudnnStatus_t status = cudnnBackendGetAttribute(
      graph.raw(), CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw);
  answers.expect(status == CUDNN_STATUS_NOT_SUPPORTED,
                 text_of("38: %s: CUDNN_ATTR_OPERATIONGRAPH_OPS: %s, expected "
                         "CUDNN_STATUS_NOT_SUPPORTED (count %d)",
                         direction.name, cudnnGetErrorString(status), static_cast<int>(count)));
}

// Shows whether the convolution descriptor is given back.  The injected library reads it when the
// application hands it over, since 9.19 without a GPU does not give it back.
void show_settings(Answers& answers, const Direction& direction, const Descriptor& operation) {
  const Descriptor found(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = found.raw();
  std::int64_t count = 0;
  std::int64_t dimensions = 0;
  const cudnnStatus_t given = cudnnBackendGetAttribute(
      operation.raw(), direction.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw);
  const cudnnStatus_t inside = cudnnBackendGetAttribute(raw, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                                                        CUDNN_TYPE_INT64, 1, &count, &dimensions);
  answers.figure(text_of("44: %s gives its convolution descriptor back: %s, and in it: %s",
                         direction.name, cudnnGetErrorString(given), cudnnGetErrorString(inside)));
}

void look_at(Answers& answers, cudnnHandle_t handle, const Direction& direction,
             const Shape& shape) {
  try {
    const Descriptor operation = convolution(direction, shape);
    expect_sizes(answers, direction, shape, operation, "finalized");
    show_settings(answers, direction, operation);
    const Descriptor graph = graph_of(handle, {&operation});
    expect_no_operations(answers, direction, graph);
    if (shape.groups > 1) return;  // plans may take a second each to be compiled
    const Descriptor plan = plan_of(handle, graph);
    expect_sizes(answers, direction, shape, operation, "with a plan");
  } catch (const std::runtime_error& error) {
    answers.expect(false, text_of("38, 44: %s, %d groups: %s", direction.name,
                                  static_cast<int>(shape.groups), error.what()));
  }
}

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  Answers answers;
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = cudnnCreate(&handle);
  if (status != CUDNN_STATUS_SUCCESS) {
    answers.expect(false, text_of("38, 44: cudnnCreate answers %s", cudnnGetErrorString(status)));
    return answers.exit_status();
  }
  answers.figure(text_of("38, 44: cuDNN %zu", cudnnGetVersion()));
  for (const Direction& direction : kDirections) {
    look_at(answers, handle, direction, Shape{});
    look_at(answers, handle, direction, Shape{.groups = 2});
  }
  static_cast<void>(cudnnDestroy(handle));
  return answers.exit_status();
}
