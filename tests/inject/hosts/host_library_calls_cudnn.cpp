// Attention by cuDNN's backend.  --expect=STATUS: what the call must return.  Convolutions are
// called by tests/gpu/library_calls.py.
#include "cudnn_layer.hpp"
#include "host.hpp"

using namespace cudnn_graph;

#if CUDNN_VERSION >= 91300
int main(int argc, char** argv) {
  const int expected = host::Arguments(argc, argv).number("--expect", 0);
  host::open_context();
  CUstream stream = host::open_stream();
  void* data = host::device_memory(std::size_t{64} << 20);
  cudnnHandle_t handle = nullptr;
  CHECK(cudnnCreate(&handle));
  CHECK(cudnnSetStream(handle, reinterpret_cast<cudaStream_t>(stream)));
  // 2 sentences of 48 words with 8 heads of 64 numbers; keys of 96 words with 4 heads.
  Descriptor operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor('q', {2, 8, 48, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor('k', {2, 4, 96, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor('v', {2, 4, 96, 64}))
      .child(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor('o', {2, 8, 48, 64}))
      .finalize("attention");
  const Descriptor plan = plan_of(handle, graph_of(nullptr, {&operation}));
  const Descriptor pack = pack_of({'q', 'k', 'v', 'o'}, std::vector<void*>(4, data), data);
  return host::train(30, [&] {
    const int status = cudnnBackendExecute(handle, plan.raw(), pack.raw());
    if (status != expected) host::fail("attention", status);
  });
}
#else
int main() {
  host::fail("this cuDNN has no node of attention", CUDNN_VERSION);
}
#endif
