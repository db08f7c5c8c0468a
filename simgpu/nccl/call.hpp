// Every exported function of the simulated NCCL logs and fails in the same way.
#pragma once

#include "common/exported.hpp"
#include "nccl/driver.hpp"

#include <exception>

namespace simgpu {

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

inline ncclResult_t no_communicator() {
  return fail(ncclInvalidArgument, "the communicator is null");
}

// The same for functions of a communicator.
template <typename Body>
ncclResult_t with_comm(const NcclEntry& entry, ncclComm_t comm, Body&& body) noexcept {
  return nccl_call(entry, [&]() -> ncclResult_t {
    if (comm == nullptr) return no_communicator();
    return body(*comm);
  });
}

}  // namespace simgpu

// SIMGPU_CALL(symbol, names of the parameters...) { body }
#define SIMGPU_CALL(symbol, ...) \
  SIMGPU_EXPORTED(ncclResult_t, ncclResult_t, NcclEntry, nccl_call, symbol, __VA_ARGS__)
// SIMGPU_COMM_CALL(symbol, names of the parameters behind the communicator...) { body }, which has
// it as `c`.
#define SIMGPU_COMM_CALL(symbol, ...) \
  SIMGPU_EXPORTED_WITH(ncclComm, c, ncclResult_t, NcclEntry, with_comm, symbol, __VA_ARGS__)
