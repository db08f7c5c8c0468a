#include "measure/cudnn_engines.hpp"

#include "measure/dynamic_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace inline_prof::measure {
namespace {

constexpr std::int64_t kAlignment = 256;  // of Gpu::take
constexpr std::array<std::int64_t, 3> kTensorIds{'x', 'w', 'y'};

struct BackendFunctions {
  DynamicLibrary library{"libcudnn.so.9", "libcudnn.so.8"};
  decltype(cudnnBackendCreateDescriptor)* create = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy = nullptr;
  decltype(cudnnBackendSetAttribute)* set = nullptr;
  decltype(cudnnBackendGetAttribute)* get = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;
  decltype(cudnnBackendExecute)* execute = nullptr;
  decltype(cudnnGetErrorString)* error_string = nullptr;

  BackendFunctions() {
    library.find(create, "cudnnBackendCreateDescriptor");
    library.find(destroy, "cudnnBackendDestroyDescriptor");
    library.find(set, "cudnnBackendSetAttribute");
    library.find(get, "cudnnBackendGetAttribute");
    library.find(finalize, "cudnnBackendFinalize");
    library.find(execute, "cudnnBackendExecute");
    library.find(error_string, "cudnnGetErrorString");
  }
  void require(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw Skipped(fmt::format("{} answers {}", what, error_string(status)));
  }
};

class Descriptor {
 public:
  Descriptor(const BackendFunctions& functions, cudnnBackendDescriptorType_t type)
      : functions_(functions) {
    functions_.require(functions_.create(type, &handle_), "cudnnBackendCreateDescriptor");
  }
  ~Descriptor() { functions_.destroy(handle_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] cudnnBackendDescriptor_t handle() const { return handle_; }

  template <typename Value, std::size_t kCount>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const std::array<Value, kCount>& values) {
    functions_.require(functions_.set(handle_, name, type, kCount, values.data()),
                       "cudnnBackendSetAttribute");
    return *this;
  }
  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    return set(name, type, std::array<Value, 1>{value});
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& child) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, child.handle_);
  }
  template <std::size_t kCount>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::array<std::int64_t, kCount>& many) {
    return set(name, CUDNN_TYPE_INT64, many);
  }
  void finalize(const char* what) { functions_.require(functions_.finalize(handle_), what); }

  [[nodiscard]] std::int64_t integer(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0;
    std::int64_t count = 0;
    functions_.require(functions_.get(handle_, name, CUDNN_TYPE_INT64, 1, &count, &value),
                       "cudnnBackendGetAttribute");
    return value;
  }

 private:
  const BackendFunctions& functions_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Of dimensions n, c, h, w.
std::array<std::int64_t, 4> strides_of(const std::array<std::int64_t, 4>& sizes,
                                       bool channels_last) {
  const auto [n, c, h, w] = sizes;
  if (channels_last) return {c * h * w, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

// Everything that a plan refers to, in the order in which it is made.
struct Plan {
  BackendFunctions functions;
  Descriptor input{functions, CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Descriptor filter{functions, CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Descriptor output{functions, CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Descriptor convolution{functions, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Descriptor operation{functions, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  Descriptor graph{functions, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  Descriptor engine{functions, CUDNN_BACKEND_ENGINE_DESCRIPTOR};
  Descriptor config{functions, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
  Descriptor plan{functions, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  Descriptor pack{functions, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};

  void make_graph(cudnnHandle_t handle, const EngineConvolution& wanted) {
    make_tensor(input, wanted.input, wanted, kTensorIds[0]);
    make_tensor(filter, wanted.filter, wanted, kTensorIds[1]);
    make_tensor(output, wanted.output, wanted, kTensorIds[2]);
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, wanted.dilation)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, wanted.stride)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, wanted.pad)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, wanted.pad)
        .finalize("the convolution");
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, output)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F)
        .finalize("the operation");
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
        .finalize("the operation graph");
  }

  // The bytes of workspace that it needs.
  std::int64_t make_plan(cudnnHandle_t handle, std::int64_t number) {
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number)
        .finalize("this engine");
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).finalize("this engine's configuration");
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .finalize("this engine's plan");
    return plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  }

  void make_pack(const EngineConvolution& wanted, void* workspace) {
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kTensorIds)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             std::array<void*, 3>{wanted.input_data, wanted.filter_data, wanted.output_data})
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
        .finalize("the tensors' addresses");
  }

 private:
  static void make_tensor(Descriptor& tensor, const std::array<std::int64_t, 4>& sizes,
                          const EngineConvolution& wanted, std::int64_t id) {
    tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, wanted.type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides_of(sizes, wanted.channels_last))
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment)
        .finalize("a tensor");
  }
};

}  // namespace

Work engine_work(cudnnHandle_t handle, Gpu& gpu, const EngineConvolution& convolution,
                 std::int64_t engine) {
  const auto plan = std::make_shared<Plan>();
  plan->make_graph(handle, convolution);
  const std::int64_t count = plan->graph.integer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  if (engine >= count) throw Skipped("cuDNN has no engine of this number for this convolution");
  const std::int64_t workspace_bytes = plan->make_plan(handle, engine);
  plan->make_pack(convolution,
                  gpu.take(static_cast<std::size_t>(std::max<std::int64_t>(workspace_bytes, 1))));
  return {.run =
              [plan, handle](cudaStream_t) {
                plan->functions.require(
                    plan->functions.execute(handle, plan->plan.handle(), plan->pack.handle()),
                    "the engine");
              },
          .library = {}};
}

}  // namespace inline_prof::measure
