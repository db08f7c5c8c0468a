// A launch's or kernel node's request is checked and becomes work.
#pragma once

#include "driver/simulator.hpp"

#include <array>
#include <memory>
#include <span>

namespace simgpu {

struct LaunchRequest {
  CUfunction function;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  std::span<CUlaunchAttribute> attributes{};
};

// cuda.h, cuLaunchKernel: a CUkernel may be cast to CUfunction; then the context is `context`.
[[nodiscard]] Function& resolve(Simulator& s, CUfunction handle, Context& context);

// The limits that cuDeviceGetAttribute reports.
void require_block(const std::array<unsigned, 3>& block);

// Checks the request.
[[nodiscard]] KernelWork kernel_work(const Function& function, const LaunchRequest& request);

// Null unless the kernel is a rank's part of a collective (simgpu.h).
[[nodiscard]] std::unique_ptr<simgpu_meeting> meeting_of(const Kernel& kernel,
                                                         const LaunchRequest& request);

// Copies into `work` what a node of a graph keeps: arguments, and the contract of a collective.
void keep_arguments(KernelWork& work, const LaunchRequest& request);

// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may begin before the one before
// it has ended.
[[nodiscard]] bool overlaps(const LaunchRequest& request);

// And the attributes of a launch that `stream` captures.
void keep_attributes(KernelWork& work, const LaunchRequest& request, const Stream& stream);

}  // namespace simgpu
