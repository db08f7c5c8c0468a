// The ways in which HugeCTR, whose inline profiler had these macros first, calls them.
#include <inline_prof/profile.h>

#include <memory>
#include <string>

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace {

class GpuResource {
 public:
  cudaStream_t get_stream() const { return nullptr; }
  int get_device_id() const { return 0; }
};

class Layer {
 public:
  explicit Layer(std::shared_ptr<GpuResource> gpu) : gpu_(std::move(gpu)) {}

  void fprop(bool is_train) {
    PROFILE_RECORD("fused_fully_connected.fprop.start", get_gpu().get_stream());
    PROFILE_RECORD("fused_fully_connected.fprop.cublasGemmEx.start", get_gpu().get_stream(), false);
    if (is_train)
      PROFILE_RECORD("fused_fully_connected.fprop.cublasGemmEx.stop", get_gpu().get_stream(),
                     false);
    PROFILE_RECORD("fused_fully_connected.fprop.stop", get_gpu().get_stream(), true,
                   get_gpu().get_device_id(), std::string("batch 6912"));
  }

  void exchange(unsigned batch) {
    if (PROFILE_RECORD_DATA("inter_node_a2a.data", get_gpu().get_stream())) {
      const std::string data = std::to_string(batch);
      static_cast<void>(data);
      static_cast<void>(PROFILE_RECORD_DATA("inter_node_a2a.data", get_gpu().get_stream(), data,
                                            get_gpu().get_device_id()));
    }
  }

 private:
  const GpuResource& get_gpu() const { return *gpu_; }

  std::shared_ptr<GpuResource> gpu_;
};

}  // namespace

void train(bool use_cuda_graph, bool exit_when_finished);

void train(bool use_cuda_graph, bool exit_when_finished) {
  static_cast<void>(use_cuda_graph);
  static_cast<void>(exit_when_finished);
  INITIALIZE_PROFILER(use_cuda_graph, exit_when_finished);
  Layer layer(std::make_shared<GpuResource>());
  for (int iteration = 0; iteration < 3; ++iteration) {
    PROFILER_ITER_CHECK();
    layer.fprop(iteration > 0);
    layer.exchange(6912);
  }
  PROFILE_UNIT_TEST_START("hybrid_embedding_test");
  layer.fprop(true);
  PROFILE_UNIT_TEST_STOP();
}
