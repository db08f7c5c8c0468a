#include "nccl/group.hpp"

#include <algorithm>
#include <utility>

namespace simgpu {
namespace {

struct Group {
  int depth = 0;
  ncclResult_t first_error = ncclSuccess;
  std::vector<Operation> operations;
  std::vector<Initialisation> initialisations;
};

Group& group_of_this_thread() {
  thread_local Group group;
  return group;
}

// All join before any waits: one thread may speak for several ranks.
ncclResult_t initialise(const std::vector<Initialisation>& wanted) {
  std::vector<std::unique_ptr<ncclComm>> made;
  for (const Initialisation& each : wanted) {
    auto comm = std::make_unique<ncclComm>();
    comm->driver = nccl_driver();
    comm->rank = each.rank;
    comm->ranks = each.ranks;
    comm->device = each.device;
    comm->context = each.context;
    comm->turns = std::make_shared<Turns>(each.ranks);
    const auto joined = Region::join(each.id, each.ranks, each.rank, comm->region);
    if (joined != ncclSuccess) return joined;
    made.push_back(std::move(comm));
  }
  for (const auto& comm : made) {
    if (const auto result = comm->region->wait_for_all(); result != ncclSuccess) return result;
  }
  for (std::size_t i = 0; i < made.size(); ++i)
    *wanted[i].comm = made[i].release();
  return ncclSuccess;
}

// One launch for each communicator, in the order in which the group met them.
ncclResult_t launch_all(const std::vector<Operation>& operations) {
  std::vector<ncclComm_t> comms;
  for (const Operation& operation : operations) {
    if (std::find(comms.begin(), comms.end(), operation.comm) == comms.end()) {
      comms.push_back(operation.comm);
    }
  }
  for (const ncclComm_t comm : comms) {
    std::vector<Operation> own;
    std::copy_if(operations.begin(), operations.end(), std::back_inserter(own),
                 [&](const Operation& operation) { return operation.comm == comm; });
    if (const auto result = comm->launch(own); result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

// More sends to one peer than a region has room for would overwrite one another.
bool has_room(const std::vector<Operation>& operations, const Operation& next) {
  const auto same = std::count_if(operations.begin(), operations.end(), [&](const Operation& o) {
    return o.comm == next.comm && o.kind == next.kind && o.peer == next.peer;
  });
  return !is_pairwise(next.kind) || static_cast<std::uint64_t>(same) < kPairSlots;
}

}  // namespace

ncclResult_t submit(const Operation& operation) {
  Group& group = group_of_this_thread();
  if (group.depth == 0) return operation.comm->launch({operation});
  if (!has_room(group.operations, operation)) {
    group.first_error = ncclInvalidUsage;
    return fail(ncclInvalidUsage, "more than 64 sends or receives with one peer in a group");
  }
  group.operations.push_back(operation);
  return ncclSuccess;
}

ncclResult_t submit(const Initialisation& initialisation) {
  Group& group = group_of_this_thread();
  if (group.depth == 0) return initialise({initialisation});
  group.initialisations.push_back(initialisation);
  return ncclSuccess;
}

ncclResult_t group_start() {
  ++group_of_this_thread().depth;
  return ncclSuccess;
}

ncclResult_t group_end() {
  Group& group = group_of_this_thread();
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  const Group finished = std::exchange(group, {});
  if (finished.first_error != ncclSuccess) return finished.first_error;
  if (!finished.initialisations.empty()) {
    const auto result = initialise(finished.initialisations);
    if (result != ncclSuccess) return result;
  }
  return launch_all(finished.operations);
}

}  // namespace simgpu
