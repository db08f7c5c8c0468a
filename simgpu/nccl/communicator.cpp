#include "nccl/communicator.hpp"

#include "nccl/rendezvous.hpp"
#include "simgpu.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

namespace simgpu {
namespace {

const char* type_name(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:  // sums of signed and unsigned integers are the same
    case ncclUint8:
      return "u8";
    case ncclInt32:
    case ncclUint32:
      return "u32";
    case ncclInt64:
    case ncclUint64:
      return "u64";
    case ncclFloat16:
      return "f16";
    case ncclFloat64:
      return "f64";
    case ncclBfloat16:
      return "bf16";
    case ncclFloat8e4m3:
      return "f8e4m3";
    case ncclFloat8e5m2:
      return "f8e5m2";
    default:
      return "f32";
  }
}

// Without the argument's type, "" if the vendor's library has no kernel of its own for it.
std::string special_kernel(const Operation& operation) {
  const std::string sum = std::string("_Sum_") + type_name(operation.type);
  const bool adds = operation.reduction == ncclSum;
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return adds ? "AllReduce" + sum + "_RING_LL" : "";
    case OperationKind::kReduceScatter:
      return adds ? "ReduceScatter" + sum + "_RING_LL" : "";
    case OperationKind::kReduce:
      return adds ? "Reduce" + sum + "_RING_LL" : "";
    case OperationKind::kAllGather:
      return "AllGather_RING_LL";
    case OperationKind::kBroadcast:
      return "Broadcast_RING_LL";
    default:
      return "SendRecv";
  }
}

// The kernel's code is a PTX text with the name and the simulator's parameter (simgpu.h).
std::string ptx_of(const std::string& name) {
  return "// simulated NCCL\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " +
         name + "(\n  .param .align 8 .b8 simgpu_meeting[48]\n)\n{\n  ret;\n}\n";
}
static_assert(sizeof(simgpu_meeting) == 48);

// More channels for more bytes, as in the vendor's library; the time does not depend on it.
constexpr double kBytesPerChannel = 512.0 * 1024;

unsigned channels_for(double bytes) {
  return static_cast<unsigned>(std::clamp(bytes / kBytesPerChannel, 1.0, 32.0));
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

double bus_bytes(const Operation& operation, int ranks) {
  const double bytes =
      static_cast<double>(operation.count) * static_cast<double>(bytes_of(operation.type));
  const double n = ranks;
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return 2 * (n - 1) / n * bytes;
    case OperationKind::kAllGather:  // `count` is what one rank has
    case OperationKind::kReduceScatter:
    case OperationKind::kAllToAll:
    case OperationKind::kGather:
    case OperationKind::kScatter:
      return (n - 1) * bytes;
    case OperationKind::kBroadcast:
    case OperationKind::kReduce:
    case OperationKind::kSend:
    case OperationKind::kReceive:
      return bytes;
  }
  return bytes;
}

std::string kernel_name(const std::vector<Operation>& operations) {
  std::string kernel = special_kernel(operations.front());
  for (const Operation& operation : operations) {
    if (special_kernel(operation) != kernel) kernel.clear();
  }
  const std::string name = "ncclDevKernel_" + (kernel.empty() ? "Generic" : kernel);
  return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
}

}  // namespace simgpu

using namespace simgpu;

CUresult ncclComm::find_kernel(const std::string& name, CUfunction& function) {
  auto& loaded = kernels[name];
  if (loaded.function == nullptr) {
    CUkernel kernel = nullptr;
    CUresult result = driver->library_load_data(&loaded.library, ptx_of(name).c_str(), nullptr,
                                                nullptr, 0, nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) {
      result = driver->library_get_kernel(&kernel, loaded.library, name.c_str());
    }
    if (result == CUDA_SUCCESS) result = driver->kernel_get_function(&loaded.function, kernel);
    if (result != CUDA_SUCCESS) {
      kernels.erase(name);
      return result;
    }
  }
  function = loaded.function;
  return CUDA_SUCCESS;
}

// Makes later work of `later` begin after the present work of `earlier`.
ncclResult_t ncclComm::order(cudaStream_t earlier, cudaStream_t later) {
  if (earlier == later) return ncclSuccess;
  CUevent event = nullptr;
  CUresult result = driver->event_create(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return result_of(result, "cuEventCreate");
  result = driver->event_record(event, earlier);
  const bool is_gone = result == CUDA_ERROR_INVALID_HANDLE;  // the host has destroyed the stream
  if (result == CUDA_SUCCESS) result = driver->stream_wait_event(later, event, 0);
  driver->event_destroy(event);
  return is_gone ? ncclSuccess : result_of(result, "cuStreamWaitEvent");
}

ncclResult_t ncclComm::capture_of(cudaStream_t stream, CaptureOf& capture) {
  CUstreamCaptureStatus status{};
  const CUresult result = driver->stream_get_capture_info(stream, &status, &capture.id,
                                                          &capture.graph, nullptr, nullptr);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) capture = {};
  return result_of(result, "cuStreamGetCaptureInfo");
}

// Across the boundary of a capture there is no order: an event cannot cross it.
ncclResult_t ncclComm::order_after_last(cudaStream_t stream, const CaptureOf& capture) {
  if (!has_launched || last_capture != capture.id || last_stream == stream) return ncclSuccess;
  CaptureOf of_last;
  // The host may have destroyed the stream, or captures something else in it by now.
  if (capture_of(last_stream, of_last) != ncclSuccess || of_last.id != capture.id) {
    return ncclSuccess;
  }
  return order(last_stream, stream);
}

