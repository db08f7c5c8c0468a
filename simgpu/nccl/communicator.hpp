// A communicator: this rank's place in it, and its launches.
#pragma once

#include "nccl/driver.hpp"
#include "nccl/region.hpp"
#include "nccl/rendezvous.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace simgpu {

[[nodiscard]] inline bool is_pairwise(OperationKind kind) {
  return kind == OperationKind::kSend || kind == OperationKind::kReceive;
}

// Bytes that cross the slowest link if the ranks form a ring: nccl-tests, doc/PERFORMANCE.md, "Bus
// Bandwidth".
[[nodiscard]] double bus_bytes(const Operation& operation, int ranks);

// Mangled, as in the vendor's library: a kernel of its own for sums, and one for all the rest.
[[nodiscard]] std::string kernel_name(const std::vector<Operation>& operations);

}  // namespace simgpu

struct ncclComm {
  const simgpu::NcclDriver* driver = nullptr;
  std::shared_ptr<simgpu::Region> region;
  int rank = 0;
  int ranks = 1;
  CUdevice device = 0;
  CUcontext context = nullptr;
  // Shared with launches that may outlive the communicator.
  std::shared_ptr<std::atomic<bool>> is_aborted = std::make_shared<std::atomic<bool>>(false);

  std::shared_ptr<simgpu::Turns> turns;
  // Launches that graphs have captured.
  std::shared_ptr<std::atomic<int>> persistent_references = std::make_shared<std::atomic<int>>(0);

  std::mutex mutex;  // guards the rest
  struct LoadedKernel {
    CUlibrary library = nullptr;
    CUfunction function = nullptr;
  };
  std::map<std::string, LoadedKernel> kernels;  // loaded when first needed
  std::map<int, double> own_reductions;         // of ncclRedOpCreatePreMulSum, with their factors
  int next_reduction = ncclNumOps;
  int splits = 0;
  bool has_launched = false;
  cudaStream_t last_stream = nullptr;
  cuuint64_t last_capture = 0;  // of that launch; 0: it was not captured

  // One kernel for all of them: what one communicator has in one group.
  ncclResult_t launch(const std::vector<simgpu::Operation>& operations);

  // Until no graph holds a launch; false if one still does after SIMGPU_HANG_LIMIT_S.
  [[nodiscard]] bool wait_for_graphs();

 private:
  struct CaptureOf {
    cuuint64_t id = 0;  // 0: the stream does not capture
    CUgraph graph = nullptr;
  };
  ncclResult_t capture_of(cudaStream_t stream, CaptureOf& capture);
  ncclResult_t order_after_last(cudaStream_t stream, const CaptureOf& capture);
  ncclResult_t keep_until_gone(CUgraph graph);
  CUresult find_kernel(const std::string& name, CUfunction& function);
  ncclResult_t order(cudaStream_t earlier, cudaStream_t later);
  ncclResult_t copy_alone(const std::vector<simgpu::Operation>& operations);
  ncclResult_t launch_kernel(const std::vector<simgpu::Operation>& operations);
};
