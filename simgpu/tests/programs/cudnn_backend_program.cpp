// The backend API of the simulated cuDNN: descriptors, heuristics, plans; the argument names the
// scene.  `descriptors` makes no handle: its lines are those of cuDNN 9.19 without a GPU.
#include "cudnn_graph.hpp"
#include "scenes.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace cudnn_graph;

constexpr Shape kShape{.height = 56, .groups = 2};

void show(const char* what, cudnnStatus_t status) {
  std::printf("%s %d\n", what, static_cast<int>(status));
}

void print_dims(const char* what, const Descriptor& operation, cudnnBackendAttributeName_t name) {
  std::string text;
  for (const std::int64_t size : operation.read(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR)
                                     .integers_of(CUDNN_ATTR_TENSOR_DIMENSIONS))
    text += " " + std::to_string(size);
  std::printf("%s%s\n", what, text.c_str());
}

// Whether an operation gives its convolution back, and whether that has anything in it.
void show_convolution(const Direction& direction) {
  const Descriptor operation = convolution(direction, kShape);
  const Descriptor found(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = found.raw();
  std::int64_t dimensions = 0, count = 0;
  show(direction.name, cudnnBackendGetAttribute(operation.raw(), direction.convolution,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
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

  const Descriptor x = tensor('x', kShape.image());
  const Descriptor settings = convolution_settings();
  show("two", cudnnBackendGetAttribute(x.raw(), dims_name, CUDNN_TYPE_INT64, 2, &count, dims));
  std::printf("%d: %d %d %d\n", static_cast<int>(count), static_cast<int>(dims[0]),
              static_cast<int>(dims[1]), static_cast<int>(dims[2]));
  show("how many",
       cudnnBackendGetAttribute(x.raw(), dims_name, CUDNN_TYPE_INT64, 0, &count, nullptr));
  std::printf("%d\n", static_cast<int>(count));
  std::int64_t numbers[2] = {};
  show("room for two where one is",
       cudnnBackendGetAttribute(settings.raw(), CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                                CUDNN_TYPE_INT64, 2, &count, numbers));
  bool is_virtual = true;
  CHECK(cudnnBackendGetAttribute(x.raw(), CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                                 &count, &is_virtual));
  std::printf("virtual %d\n", is_virtual ? 1 : 0);
  show("set late", cudnnBackendSetAttribute(x.raw(), dims_name, CUDNN_TYPE_INT64, 3, dims));
  show("twice", cudnnBackendFinalize(x.raw()));

  const Descriptor forward = convolution(kDirections[0], kShape);
  print_dims("x", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  print_dims("w", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  print_dims("y", forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  for (const Direction& direction : kDirections)
    show_convolution(direction);
  Descriptor unlike(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = unlike.raw();
  show("into another type",
       cudnnBackendGetAttribute(forward.raw(), CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  const Descriptor graph = graph_of(nullptr, {&forward});
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  raw = operation.raw();
  show("operations", cudnnBackendGetAttribute(graph.raw(), CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
      .integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0})
      .finalize("an engine");
  const Descriptor found =
      engine.read(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const std::int64_t engines = found.integer_of(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
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

Descriptor pack_for(const Integers& tensors) {
  return pack_of(tensors, std::vector<void*>(tensors.size(), data), data);
}

// Every engine for each direction.
void plans() {
  const Descriptor pack = pack_for({'x', 'w', 'y'});
  for (const Direction& direction : kDirections) {
    const Descriptor operation = convolution(direction, kShape);
    for (const Descriptor& configuration : configurations(graph_of(nullptr, {&operation}))) {
      const Descriptor engine =
          configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      const Descriptor plan = plan_by(handle, configuration);
      std::printf("%s engine %d, workspace %s, %d\n", direction.name,
                  static_cast<int>(engine.integer_of(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)),
                  plan.integer_of(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > 0 ? "needed" : "none",
                  static_cast<int>(cudnnBackendExecute(handle, plan.raw(), pack.raw())));
    }
  }
}

void fused() {
  const auto found = configurations(fused_graph(nullptr, kShape));
  std::printf("%zu engines\n", found.size());
  const Descriptor plan = plan_by(handle, found.front());
  show("without b", cudnnBackendExecute(handle, plan.raw(), pack_for({'x', 'w', 'z'}).raw()));
  show("fused", cudnnBackendExecute(handle, plan.raw(), pack_for({'x', 'w', 'b', 'z'}).raw()));
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
