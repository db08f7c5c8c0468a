// Convolutions by cuDNN's graph interface: descriptors and plans.  Refusals of the library are
// thrown as Refused, with the name of the function.
#pragma once

#include "named_calls.hpp"

#include <algorithm>
#include <cstdint>
#include <cudnn.h>
#include <string>
#include <vector>

namespace inline_prof::gpu_test {

inline void accept(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Refused(what + " answers " + cudnnGetErrorString(status));
}

using Integers = std::vector<std::int64_t>;

// Owns its handle.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    accept(cudnnBackendCreateDescriptor(type, &raw_),
           "cudnnBackendCreateDescriptor(" + std::to_string(type) + ")");
  }
  ~Descriptor() {
    if (raw_ != nullptr) static_cast<void>(cudnnBackendDestroyDescriptor(raw_));
  }
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }

  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const std::vector<Value>& values) {
    accept(cudnnBackendSetAttribute(raw_, name, type, static_cast<std::int64_t>(values.size()),
                                    values.data()),
           "cudnnBackendSetAttribute(" + std::to_string(name) + ")");
    return *this;
  }
  Descriptor& integers(cudnnBackendAttributeName_t name, const Integers& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& child(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               std::vector<cudnnBackendDescriptor_t>{value.raw_});
  }
  Descriptor& finalize(const std::string& what) {
    accept(cudnnBackendFinalize(raw_), "cudnnBackendFinalize of " + what);
    return *this;
  }

  // Reads an attribute that is one number: the library refuses to be asked for more.
  [[nodiscard]] std::int64_t integer_of(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0;
    std::int64_t count = 0;
    accept(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value),
           "cudnnBackendGetAttribute(" + std::to_string(name) + ")");
    return value;
  }
  [[nodiscard]] Integers integers_of(cudnnBackendAttributeName_t name) const {
    constexpr std::int64_t most = 8;  // CUDNN_DIM_MAX
    Integers values(most);
    std::int64_t count = 0;
    accept(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_INT64, most, &count, values.data()),
           "cudnnBackendGetAttribute(" + std::to_string(name) + ")");
    values.resize(static_cast<std::size_t>(count));
    return values;
  }
  // Returns a descriptor that this one refers to.
  [[nodiscard]] Descriptor read(cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type) const {
    Descriptor found(type);
    std::int64_t count = 0;
    accept(
        cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &found.raw_),
        "cudnnBackendGetAttribute(" + std::to_string(name) + ")");
    return found;
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

// Filters of 3 x 3 with padding 1, channels last, in half precision, f32 sums.
struct GraphShape {
  std::int64_t images = 8;
  std::int64_t channels = 64;
  std::int64_t height = 28;
  std::int64_t width = 56;
  std::int64_t filters = 128;
  std::int64_t groups = 1;
};

// The names of one direction's attributes.
struct Direction {
  const char* name;
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t image;
  cudnnBackendAttributeName_t filter;
  cudnnBackendAttributeName_t output;
  cudnnBackendAttributeName_t convolution;
};
inline constexpr Direction kDirections[]{
    {"forward", CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
    {"backward data", CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
    {"backward filter", CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC}};

// `sizes`: images, channels, height, width, whatever lies where.
inline Descriptor graph_tensor(std::int64_t id, const Integers& sizes, bool is_virtual = false) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector<cudnnDataType_t>{CUDNN_DATA_HALF})
      .integers(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .integers(CUDNN_ATTR_TENSOR_STRIDES,
                {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]})
      .integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  if (is_virtual) {
    const bool yes = true;
    accept(cudnnBackendSetAttribute(made.raw(), CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                                    &yes),
           "cudnnBackendSetAttribute(CUDNN_ATTR_TENSOR_IS_VIRTUAL)");
  }
  made.finalize("a tensor");
  return made;
}

inline Descriptor convolution_settings() {
  Descriptor how(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
          std::vector<cudnnDataType_t>{CUDNN_DATA_FLOAT})
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           std::vector<cudnnConvolutionMode_t>{CUDNN_CROSS_CORRELATION})
      .integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
    how.integers(name, {1, 1});
  how.finalize("a convolution");
  return how;
}

inline Descriptor graph_convolution(const Direction& direction, const GraphShape& shape,
                                    bool output_is_virtual = false) {
  Descriptor operation(direction.operation);
  operation
      .child(direction.image,
             graph_tensor('x', {shape.images, shape.channels, shape.height, shape.width}))
      .child(direction.filter,
             graph_tensor('w', {shape.filters, shape.channels / shape.groups, 3, 3}))
      .child(direction.output,
             graph_tensor('y', {shape.images, shape.filters, shape.height, shape.width},
                          output_is_virtual))
      .child(direction.convolution, convolution_settings());
  operation.finalize(std::string("a convolution ") + direction.name);
  return operation;
}

inline Descriptor graph_of(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations) {
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(operations.size());
  for (const Descriptor* operation : operations)
    raw.push_back(operation->raw());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector<cudnnHandle_t>{handle})
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw)
      .finalize("a graph");
  return graph;
}

// Returns the first plan of the heuristic that can be made.
inline Descriptor graph_plan(cudnnHandle_t handle, const Descriptor& graph) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
           std::vector<cudnnBackendHeurMode_t>{CUDNN_HEUR_MODE_A})
      .finalize("a heuristic");
  constexpr std::int64_t most = 16;
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) {
    configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations.back().raw());
  }
  std::int64_t count = 0;
  accept(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, raw.data()),
         "cudnnBackendGetAttribute(CUDNN_ATTR_ENGINEHEUR_RESULTS)");
  std::string last_words = "the heuristic has no engine";
  for (std::int64_t i = 0; i < std::min(count, most); ++i) {
    try {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
               std::vector<cudnnHandle_t>{handle})
          .child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                 configurations[static_cast<std::size_t>(i)])
          .finalize("a plan");
      return plan;
    } catch (const Refused& error) {
      last_words = "none of " + std::to_string(count) + " engines: " + error.what();
    }
  }
  throw Refused(last_words);
}

}  // namespace inline_prof::gpu_test
