// Collectives, sends and receives: argument checks; the group does the rest.
#include "nccl/call.hpp"
#include "nccl/group.hpp"

#include <bit>
#include <cstdint>

using namespace simgpu;

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

ncclResult_t checked(Operation o) {
  if (o.comm == nullptr) return no_communicator();
  ncclComm& comm = *o.comm;
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
}

using Kind = OperationKind;

}  // namespace

SIMGPU_CALL(ncclAllReduce, send, receive, count, type, op, comm, stream) {
  return checked({Kind::kAllReduce, comm, stream, send, receive, count, type, op});
}

SIMGPU_CALL(ncclAllGather, send, receive, count, type, comm, stream) {
  return checked({Kind::kAllGather, comm, stream, send, receive, count, type});
}

SIMGPU_CALL(ncclReduceScatter, send, receive, count, type, op, comm, stream) {
  return checked({Kind::kReduceScatter, comm, stream, send, receive, count, type, op});
}

SIMGPU_CALL(ncclBroadcast, send, receive, count, type, root, comm, stream) {
  return checked({Kind::kBroadcast, comm, stream, send, receive, count, type, ncclSum, root});
}

SIMGPU_CALL(ncclBcast, buffer, count, type, root, comm, stream) {
  return checked({Kind::kBroadcast, comm, stream, buffer, buffer, count, type, ncclSum, root});
}

SIMGPU_CALL(ncclReduce, send, receive, count, type, op, root, comm, stream) {
  return checked({Kind::kReduce, comm, stream, send, receive, count, type, op, root});
}

SIMGPU_CALL(ncclAlltoAll, send, receive, count, type, comm, stream) {
  return checked({Kind::kAllToAll, comm, stream, send, receive, count, type});
}

SIMGPU_CALL(ncclGather, send, receive, count, type, root, comm, stream) {
  return checked({Kind::kGather, comm, stream, send, receive, count, type, ncclSum, root});
}

SIMGPU_CALL(ncclScatter, send, receive, count, type, root, comm, stream) {
  return checked({Kind::kScatter, comm, stream, send, receive, count, type, ncclSum, root});
}

SIMGPU_CALL(ncclSend, send, count, type, peer, comm, stream) {
  return checked({Kind::kSend, comm, stream, send, nullptr, count, type, ncclSum, peer});
}

SIMGPU_CALL(ncclRecv, receive, count, type, peer, comm, stream) {
  return checked({Kind::kReceive, comm, stream, nullptr, receive, count, type, ncclSum, peer});
}

SIMGPU_CALL(ncclRedOpCreatePreMulSum, op, scalar, type, unused, comm) {
  if (comm == nullptr) return no_communicator();
  ncclComm& c = *comm;
  if (op == nullptr || scalar == nullptr || bytes_of(type) == 0) {
    return fail(ncclInvalidArgument, "no scalar");
  }
  const std::lock_guard lock(c.mutex);
  const int made = c.next_reduction++;
  c.own_reductions[made] = number_at(scalar, type);
  *op = static_cast<ncclRedOp_t>(made);
  return ncclSuccess;
}

SIMGPU_CALL(ncclRedOpDestroy, op, comm) {
  if (comm == nullptr) return no_communicator();
  ncclComm& c = *comm;
  const std::lock_guard lock(c.mutex);
  return c.own_reductions.erase(op) == 1
             ? ncclSuccess
             : fail(ncclInvalidArgument, "not made by ncclRedOpCreatePreMulSum");
}

SIMGPU_CALL(ncclGroupStart) {
  return group_start();
}

SIMGPU_CALL(ncclGroupEnd) {
  return group_end();
}
