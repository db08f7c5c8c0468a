// Groups: what a thread collects between ncclGroupStart and ncclGroupEnd.
#pragma once

#include "nccl/communicator.hpp"

#include <functional>
#include <vector>

namespace simgpu {

// A communicator that is being made; `comm` is the host's variable.
struct Initialisation {
  ncclComm_t* comm;
  ncclUniqueId id;
  int ranks;
  int rank;
  CUdevice device;
  CUcontext context;
};

// Now, or at the end of the group that this thread is in.
ncclResult_t submit(const Operation& operation);
ncclResult_t submit(const Initialisation& initialisation);

[[nodiscard]] ncclResult_t group_start();
[[nodiscard]] ncclResult_t group_end();

}  // namespace simgpu
