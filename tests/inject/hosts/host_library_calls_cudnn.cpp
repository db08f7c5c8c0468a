// Convolutions by cuDNN's older functions and by its backend.  --expect STATUS: what each call must
// return.
#include "host.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cudnn.h>
#include <vector>

namespace {

void* memory = nullptr;
constexpr std::size_t kBytes = std::size_t{64} << 20;

// --- the older functions

struct Shape {
  int n, c, h, w, k, r, s, p, q;
  int groups = 1;
  int stride_h = 1;
  int stride_w = 1;
  int pad_h = 0;
  int pad_w = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

class Layer {
 public:
  explicit Layer(const Shape& s) {
    CHECK(cudnnCreateTensorDescriptor(&x_));
    CHECK(cudnnCreateTensorDescriptor(&y_));
    CHECK(cudnnCreateFilterDescriptor(&w_));
    CHECK(cudnnCreateConvolutionDescriptor(&convolution_));
    CHECK(cudnnSetTensor4dDescriptor(x_, s.format, s.type, s.n, s.c, s.h, s.w));
    CHECK(cudnnSetTensor4dDescriptor(y_, s.format, s.type, s.n, s.k, s.p, s.q));
    CHECK(cudnnSetFilter4dDescriptor(w_, s.type, s.format, s.k, s.c / s.groups, s.r, s.s));
    CHECK(cudnnSetConvolution2dDescriptor(convolution_, s.pad_h, s.pad_w, s.stride_h, s.stride_w, 1,
                                          1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    CHECK(cudnnSetConvolutionGroupCount(convolution_, s.groups));
  }

  int forward(cudnnHandle_t handle) const {
    return cudnnConvolutionForward(handle, &one_, x_, memory, w_, memory, convolution_,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, memory, kBytes,
                                   &zero_, y_, memory);
  }
  int backward_data(cudnnHandle_t handle) const {
    return cudnnConvolutionBackwardData(handle, &one_, w_, memory, y_, memory, convolution_,
                                        CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, memory, kBytes, &zero_,
                                        x_, memory);
  }
  int backward_filter(cudnnHandle_t handle) const {
    return cudnnConvolutionBackwardFilter(handle, &one_, x_, memory, y_, memory, convolution_,
                                          CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, memory, kBytes,
                                          &zero_, w_, memory);
  }

 private:
  const float one_ = 1;
  const float zero_ = 0;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

// --- the backend

using Descriptor = cudnnBackendDescriptor_t;

Descriptor make(cudnnBackendDescriptorType_t type) {
  Descriptor made = nullptr;
  CHECK(cudnnBackendCreateDescriptor(type, &made));
  return made;
}

template <typename Value>
void set(Descriptor descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const std::vector<Value>& values) {
  CHECK(cudnnBackendSetAttribute(descriptor, name, type, static_cast<std::int64_t>(values.size()),
                                 values.data()));
}
void integers(Descriptor descriptor, cudnnBackendAttributeName_t name,
              const std::vector<std::int64_t>& values) {
  set(descriptor, name, CUDNN_TYPE_INT64, values);
}
void child(Descriptor descriptor, cudnnBackendAttributeName_t name, Descriptor value) {
  set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector<Descriptor>{value});
}

// Channels last, in half precision.
Descriptor tensor(std::int64_t id, const std::vector<std::int64_t>& dims) {
  Descriptor made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
      std::vector<cudnnDataType_t>{CUDNN_DATA_HALF});
  integers(made, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  integers(made, CUDNN_ATTR_TENSOR_STRIDES,
           {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]});
  integers(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, {id});
  integers(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  CHECK(cudnnBackendFinalize(made));
  return made;
}

struct Plan {
  Descriptor plan;
  Descriptor pack;
};

Plan plan_of(cudnnHandle_t handle, Descriptor operation, const std::vector<std::int64_t>& tensors) {
  Descriptor graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  child(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  CHECK(cudnnBackendFinalize(graph));

  Descriptor heuristic = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  child(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
      std::vector<cudnnBackendHeurMode_t>{CUDNN_HEUR_MODE_A});
  CHECK(cudnnBackendFinalize(heuristic));
  Descriptor configuration = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::int64_t count = 0;
  CHECK(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &configuration));
  Plan made{};
  made.plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(made.plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
      std::vector<cudnnHandle_t>{handle});
  child(made.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  CHECK(cudnnBackendFinalize(made.plan));
  for (Descriptor gone : {operation, graph, heuristic, configuration})
    CHECK(cudnnBackendDestroyDescriptor(gone));

  made.pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  integers(made.pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors);
  set(made.pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
      std::vector<void*>(tensors.size(), memory));
  set(made.pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
      std::vector<void*>{memory});
  CHECK(cudnnBackendFinalize(made.pack));
  return made;
}

// A backward convolution to the data: 8 images of 64 x 28 x 56, 128 filters of 3 x 3, two groups.
Plan make_plan(cudnnHandle_t handle) {
  Descriptor how = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      std::vector<cudnnDataType_t>{CUDNN_DATA_FLOAT});
  set(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
      std::vector<cudnnConvolutionMode_t>{CUDNN_CROSS_CORRELATION});
  integers(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
    integers(how, name, {1, 1});
  CHECK(cudnnBackendFinalize(how));
  Descriptor operation = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, tensor('x', {8, 64, 28, 56}));
  child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, tensor('w', {128, 32, 3, 3}));
  child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, tensor('y', {8, 128, 28, 56}));
  child(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, how);
  CHECK(cudnnBackendFinalize(operation));
  return plan_of(handle, operation, {'x', 'w', 'y'});
}

#if CUDNN_VERSION >= 91300
// 2 sentences of 48 words with 8 heads of 64 numbers; keys of 96 words with 4 heads.
Plan make_attention(cudnnHandle_t handle) {
  Descriptor operation = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  child(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor('q', {2, 8, 48, 64}));
  child(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor('k', {2, 4, 96, 64}));
  child(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor('v', {2, 4, 96, 64}));
  child(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor('o', {2, 8, 48, 64}));
  CHECK(cudnnBackendFinalize(operation));
  return plan_of(handle, operation, {'q', 'k', 'v', 'o'});
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const int expected = host::expected_status(argc, argv);
  const auto expect = [&](int status) {
    if (status != expected) host::fail("a convolution", status);
  };
  host::open_context();
  CUstream stream = host::open_stream();
  memory = host::device_memory(kBytes);
  cudnnHandle_t handle = nullptr;
  CHECK(cudnnCreate(&handle));
  CHECK(cudnnSetStream(handle, reinterpret_cast<cudaStream_t>(stream)));

  const Layer plain({.n = 4, .c = 8, .h = 20, .w = 30, .k = 16, .r = 3, .s = 5, .p = 18, .q = 26});
  const Layer strided({.n = 4,
                       .c = 8,
                       .h = 20,
                       .w = 30,
                       .k = 16,
                       .r = 3,
                       .s = 3,
                       .p = 10,
                       .q = 30,
                       .groups = 2,
                       .stride_h = 2,
                       .stride_w = 1,
                       .pad_h = 1,
                       .pad_w = 1,
                       .format = CUDNN_TENSOR_NHWC,
                       .type = CUDNN_DATA_HALF});
  const Plan plan = make_plan(handle);
#if CUDNN_VERSION >= 91300
  const Plan attention = make_attention(handle);
#endif
  return host::train(30, [&] {
    expect(plain.forward(handle));
    expect(strided.forward(handle));
    expect(plain.backward_data(handle));
    expect(plain.backward_filter(handle));
    expect(cudnnBackendExecute(handle, plan.plan, plan.pack));
#if CUDNN_VERSION >= 91300
    expect(cudnnBackendExecute(handle, attention.plan, attention.pack));
#endif
  });
}
