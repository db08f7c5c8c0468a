// What every exported function of the simulated NCCL does around its own work.
#pragma once

#include "nccl/driver.hpp"

#include <exception>

namespace inline_prof::simgpu {

// Logs the call and lets it fail if SIMGPU_FAIL says so, else runs `body()`.
template <typename Body>
ncclResult_t nccl_call(const NcclEntry& entry, Body&& body) noexcept {
  if (const int injected = entry.begin(); injected != 0) {
    return static_cast<ncclResult_t>(injected);
  }
  try {
    return body();
  } catch (const std::exception&) {  // out of memory
    return ncclSystemError;
  }
}

// The same for functions of a communicator.
template <typename Body>
ncclResult_t with_comm(const NcclEntry& entry, ncclComm_t comm, Body&& body) noexcept {
  return nccl_call(entry, [&]() -> ncclResult_t {
    if (comm == nullptr) return fail(ncclInvalidArgument, "the communicator is null");
    return body(*comm);
  });
}

}  // namespace inline_prof::simgpu
