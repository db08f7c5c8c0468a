// The backend API of the simulated cuDNN: descriptors, heuristics, plans; the argument names the
// scene.  `descriptors` makes no handle: its lines are those of cuDNN 9.19 without a GPU.
#include "scenes.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <cudnn.h>
#include <string>
#include <vector>

namespace {

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %d\n", what, static_cast<int>(status));
}

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    CHECK(cudnnBackendCreateDescriptor(type, &raw_));
  }
  ~Descriptor() {
    if (raw_ != nullptr) CHECK(cudnnBackendDestroyDescriptor(raw_));
  }
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const std::vector<Value>& values) {
    CHECK(cudnnBackendSetAttribute(raw_, name, type, static_cast<std::int64_t>(values.size()),
                                   values.data()));
    return *this;
  }
  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    CHECK(cudnnBackendSetAttribute(raw_, name, type, 1, &value));
    return *this;
  }
  Descriptor& integers(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& child(cudnnBackendAttributeName_t name, const Descriptor& descriptor) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, descriptor.raw_);
  }
  Descriptor& finalize() {
    CHECK(cudnnBackendFinalize(raw_));
    return *this;
  }
  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }

  // The value of an integer attribute, by name.
  [[nodiscard]] std::int64_t integer(cudnnBackendAttributeName_t name) const {
    std::int64_t value = -1, count = 0;
    CHECK(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value));
    return value;
  }
  // A descriptor that this one refers to.
  [[nodiscard]] Descriptor read(cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type) const {
    Descriptor result(type);
    std::int64_t count = 0;
    CHECK(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                   &result.raw_));
    return result;
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

// Channels last, in half precision.
Descriptor tensor(std::int64_t id, const std::vector<std::int64_t>& dims, bool is_virtual = false) {
  Descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_HALF);
  result.integers(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .integers(CUDNN_ATTR_TENSOR_STRIDES,
                {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]})
      .integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  if (is_virtual) result.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  result.finalize();
  return result;
}

Descriptor convolution() {
  Descriptor result(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  result.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  result.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
             CUDNN_CROSS_CORRELATION);
  result.integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1})
      .integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1})
      .integers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
      .integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1});
  result.finalize();
  return result;
}

struct Direction {
  const char* name;
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, settings;
};
constexpr Direction kDirections[] = {
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
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
};
constexpr const Direction& kForward = kDirections[0];

// 8 images of 64 x 56 x 56, 128 filters of 3 x 3, two groups.
struct Layer {
  Descriptor x = tensor('x', {8, 64, 56, 56});
  Descriptor w = tensor('w', {128, 32, 3, 3});
  Descriptor y;
  Descriptor settings = convolution();

  explicit Layer(bool y_is_virtual = false) : y(tensor('y', {8, 128, 56, 56}, y_is_virtual)) {}

  [[nodiscard]] Descriptor operation(const Direction& direction) const {
    Descriptor result(direction.type);
    result.child(direction.x, x)
        .child(direction.w, w)
        .child(direction.y, y)
        .child(direction.settings, settings);
    return result;
  }
};

Descriptor graph_of(const std::vector<const Descriptor*>& operations) {
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(operations.size());
  for (const Descriptor* operation : operations)
    raw.push_back(operation->raw());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
  graph.finalize();
  return graph;
}