// NCCL 2.28.9, src/enqueue.cc and src/init.cc: each captured launch is a persistent reference to
// the communicator, which goes with the graph's user object; ncclCommDestroy waits for the last
// one.
ncclResult_t ncclComm::keep_until_gone(CUgraph graph) {
  using Count = std::shared_ptr<std::atomic<int>>;
  auto reference = std::make_unique<Count>(persistent_references);
  const CUhostFn destroy = [](void* data) {
    const std::unique_ptr<Count> gone(static_cast<Count*>(data));
    --**gone;
  };
  CUuserObject object = nullptr;
  CUresult result = driver->user_object_create(&object, reference.get(), destroy, 1,
                                               CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result != CUDA_SUCCESS) return result_of(result, "cuUserObjectCreate");
  ++*persistent_references;
  static_cast<void>(reference.release());  // the object's destructor has it
  result = driver->graph_retain_user_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  return result_of(result, "cuGraphRetainUserObject");
}

// A communicator of one rank: NCCL copies for a collective, and does nothing in place.
ncclResult_t ncclComm::copy_alone(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (is_pairwise(operation.kind) || operation.send == operation.receive) continue;
    const CUresult result =
        driver->copy(reinterpret_cast<CUdeviceptr>(operation.receive),
                     reinterpret_cast<CUdeviceptr>(operation.send),
                     operation.count * bytes_of(operation.type), operation.stream);
    if (result != CUDA_SUCCESS) return result_of(result, "cuMemcpyAsync");
  }
  return ncclSuccess;
}

// NCCL 2.28.9, src/enqueue.cc, taskAppend: what one rank sends to itself goes through a kernel, as
// to any other.
ncclResult_t ncclComm::launch(const std::vector<Operation>& operations) {
  const CurrentContext current(*driver, context);
  if (ranks > 1) return launch_kernel(operations);
  std::vector<Operation> sent;
  std::copy_if(operations.begin(), operations.end(), std::back_inserter(sent),
               [](const Operation& operation) { return is_pairwise(operation.kind); });
  const ncclResult_t copied = copy_alone(operations);
  return copied != ncclSuccess || sent.empty() ? copied : launch_kernel(sent);
}

ncclResult_t ncclComm::launch_kernel(const std::vector<Operation>& operations) {
  const std::lock_guard lock(mutex);

  const cudaStream_t stream = operations.front().stream;
  CaptureOf capture;
  if (const auto result = capture_of(stream, capture); result != ncclSuccess) return result;

  // nccl.h and the NCCL 2.28 guide, "Using multiple streams": the operations of a group start when
  // all their streams are there, and all their streams wait for the end.  Groups of one
  // communicator run one after the other.
  if (const auto result = order_after_last(stream, capture); result != ncclSuccess) return result;
  for (const Operation& operation : operations) {
    if (const auto result = order(operation.stream, stream); result != ncclSuccess) return result;
  }

  std::vector<Appointment> appointments;
  double collective_bytes = 0, sent_bytes = 0, received_bytes = 0;
  std::vector<Operation> collectives;
  for (const Operation& operation : operations) {
    const double bytes = bus_bytes(operation, ranks);
    if (operation.kind == OperationKind::kSend) {
      appointments.push_back({Part::kSend, operation.peer, {operation}});
      sent_bytes += bytes;
    } else if (operation.kind == OperationKind::kReceive) {
      appointments.push_back({Part::kReceive, operation.peer, {operation}});
      received_bytes += bytes;
    } else {
      collectives.push_back(operation);
      collective_bytes += bytes;
    }
  }
  if (!collectives.empty()) appointments.push_back({Part::kCollective, 0, std::move(collectives)});

  // A first use may be captured; loading the code is none of the captured work.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver->exchange_capture_mode(&mode);
  CUfunction function = nullptr;
  CUresult result = find_kernel(kernel_name(operations), function);
  driver->exchange_capture_mode(&mode);
  if (result != CUDA_SUCCESS) return result_of(result, "cuLibraryGetKernel");

  const double bytes = collective_bytes + std::max(sent_bytes, received_bytes);
  if (capture.graph != nullptr) {
    if (const auto result_of_keep = keep_until_gone(capture.graph); result_of_keep != ncclSuccess) {
      return result_of_keep;
    }
  }
  MeetingToLaunch meeting =
      meeting_for({region, turns, is_aborted, rank, ranks}, std::move(appointments),
                  capture.graph == nullptr ? Launches::kOne : Launches::kOfAGraph, bytes);
  // NCCL 2.28.9, src/enqueue.cc: arguments go in a buffer, not one by one.
  std::size_t size = sizeof meeting.contract;
  std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, &meeting.contract,
                             CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  attribute.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  CUlaunchConfig config{};
  config.gridDimX = channels_for(bytes);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 512;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  result = driver->launch_kernel_ex(&config, function, nullptr, extra.data());
  if (result != CUDA_SUCCESS) {
    meeting.drop();
    return result_of(result, "cuLaunchKernelEx");
  }
  has_launched = true;
  last_stream = stream;
  last_capture = capture.id;
  for (const Operation& operation : operations) {
    if (const auto ordered = order(stream, operation.stream); ordered != ncclSuccess) {
      return ordered;
    }
  }
  return ncclSuccess;
}

bool ncclComm::wait_for_graphs() {
  using Clock = std::chrono::steady_clock;
  if (*persistent_references == 0) return true;
  // References of an executable graph that is destroyed go when its last launch has ended.
  const CurrentContext current(*driver, context);
  driver->ctx_synchronize();
  const auto limit =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(process_settings().settings.hang_limit_s));
  while (*persistent_references != 0) {
    if (Clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}
