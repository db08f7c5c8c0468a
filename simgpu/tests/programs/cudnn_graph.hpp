// Descriptors, graphs and plans of cuDNN's backend, for test programs on the simulated and on the
// vendor's library.  A call that the library refuses is thrown, with the function's name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cudnn.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace cudnn_graph {

inline void accept(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw std::runtime_error(what + " answers " + cudnnGetErrorString(status));
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
    return set(name, type, values.size(), values.data());
  }
  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    return set(name, type, 1, &value);
  }
  Descriptor& integers(cudnnBackendAttributeName_t name, const Integers& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& child(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.raw_);
  }
  Descriptor& finalize(const std::string& what) {
    accept(cudnnBackendFinalize(raw_), "cudnnBackendFinalize of " + what);
    return *this;
  }

  // Reads an attribute that is one number: the library refuses to be asked for more.
  [[nodiscard]] std::int64_t integer_of(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0;
    get(name, CUDNN_TYPE_INT64, 1, &value);
    return value;
  }
  [[nodiscard]] Integers integers_of(cudnnBackendAttributeName_t name) const {
    Integers values(CUDNN_DIM_MAX);
    values.resize(static_cast<std::size_t>(
        get(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data())));
    return values;
  }
  // Returns a descriptor that this one refers to.
  [[nodiscard]] Descriptor read(cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type) const {
    Descriptor found(type);
    get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found.raw_);
    return found;
  }
  // Returns how many elements the attribute has; writes at most `room`.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   std::int64_t room, void* values) const {
    std::int64_t count = 0;
    accept(cudnnBackendGetAttribute(raw_, name, type, room, &count, values),
           "cudnnBackendGetAttribute(" + std::to_string(name) + ")");
    return count;
  }

 private:
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::size_t count, const void* values) {
    accept(cudnnBackendSetAttribute(raw_, name, type, static_cast<std::int64_t>(count), values),
           "cudnnBackendSetAttribute(" + std::to_string(name) + ")");
    return *this;
  }

  cudnnBackendDescriptor_t raw_ = nullptr;
};

// A convolution by filters of 3 x 3 with padding 1, channels last, in half precision, f32 sums.
struct Shape {
  std::int64_t images = 8;
  std::int64_t channels = 64;
  std::int64_t height = 28;
  std::int64_t width = 56;
  std::int64_t filters = 128;
  std::int64_t groups = 1;

  [[nodiscard]] Integers image() const { return {images, channels, height, width}; }
  [[nodiscard]] Integers filter() const { return {filters, channels / groups, 3, 3}; }
  [[nodiscard]] Integers output() const { return {images, filters, height, width}; }
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
inline Descriptor tensor(std::int64_t id, const Integers& sizes, bool is_virtual = false) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_HALF)
      .integers(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .integers(CUDNN_ATTR_TENSOR_STRIDES,
                {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]})
      .integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  if (is_virtual) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  made.finalize("a tensor");
  return made;
}

inline Descriptor convolution_settings() {
  Descriptor how(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
    how.integers(name, {1, 1});
  how.finalize("a convolution");
  return how;
}

// Its tensors have the numbers 'x', 'w' and 'y'.
inline Descriptor convolution(const Direction& direction, const Shape& shape,
                              bool output_is_virtual = false) {
  Descriptor operation(direction.operation);
  operation.child(direction.image, tensor('x', shape.image()))
      .child(direction.filter, tensor('w', shape.filter()))
      .child(direction.output, tensor('y', shape.output(), output_is_virtual))
      .child(direction.convolution, convolution_settings())
      .finalize(std::string("a convolution ") + direction.name);
  return operation;
}

// Without a handle a graph can be made, but not planned.
inline Descriptor graph_of(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations) {
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(operations.size());
  for (const Descriptor* operation : operations)
    raw.push_back(operation->raw());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw).finalize("a graph");
  return graph;
}

inline Descriptor pointwise(cudnnPointwiseMode_t mode) {
  Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .finalize("a pointwise descriptor");
  return made;
}

// The graph of z = relu(convolution of x by w + b); the results between have no memory.
inline Descriptor fused_graph(cudnnHandle_t handle, const Shape& shape) {
  const Descriptor forward = convolution(kDirections[0], shape, true);
  // The same tensor again: a graph knows them by their numbers.
  const Descriptor y = tensor('y', shape.output(), true);
  const Descriptor sum = tensor('s', shape.output(), true);
  Descriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  add.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_ADD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, y)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor('b', {1, shape.filters, 1, 1}))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum)
      .finalize("a sum");
  Descriptor relu(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  relu.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_RELU_FWD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor('z', shape.output()))
      .finalize("a relu");
  return graph_of(handle, {&forward, &add, &relu});
}

// Returns the heuristic's configurations for a graph, the first of them at least.
inline std::vector<Descriptor> configurations(const Descriptor& graph) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A)
      .finalize("a heuristic");
  constexpr std::int64_t most = 16;
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(found.back().raw());
  }
  const std::int64_t count =
      heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  while (static_cast<std::int64_t>(found.size()) > count)
    found.pop_back();
  return found;
}

inline Descriptor plan_by(cudnnHandle_t handle, const Descriptor& configuration) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
      .finalize("a plan");
  return plan;
}

// Returns the first plan of the heuristic that can be made.
inline Descriptor plan_of(cudnnHandle_t handle, const Descriptor& graph) {
  std::string last_words = "the heuristic has no engine";
  for (const Descriptor& configuration : configurations(graph)) {
    try {
      return plan_by(handle, configuration);
    } catch (const std::runtime_error& error) {
      last_words = std::string("no engine of the heuristic: ") + error.what();
    }
  }
  throw std::runtime_error(last_words);
}

// The memory of the tensors with these numbers.
inline Descriptor pack_of(const Integers& tensors, const std::vector<void*>& memory,
                          void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, memory)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .finalize("a variant pack");
  return pack;
}

}  // namespace cudnn_graph