void print_dims(const char* what, const Descriptor& operation, cudnnBackendAttributeName_t name) {
  const Descriptor found = operation.read(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::int64_t dims[8] = {}, count = 0;
  CHECK(cudnnBackendGetAttribute(found.raw(), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 8,
                                 &count, dims));
  std::string text;
  for (std::int64_t i = 0; i < count; ++i)
    text += " " + std::to_string(dims[i]);
  std::printf("%s%s\n", what, text.c_str());
}

// Whether an operation gives its convolution back, and whether that has anything in it.
void show_convolution(const char* what, Descriptor operation, cudnnBackendAttributeName_t name) {
  operation.finalize();
  const Descriptor found(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = found.raw();
  std::int64_t dimensions = 0, count = 0;
  show(what, cudnnBackendGetAttribute(operation.raw(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                      &count, &raw));
  show("in it", cudnnBackendGetAttribute(raw, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                                         1, &count, &dimensions));
}

void descriptors() {
  Descriptor early(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  show("incomplete", cudnnBackendFinalize(early.raw()));
  std::int64_t dims[8] = {1, 2, 3, 4, 5, 6, 7, 8}, count = -1;
  constexpr auto dims_name = CUDNN_ATTR_TENSOR_DIMENSIONS;
  show("get early",
       cudnnBackendGetAttribute(early.raw(), dims_name, CUDNN_TYPE_INT64, 8, &count, dims));
  show("wrong type", cudnnBackendSetAttribute(early.raw(), dims_name, CUDNN_TYPE_FLOAT, 3, dims));
  show("not its own", cudnnBackendSetAttribute(early.raw(), CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                                               CUDNN_TYPE_INT64, 1, dims));
  show("too many", cudnnBackendSetAttribute(early.raw(), CUDNN_ATTR_TENSOR_UNIQUE_ID,
                                            CUDNN_TYPE_INT64, 2, dims));

  const Layer layer;
  const auto* x = &layer.x;
  show("two", cudnnBackendGetAttribute(x->raw(), dims_name, CUDNN_TYPE_INT64, 2, &count, dims));
  std::printf("%d: %d %d %d\n", static_cast<int>(count), static_cast<int>(dims[0]),
              static_cast<int>(dims[1]), static_cast<int>(dims[2]));
  show("how many",
       cudnnBackendGetAttribute(x->raw(), dims_name, CUDNN_TYPE_INT64, 0, &count, nullptr));
  std::printf("%d\n", static_cast<int>(count));
  std::int64_t numbers[2] = {};
  show("room for two where one is",
       cudnnBackendGetAttribute(layer.settings.raw(), CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                                CUDNN_TYPE_INT64, 2, &count, numbers));
  bool is_virtual = true;
  CHECK(cudnnBackendGetAttribute(x->raw(), CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                                 &count, &is_virtual));
  std::printf("virtual %d\n", is_virtual ? 1 : 0);
  show("set late", cudnnBackendSetAttribute(x->raw(), dims_name, CUDNN_TYPE_INT64, 3, dims));
  show("twice", cudnnBackendFinalize(x->raw()));

  Descriptor forward = layer.operation(kForward);
  forward.finalize();
  print_dims("x", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  print_dims("w", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  print_dims("y", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  for (const Direction& direction : kDirections)
    show_convolution(direction.name, layer.operation(direction), direction.settings);
  Descriptor unlike(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = unlike.raw();
  show("into another type",
       cudnnBackendGetAttribute(forward.raw(), CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  const Descriptor graph = graph_of({&forward});
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  raw = operation.raw();
  show("operations", cudnnBackendGetAttribute(graph.raw(), CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
      .integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0})
      .finalize();
  const Descriptor found =
      engine.read(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const std::int64_t engines = found.integer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  std::printf("%s\n", engines > 0 ? "engines" : "no engines");
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
             Descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  show("unfinished child", cudnnBackendFinalize(plan.raw()));
  show("no descriptor", cudnnBackendDestroyDescriptor(nullptr));
  show("unknown",
       cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(60), &raw));
}

cudnnHandle_t handle = nullptr;
void* data = nullptr;

Descriptor pack_of(const std::vector<std::int64_t>& ids) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::vector<void*>(ids.size(), data));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, data);
  pack.finalize();
  return pack;
}

// The heuristic's configurations for a graph.
std::vector<Descriptor> configurations(const Descriptor& graph) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristic.finalize();
  std::int64_t count = 0;
  CHECK(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> results;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    results.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(results.back().raw());
  }
  CHECK(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()));
  return results;
}

Descriptor plan_of(const Descriptor& configuration) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).finalize();
  return plan;
}

// Every engine for each direction.
void plans() {
  const Layer layer;
  const Descriptor pack = pack_of({'x', 'w', 'y'});
  for (const Direction& direction : kDirections) {
    Descriptor operation = layer.operation(direction);
    operation.finalize();
    const Descriptor graph = graph_of({&operation});
    for (const Descriptor& configuration : configurations(graph)) {
      const Descriptor engine =
          configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      const Descriptor plan = plan_of(configuration);
      std::printf("%s engine %d, workspace %s, %d\n", direction.name,
                  static_cast<int>(engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)),
                  plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > 0 ? "needed" : "none",
                  static_cast<int>(cudnnBackendExecute(handle, plan.raw(), pack.raw())));
    }
  }
}

// y = relu(conv(x) + b), the convolution's own output virtual.
void fused() {
  const Layer layer(true);
  const Descriptor b = tensor('b', {1, 128, 1, 1}), sum = tensor('s', {8, 128, 56, 56}, true),
                   z = tensor('z', {8, 128, 56, 56});
  Descriptor forward = layer.operation(kForward);
  forward.finalize();
  const auto pointwise = [](cudnnPointwiseMode_t mode) {
    Descriptor result(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    result.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    result.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    result.finalize();
    return result;
  };
  Descriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  add.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_ADD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, layer.y)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum)
      .finalize();
  Descriptor relu(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  relu.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise(CUDNN_POINTWISE_RELU_FWD))
      .child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum)
      .child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, z)
      .finalize();
  const Descriptor graph = graph_of({&forward, &add, &relu});
  const auto found = configurations(graph);
  std::printf("%zu engines\n", found.size());
  const Descriptor plan = plan_of(found.front());
  show("without b", cudnnBackendExecute(handle, plan.raw(), pack_of({'x', 'w', 'z'}).raw()));
  show("fused", cudnnBackendExecute(handle, plan.raw(), pack_of({'x', 'w', 'b', 'z'}).raw()));
}

}  // namespace

int main(int, char** argv) {
  // Without a handle, so that the vendor's library can do it without a GPU.
  if (play(argv[1], {{"version", [] { std::printf("%zu\n", cudnnGetVersion()); }},
                     {"descriptors", descriptors}}) == 0) {
    return 0;
  }
  CHECK(cudnnCreate(&handle));
  CHECK(cudaMalloc(&data, std::size_t{1} << 28));
  const int status = play(argv[1], {{"plans", plans}, {"fused", fused}});
  CHECK(cudaDeviceSynchronize());
  CHECK(cudnnDestroy(handle));
  return status;
}
