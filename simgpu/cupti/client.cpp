#include "cupti/client.hpp"

#include "common/entry.hpp"

#include <cstring>
#include <dlfcn.h>

namespace simgpu {
namespace {

bool load(CuptiDriver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find("simgpu_observe", driver.observe) && find("simgpu_host_now_ns", driver.host_now) &&
         find("cuCtxGetId", driver.ctx_get_id) && find("cuStreamGetId", driver.stream_get_id) &&
         find("cuCtxGetCurrent", driver.ctx_get_current) &&
         find("cuCtxSetCurrent", driver.ctx_set_current) &&
         find("cuCtxGetDevice", driver.ctx_get_device);
}

bool names_are_known() {
  return fail_rules_are_known({.prefix = "cupti",
                               .symbol = reinterpret_cast<const void*>(&cuptiGetVersion),
                               .called = "CUPTI"});
}

struct CallId {
  const char* function;
  CUpti_CallbackId id;
};
constexpr std::array kCallIds{
    CallId{"cuLaunchKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    CallId{"cuLaunchKernel_ptsz", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
    CallId{"cuLaunchKernelEx", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
    CallId{"cuLaunchKernelEx_ptsz", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
    CallId{"cuLaunchCooperativeKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
    CallId{"cuLaunchCooperativeKernel_ptsz",
           CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz},
    CallId{"cuGraphLaunch", CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
    CallId{"cuGraphLaunch_ptsz", CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz},
    CallId{"cuModuleUnload", CUPTI_DRIVER_TRACE_CBID_cuModuleUnload},
    CallId{"cuLibraryUnload", CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload},
};

// The vendor's parameter structures; the _ptsz twins have the same members.
union Parameters {
  cuLaunchKernel_params kernel;
  cuLaunchKernelEx_params kernel_ex;
  cuLaunchCooperativeKernel_params cooperative;
  cuGraphLaunch_params graph;
  cuModuleUnload_params module;
  cuLibraryUnload_params library;
};

Parameters parameters_of(CUpti_CallbackId id, const simgpu_api_call& call) {
  auto* function = static_cast<CUfunction>(call.handle);
  auto* stream = static_cast<CUstream>(call.stream);
  Parameters result{};
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      result.kernel = {function,      call.grid[0],    call.grid[1],  call.grid[2],
                       call.block[0], call.block[1],   call.block[2], call.shared_bytes,
                       stream,        call.parameters, call.extra};
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      result.cooperative = {function,      call.grid[0],   call.grid[1],  call.grid[2],
                            call.block[0], call.block[1],  call.block[2], call.shared_bytes,
                            stream,        call.parameters};
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      result.graph = {static_cast<CUgraphExec>(call.handle), stream};
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
      result.module = {static_cast<CUmodule>(call.handle)};
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
      result.library = {static_cast<CUlibrary>(call.handle)};
      break;
    default:
      result.kernel_ex = {static_cast<const CUlaunchConfig*>(call.config), function,
                          call.parameters, call.extra};
  }
  return result;
}

// A line in SIMGPU_LOG for each callback that reaches the client.
void deliver(CUpti_Subscriber_st& subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId id,
             const void* data) {
  static const CuptiEntry entry{"cupti_callback"};
  static_cast<void>(entry.begin());
  subscriber.callback(subscriber.user_data, domain, id, const_cast<void*>(data));
}

CUpti_Subscriber_st* subscriber_to(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!client().enabled[domain][id].load(std::memory_order_acquire)) return nullptr;
  return client().subscriber.load(std::memory_order_acquire);
}

void on_call(const simgpu_api_call* call, int is_exit, int* result, std::uint64_t* data) {
  const CUpti_CallbackId id = call_id(call->function);
  auto* subscriber = subscriber_to(CUPTI_CB_DOMAIN_DRIVER_API, id);
  if (subscriber == nullptr) return;
  const Parameters parameters = parameters_of(id, *call);
  const CUpti_CallbackData told{
      .callbackSite = is_exit != 0 ? CUPTI_API_EXIT : CUPTI_API_ENTER,
      .functionName = call->function,
      .functionParams = &parameters,
      .functionReturnValue = result,  // null at entry: "only valid within the exit callback"
      .symbolName = call->kernel,
      .context = static_cast<CUcontext>(call->context),
      .contextUid = call->context_id,
      .correlationData = data,
      .correlationId = call->correlation_id};
  deliver(*subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id, &told);
}

void on_context(void* context, std::uint32_t, int created) {
  const CUpti_CallbackId id = created != 0 ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                                           : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
  auto* subscriber = subscriber_to(CUPTI_CB_DOMAIN_RESOURCE, id);
  if (subscriber == nullptr) return;
  const CUpti_ResourceData told{.context = static_cast<CUcontext>(context),
                                .resourceHandle = {.stream = nullptr},
                                .resourceDescriptor = nullptr};
  deliver(*subscriber, CUPTI_CB_DOMAIN_RESOURCE, id, &told);
}

void on_stream(void* context, void* stream) {
  const CUpti_CallbackId id = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;
  auto* subscriber = subscriber_to(CUPTI_CB_DOMAIN_RESOURCE, id);
  if (subscriber == nullptr) return;
  const CUpti_ResourceData told{.context = static_cast<CUcontext>(context),
                                .resourceHandle = {.stream = static_cast<CUstream>(stream)},
                                .resourceDescriptor = nullptr};
  deliver(*subscriber, CUPTI_CB_DOMAIN_RESOURCE, id, &told);
}

void on_kernel(const simgpu_kernel_run* run) {
  if (!client().collects_kernels.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(client().mutex);
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.registersPerThread = static_cast<std::uint16_t>(run->registers);
  record.start = static_cast<std::uint64_t>(run->begin_ns + kClockOffsetNs);
  record.end = static_cast<std::uint64_t>(run->end_ns + kClockOffsetNs);
  record.deviceId = run->device;
  record.contextId = run->context_id;
  record.streamId = run->stream_id;
  record.gridX = static_cast<std::int32_t>(run->grid[0]);
  record.gridY = static_cast<std::int32_t>(run->grid[1]);
  record.gridZ = static_cast<std::int32_t>(run->grid[2]);
  record.blockX = static_cast<std::int32_t>(run->block[0]);
  record.blockY = static_cast<std::int32_t>(run->block[1]);
  record.blockZ = static_cast<std::int32_t>(run->block[2]);
  record.staticSharedMemory = run->static_shared_bytes;
  record.dynamicSharedMemory = static_cast<std::int32_t>(run->dynamic_shared_bytes);
  record.correlationId = run->correlation_id;
  record.graphNodeId = run->in_graph != 0 ? 1 : 0;
  record.name = client().names.insert(run->kernel).first->c_str();
  client().records.push_back(record);
}

constexpr simgpu_observer kObserver{
    .call = &on_call, .context = &on_context, .stream = &on_stream, .kernel = &on_kernel};

}  // namespace

const CuptiDriver* cupti_driver() {
  static CuptiDriver driver;
  static const bool usable = load(driver) && names_are_known();
  return usable ? &driver : nullptr;
}

Client& client() {
  static auto* const the_client = new Client;  // outlives exit handlers
  return *the_client;
}

void observe_if_needed() {
  const bool needed = client().subscriber.load() != nullptr || client().collects_kernels.load();
  cupti_driver()->observe(needed ? &kObserver : nullptr);
}

std::size_t callback_ids(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    default:
      return 0;
  }
}

CUpti_CallbackId call_id(const char* function) {
  for (const auto& [name, id] : kCallIds) {
    if (std::strcmp(name, function) == 0) return id;
  }
  return CUPTI_DRIVER_TRACE_CBID_INVALID;
}

const char* call_name(CUpti_CallbackId id) {
  for (const auto& [name, known] : kCallIds) {
    if (known == id) return name;
  }
  return nullptr;
}

}  // namespace simgpu
