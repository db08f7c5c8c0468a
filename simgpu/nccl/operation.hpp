// What a program asks of a communicator.
#pragma once

#include "nccl/vendor_nccl.hpp"

#include <cstddef>

namespace simgpu {

enum class OperationKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
};

// One call of the host's.
struct Operation {
  OperationKind kind;
  ncclComm_t comm;
  cudaStream_t stream;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // elements, as the call gives them
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0;  // or root
  double factor =
      1;  // of ncclRedOpCreatePreMulSum: what each part is multiplied with, equal on all ranks
};

// 0 for an unknown type.
[[nodiscard]] std::size_t bytes_of(ncclDataType_t type);

}  // namespace simgpu
