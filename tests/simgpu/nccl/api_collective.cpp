// Collectives, sends and receives: argument checks; the group does the rest.
#include "nccl/call.hpp"
#include "nccl/group.hpp"

#include <bit>
#include <cstdint>

using namespace inline_prof::simgpu;

namespace {

bool uses_reduction(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kReduceScatter ||
         kind == OperationKind::kReduce;
}

bool reads(const Operation& o) {
  switch (o.kind) {
    case OperationKind::kReceive:
      return false;
    case OperationKind::kBroadcast:
    case OperationKind::kScatter:
      return o.comm->rank == o.peer;
    default:
      return true;
  }
}

bool writes(const Operation& o) {
  switch (o.kind) {
    case OperationKind::kSend:
      return false;
    case OperationKind::kReduce:
    case OperationKind::kGather:
      return o.comm->rank == o.peer;
    default:
      return true;
  }
}

// Types of which programs make factors; others count as 1.
double number_at(const void* at, ncclDataType_t type) {
  if (type == ncclFloat32) return *static_cast<const float*>(at);
  if (type == ncclFloat64) return *static_cast<const double*>(at);
  if (type == ncclBfloat16) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(*static_cast<const std::uint16_t*>(at))
                                << 16);
  }
  return 1;
}

ncclResult_t checked(const NcclEntry& entry, Operation o) {
  return with_comm(entry, o.comm, [&](ncclComm& comm) -> ncclResult_t {
    if (bytes_of(o.type) == 0) return fail(ncclInvalidArgument, "unknown data type");
    if (o.peer < 0 || o.peer >= comm.ranks) {
      return fail(ncclInvalidArgument, "root or peer out of range");
    }
    if (uses_reduction(o.kind) && (o.reduction < ncclSum || o.reduction >= ncclNumOps)) {
      const std::lock_guard lock(comm.mutex);
      const auto own = comm.own_reductions.find(o.reduction);
      if (own == comm.own_reductions.end()) return fail(ncclInvalidArgument, "unknown reduction");
      o.reduction = ncclSum;
      o.factor = own->second;
    }
    if (o.count == 0) return ncclSuccess;
    if ((reads(o) && o.send == nullptr) || (writes(o) && o.receive == nullptr)) {
      return fail(ncclInvalidArgument, "a buffer is null");
    }
    return submit(o);
  });
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kAllReduce,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .reduction = op,
                         .stream = stream});
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kAllGather,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .stream = stream});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kReduceScatter,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .reduction = op,
                         .stream = stream});
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kBroadcast,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .peer = root,
                         .stream = stream});
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kBroadcast,
                         .comm = comm,
                         .send = buffer,
                         .receive = buffer,
                         .count = count,
                         .type = type,
                         .peer = root,
                         .stream = stream});
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kReduce,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .reduction = op,
                         .peer = root,
                         .stream = stream});
}

ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kAllToAll,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .stream = stream});
}

ncclResult_t ncclGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kGather,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .peer = root,
                         .stream = stream});
}

ncclResult_t ncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kScatter,
                         .comm = comm,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .peer = root,
                         .stream = stream});
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kSend,
                         .comm = comm,
                         .send = send,
                         .count = count,
                         .type = type,
                         .peer = peer,
                         .stream = stream});
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  static const NcclEntry entry{__func__};
  return checked(entry, {.kind = OperationKind::kReceive,
                         .comm = comm,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .peer = peer,
                         .stream = stream});
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t comm) {
  static const NcclEntry entry{__func__};
  return with_comm(entry, comm, [&](ncclComm& c) {
    if (op == nullptr || scalar == nullptr || bytes_of(type) == 0) {
      return fail(ncclInvalidArgument, "no scalar");
    }
    const std::lock_guard lock(c.mutex);
    const int made = c.next_reduction++;
    c.own_reductions[made] = number_at(scalar, type);
    *op = static_cast<ncclRedOp_t>(made);
    return ncclSuccess;
  });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  static const NcclEntry entry{__func__};
  return with_comm(entry, comm, [&](ncclComm& c) {
    const std::lock_guard lock(c.mutex);
    return c.own_reductions.erase(op) == 1
               ? ncclSuccess
               : fail(ncclInvalidArgument, "not made by ncclRedOpCreatePreMulSum");
  });
}

ncclResult_t ncclGroupStart() {
  static const NcclEntry entry{__func__};
  return nccl_call(entry, [] { return group_start(); });
}

ncclResult_t ncclGroupEnd() {
  static const NcclEntry entry{__func__};
  return nccl_call(entry, [] { return group_end(); });
}

}  // extern "C"
