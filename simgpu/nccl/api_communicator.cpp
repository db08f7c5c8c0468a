// Communicators: made, asked, ended.
#include "common/code_texts.hpp"
#include "nccl/call.hpp"
#include "nccl/group.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

using namespace simgpu;

namespace {

// The context that this thread works in; as the runtime inside the vendor's library does, the
// primary one of device 0 where there is none.
ncclResult_t use_current_device(const NcclDriver& driver, CUdevice& device, CUcontext& context) {
  CUresult result = driver.ctx_get_current(&context);
  if (result == CUDA_SUCCESS && context == nullptr) {
    result = driver.primary_ctx_retain(&context, 0);
    if (result == CUDA_SUCCESS) result = driver.ctx_set_current(context);
  }
  if (result == CUDA_SUCCESS) result = driver.ctx_get_device(&device);
  return result_of(result, "cuCtxGetDevice");
}

ncclResult_t initialise(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank) {
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks) {
    return fail(ncclInvalidArgument, "rank or number of ranks out of range");
  }
  const NcclDriver* driver = nccl_driver();
  if (driver == nullptr) return fail(ncclUnhandledCudaError, "no simulated driver");
  Initialisation wanted{
      .comm = comm, .id = id, .ranks = ranks, .rank = rank, .device = 0, .context = nullptr};
  const auto used = use_current_device(*driver, wanted.device, wanted.context);
  return used == ncclSuccess ? submit(wanted) : used;
}

void end(ncclComm_t comm) {
  comm->region->leave(comm->rank);
  {
    const CurrentContext current(*comm->driver, comm->context);
    // After a device reset the code is gone already: the results do not matter.
    for (const auto& [name, kernel] : comm->kernels)
      comm->driver->library_unload(kernel.library);
  }
  delete comm;
}

}  // namespace

