// The part of nccl.h that is used here: a CUDA installation need not have NCCL's headers.
// Values and signatures: NVIDIA Collective Communication Library 2.28, "API" (types.html,
// api/colls.html, api/comms.html, api/group.html, api/p2p.html).  Handles are void*, enumerations
// int: the ABI passes both alike.
#pragma once

#include <array>
#include <cstddef>

namespace inline_prof::libraries::nccl {

// ncclResult_t
inline constexpr int kSuccess = 0;
inline constexpr int kInternalError = 3;

// ncclUniqueId, passed by value; NCCL_UNIQUE_ID_BYTES.
struct UniqueId {
  std::array<char, 128> bytes;
};

// ncclDataType_t.  `type` is null where prof.json has no name for it; the size is known.
struct DataType {
  const char* type;
  std::size_t bytes;
};
inline constexpr std::array<DataType, 12> kDataTypes{{{"i8", 1},
                                                      {nullptr, 1},  // ncclUint8
                                                      {"i32", 4},
                                                      {nullptr, 4},  // ncclUint32
                                                      {"i64", 8},
                                                      {nullptr, 8},  // ncclUint64
                                                      {"f16", 2},
                                                      {"f32", 4},
                                                      {"f64", 8},
                                                      {"bf16", 2},
                                                      {"f8e4m3", 1},
                                                      {"f8e5m2", 1}}};

using AllReduce = int(const void* send, void* receive, std::size_t count, int type, int operation,
                      void* comm, void* stream);
using AllGather = int(const void* send, void* receive, std::size_t count, int type, void* comm,
                      void* stream);
using ReduceScatter = AllReduce;
using Broadcast = int(const void* send, void* receive, std::size_t count, int type, int root,
                      void* comm, void* stream);
using Bcast = int(void* buffer, std::size_t count, int type, int root, void* comm, void* stream);
using Reduce = int(const void* send, void* receive, std::size_t count, int type, int operation,
                   int root, void* comm, void* stream);
using AlltoAll = AllGather;
using Gather = Broadcast;
using Scatter = Broadcast;
using Send = int(const void* send, std::size_t count, int type, int peer, void* comm, void* stream);
using Recv = int(void* receive, std::size_t count, int type, int peer, void* comm, void* stream);

using GroupStart = int();
using GroupEnd = int();

using CommInitRank = int(void** comm, int ranks, UniqueId id, int rank);
using CommInitRankConfig = int(void** comm, int ranks, UniqueId id, int rank, void* config);
using CommInitRankScalable = int(void** comm, int ranks, int rank, int ids, UniqueId* first_id,
                                 void* config);
using CommInitAll = int(void** comms, int devices, const int* list);
using CommSplit = int(void* comm, int color, int key, void** split, void* config);
using CommDestroy = int(void* comm);
using CommAbort = int(void* comm);
using CommCount = int(const void* comm, int* count);

}  // namespace inline_prof::libraries::nccl
