// Convolutions by cuDNN's older functions and by its backend.  --expect STATUS: what each call must
// return.
#include "cudnn_layer.hpp"
#include "host.hpp"

#include <vector>

namespace {

using namespace cudnn_graph;

constexpr std::size_t kBytes = std::size_t{64} << 20;

struct Plan {
  Plan(cudnnHandle_t handle, const Descriptor& operation, const Integers& tensors, void* memory)
      : plan(plan_of(handle, graph_of(nullptr, {&operation}))),
        pack(pack_of(tensors, std::vector<void*>(tensors.size(), memory), memory)) {}

  [[nodiscard]] int execute(cudnnHandle_t handle) const {
    return cudnnBackendExecute(handle, plan.raw(), pack.raw());
  }

  Descriptor plan;
  Descriptor pack;
};

#if CUDNN_VERSION >= 91300
// 2 sentences of 48 words with 8 heads of 64 numbers; keys of 96 words with 4 heads.
Descriptor attention_operation() {
  Descriptor operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor('q', {2, 8, 48, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor('k', {2, 4, 96, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor('v', {2, 4, 96, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor('o', {2, 8, 48, 64}))
      .finalize("attention");
  return operation;
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
  void* data = host::device_memory(kBytes);
  const LayerMemory memory{data, data, data, data, kBytes};
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
                       .pad = 1,
                       .format = CUDNN_TENSOR_NHWC,
                       .type = CUDNN_DATA_HALF});
  const Plan plan(handle, convolution(kDirections[1], {.groups = 2}), {'x', 'w', 'y'}, data);
#if CUDNN_VERSION >= 91300
  const Plan attention(handle, attention_operation(), {'q', 'k', 'v', 'o'}, data);
#endif
  return host::train(30, [&] {
    expect(plain.forward(handle, memory, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
    expect(strided.forward(handle, memory, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
    expect(plain.backward_data(handle, memory, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
    expect(plain.backward_filter(handle, memory, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
    expect(plan.execute(handle));
#if CUDNN_VERSION >= 91300
    expect(attention.execute(handle));
#endif
  });
}