SIMGPU_CALL(ncclGetVersion, version) {
  if (version == nullptr) return fail(ncclInvalidArgument, "version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

SIMGPU_CALL(ncclGetUniqueId, id) {
  if (id == nullptr) return fail(ncclInvalidArgument, "uniqueId is null");
  *id = new_unique_id();
  return ncclSuccess;
}

SIMGPU_CALL(ncclCommInitRank, comm, ranks, id, rank) {
  return initialise(comm, ranks, id, rank);
}

// A communicator is always a blocking one here, which the configuration cannot be told from.
SIMGPU_CALL(ncclCommInitRankConfig, comm, ranks, id, rank, unused) {
  return initialise(comm, ranks, id, rank);
}

SIMGPU_CALL(ncclCommInitAll, comms, devices, list) {
  const NcclDriver* driver = nccl_driver();
  if (driver == nullptr) return fail(ncclUnhandledCudaError, "no simulated driver");
  if (comms == nullptr || devices < 1) return fail(ncclInvalidArgument, "no communicators");
  const ncclUniqueId id = new_unique_id();
  ncclResult_t result = group_start();
  for (int rank = 0; result == ncclSuccess && rank < devices; ++rank) {
    Initialisation wanted{.comm = comms + rank,
                          .id = id,
                          .ranks = devices,
                          .rank = rank,
                          .device = list == nullptr ? rank : list[rank],
                          .context = nullptr};
    result = result_of(driver->primary_ctx_retain(&wanted.context, wanted.device),
                       "cuDevicePrimaryCtxRetain");
    if (result == ncclSuccess) result = submit(wanted);
  }
  const ncclResult_t ended = group_end();
  return result == ncclSuccess ? ended : result;
}

// The ranks tell each other their colours in a file of their own: those of one colour are a
// communicator, in the order of their keys.
SIMGPU_COMM_CALL(ncclCommSplit, color, key, newcomm, unused) {
  if (newcomm == nullptr) return fail(ncclInvalidArgument, "newcomm is null");
  const std::string part = "-" + std::to_string(c.splits++);
  std::shared_ptr<Region> region;
  ncclResult_t result = Region::join(c.region->name_of_part(part), c.ranks, c.rank, region);
  if (result != ncclSuccess) return result;
  std::vector<std::byte> mine(2 * sizeof(int));
  std::memcpy(mine.data(), &color, sizeof color);
  std::memcpy(mine.data() + sizeof color, &key, sizeof key);
  region->lay_down(region->collective(c.rank, 0), mine);
  region->collective(c.rank, 0).post(0, 0);
  result = region->wait_for_all();
  std::vector<std::array<int, 2>> members;  // key, rank
  for (int rank = 0; result == ncclSuccess && rank < c.ranks; ++rank) {
    const Beginning& theirs = region->collective(rank, 0);
    while (!theirs.has_begun(0))
      std::this_thread::yield();
    std::array<int, 2> of_rank{};
    if (!region->read(theirs, mine)) return fail(ncclSystemError, "a rank's colour is not there");
    std::memcpy(of_rank.data(), mine.data(), sizeof of_rank);
    if (of_rank[0] == color) members.push_back({of_rank[1], rank});
  }
  *newcomm = nullptr;
  if (result != ncclSuccess || color == NCCL_SPLIT_NOCOLOR) return result;
  std::sort(members.begin(), members.end());
  const auto own = std::find(members.begin(), members.end(), std::array<int, 2>{key, c.rank});
  return initialise(newcomm, static_cast<int>(members.size()),
                    c.region->name_of_part(part + "-" + std::to_string(color)),
                    static_cast<int>(own - members.begin()));
}

SIMGPU_COMM_CALL(ncclCommFinalize) {
  c.region->leave(c.rank);
  return ncclSuccess;
}

// Launches that are still in a stream keep what they need.  Launches in a graph are waited for: the
// vendor's library spins until the last graph with one has gone.
SIMGPU_COMM_CALL(ncclCommDestroy) {
  if (!c.wait_for_graphs()) {
    std::fprintf(stderr,
                 "simgpu: ncclCommDestroy has waited %g s for graphs with launches of the "
                 "communicator; the vendor's library would hang\n",
                 process_settings().settings.hang_limit_s);
    return fail(ncclInternalError, "a graph still holds launches of the communicator");
  }
  end(&c);
  return ncclSuccess;
}

// nccl.h: "Frees resources associated with communicator object and aborts any operations that might
// still be running on the device."
SIMGPU_COMM_CALL(ncclCommAbort) {
  c.is_aborted->store(true);
  end(&c);
  return ncclSuccess;
}

SIMGPU_COMM_CALL(ncclCommGetAsyncError, error) {
  if (error == nullptr) return fail(ncclInvalidArgument, "asyncError is null");
  *error = c.region->has_lost_a_rank() ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

#define SIMGPU_GET(symbol, name, value)                                        \
  SIMGPU_COMM_CALL(symbol, name) {                                             \
    if ((name) == nullptr) return fail(ncclInvalidArgument, #name " is null"); \
    *(name) = (value);                                                         \
    return ncclSuccess;                                                        \
  }
SIMGPU_GET(ncclCommCount, count, c.ranks)
SIMGPU_GET(ncclCommCuDevice, device, c.device)
SIMGPU_GET(ncclCommUserRank, rank, c.rank)

// Transfers of registered buffers take no less time here: there is nothing to remember.
SIMGPU_COMM_CALL(ncclCommRegister, buffer, size, handle) {
  if (buffer == nullptr || size == 0) return fail(ncclInvalidArgument, "no buffer to register");
  if (handle == nullptr) return fail(ncclInvalidArgument, "handle is null");
  *handle = buffer;
  return ncclSuccess;
}

SIMGPU_COMM_CALL(ncclCommDeregister, handle) {
  return ncclSuccess;
}

SIMGPU_CALL(ncclMemAlloc, pointer, size) {
  const NcclDriver* driver = nccl_driver();
  if (driver == nullptr) return fail(ncclUnhandledCudaError, "no simulated driver");
  if (pointer == nullptr || size == 0) return fail(ncclInvalidArgument, "nothing to allocate");
  CUdeviceptr address = 0;
  const CUresult result = driver->allocate(&address, size);
  *pointer = reinterpret_cast<void*>(address);
  return result_of(result, "cuMemAlloc");
}

SIMGPU_CALL(ncclMemFree, pointer) {
  const NcclDriver* driver = nccl_driver();
  if (driver == nullptr) return fail(ncclUnhandledCudaError, "no simulated driver");
  if (pointer == nullptr) return ncclSuccess;
  return result_of(driver->release(reinterpret_cast<CUdeviceptr>(pointer)), "cuMemFree");
}

const char* ncclGetErrorString(ncclResult_t result) {
  static constexpr CodeText<ncclResult_t> texts[] = {
      SIMGPU_CODE(ncclSuccess, "no error"),
      SIMGPU_CODE(ncclUnhandledCudaError, "a call of the driver failed"),
      SIMGPU_CODE(ncclSystemError, "the operating system failed, or a rank did not come"),
      SIMGPU_CODE(ncclInternalError, "internal error"),
      SIMGPU_CODE(ncclInvalidArgument, "invalid argument"),
      SIMGPU_CODE(ncclInvalidUsage, "invalid usage"),
      SIMGPU_CODE(ncclRemoteError, "a rank has gone"),
      SIMGPU_CODE(ncclInProgress, "in progress"),
  };
  const auto* known = find_code(texts, result);
  return known == nullptr ? "unknown result code" : known->text;
}

const char* ncclGetLastError(ncclComm_t) {
  return last_failure();
}
