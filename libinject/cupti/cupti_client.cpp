#include "cupti/cupti_client.hpp"

#include "hook/driver_functions.hpp"
#include "hook/guard.hpp"
#include "hook/launch.hpp"
#include "hook/observer.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/launch_filter.hpp"
#include "record/run_record.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "sys/original_dlsym.hpp"
#include "sys/quiet_thread.hpp"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace inline_prof::cupti {
namespace {

// The functions of CUPTI that we call, found at run time: CUPTI is never linked.

#define INLINE_PROF_CUPTI_FUNCTIONS(X) \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiGetVersion)                   \
  X(cuptiGetResultString)              \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords)

struct CuptiApi {
#define INLINE_PROF_MEMBER(function) \
  decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses): a name
  INLINE_PROF_CUPTI_FUNCTIONS(INLINE_PROF_MEMBER)
#undef INLINE_PROF_MEMBER
#if CUPTI_API_VERSION >= 130000
  decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 = nullptr;  // may be absent
#endif
};

// The newest first. A CUPTI that is newer than the driver reports it on subscription.
constexpr std::array kSonames{"libcupti.so.13", "libcupti.so.12"};

constinit CuptiApi cupti_functions;

void* open_library() {
  for (const int loading : {RTLD_NOLOAD, 0}) {
    for (const char* soname : kSonames) {
      // An application without CUPTI must not see our failed look-up in dlerror().
      if (void* library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | loading)) return library;
      dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
    }
  }
  return nullptr;
}

// Uses the CUPTI that the application has loaded, else loads one by its soname.  Returns an empty
// string, or the reason of failure.
std::string load_cupti() {
  void* library = open_library();  // stays open: callbacks may come until the process ends
  if (library == nullptr) {
    return "neither libcupti.so.13 nor libcupti.so.12 can be loaded: the folder of the toolkit's "
           "CUPTI must be on LD_LIBRARY_PATH";
  }
#define INLINE_PROF_FIND(function)                                                 \
  cupti_functions.function = reinterpret_cast<decltype(cupti_functions.function)>( \
      sys::glibc_dlsym()(library, #function));                                     \
  if (cupti_functions.function == nullptr) return #function " is not in libcupti";
  INLINE_PROF_CUPTI_FUNCTIONS(INLINE_PROF_FIND)
#undef INLINE_PROF_FIND
#if CUPTI_API_VERSION >= 130000
  cupti_functions.cuptiSubscribe_v2 = reinterpret_cast<decltype(cupti_functions.cuptiSubscribe_v2)>(
      sys::glibc_dlsym()(library, "cuptiSubscribe_v2"));
  if (cupti_functions.cuptiSubscribe_v2 == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe)
#endif
  return {};
}

// CUPTI's own times of the kernels that we measured.

// The offsets of the members up to correlationId have been the same in every version since CUDA 11.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif

// 1 MiB: some five thousand kernels; CUPTI's documentation advises 1 to 10 MB.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr double kNotYet = -1;

struct Records {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, double> duration_us;  // of wanted ones; kNotYet until it comes
  std::uint64_t dropped = 0;
};

// Never destroyed: CUPTI's thread may still deliver buffers during exit.
Records& records() {
  static auto* const all = new Records;
  return *all;
}

// malloc's alignment suffices: CUPTI asks for 8 bytes.
void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::malloc(kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most = 0;
}

void keep_wanted(std::uint8_t* buffer, std::size_t valid) {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* record = nullptr;
  while (cupti_functions.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
    const auto wanted = all.duration_us.find(kernel.correlationId);
    // cupti_activity.h, cuptiActivityGetNextRecord: "may contain invalid (0) timestamps".
    if (wanted == all.duration_us.end() || kernel.start == 0 || kernel.end < kernel.start) continue;
    wanted->second = static_cast<double>(kernel.end - kernel.start) * 1e-3;
  }
  std::size_t dropped = 0;
  if (cupti_functions.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS)
    all.dropped += dropped;
}

// On a thread of CUPTI's, or in cuptiActivityFlushAll.
void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  try {
    keep_wanted(buffer, valid);
  } catch (const std::exception& error) {
    sys::turn_off("CUPTI", error.what());
  }
  std::free(buffer);
}

// Held during a flush, so that a second caller returns only after all records have arrived.
constinit std::mutex flushing;

void flush() {
  const std::lock_guard lock(flushing);
  static_cast<void>(cupti_functions.cuptiActivityFlushAll(0));
}

// From now on CUPTI records every kernel.  Returns an empty string, or why it does not.
std::string start_records() {
  static_cast<void>(records());
  if (cupti_functions.cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer) != CUPTI_SUCCESS)
    return "cuptiActivityRegisterCallbacks failed";
  // CONCURRENT_KERNEL and not KERNEL, which would keep kernels from overlapping.
  const CUptiResult result =
      cupti_functions.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  return result == CUPTI_SUCCESS
             ? std::string()
             : "cuptiActivityEnable failed (CUptiResult " + std::to_string(result) + ")";
}

void stop_records() {
  flush();
  static_cast<void>(cupti_functions.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

// Keeps the record with this correlation id.  Without memory the sample has no CUPTI time.
void keep_record_of(std::uint32_t correlation_id) noexcept {
  try {
    const std::lock_guard lock(records().mutex);
    records().duration_us.emplace(correlation_id, kNotYet);
  } catch (const std::bad_alloc&) {
    return;  // one sample has no CUPTI time
  }
}

// Flushes CUPTI's buffers and returns the times of the kept records that have arrived.
record::CrossCheck collect_records() {
  flush();
  record::CrossCheck check;
  const std::lock_guard lock(records().mutex);
  for (const auto& [id, us] : records().duration_us) {
    if (us != kNotYet) check.times_us.emplace(id, us);
  }
  check.dropped_records = records().dropped;
  return check;
}

// CUPTI's launch callbacks and their parameters.

// The driver's launch functions.  Runtime callbacks stay off: each runtime launch calls one of
// these.
inline constexpr auto kLaunchIds = std::to_array<CUpti_CallbackId>({
#define INLINE_PROF_CALLBACK_ID(symbol, ...) CUPTI_DRIVER_TRACE_CBID_##symbol,
    INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_CALLBACK_ID)
#undef INLINE_PROF_CALLBACK_ID
});

[[nodiscard]] constexpr bool is_graph_launch(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
         id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

// cuLaunchKernel_params and cuLaunchCooperativeKernel_params share these members' names.
template <typename Parameters>
hook::Launch launch_from(const char* api, const void* parameters, bool per_thread) noexcept {
  const auto& p = *static_cast<const Parameters*>(parameters);
  return {.api = api,
          .function = p.f,
          .stream = launch::explicit_stream(p.hStream, per_thread),
          .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
          .cluster = {1, 1, 1},
          .dynamic_shared_bytes = p.sharedMemBytes};
}

template <typename Parameters>
std::optional<hook::Launch> launch_ex_from(const void* parameters, bool per_thread) noexcept {
  const auto& p = *static_cast<const Parameters*>(parameters);
  if (p.config == nullptr) return std::nullopt;
  const CUstream stream = launch::explicit_stream(p.config->hStream, per_thread);
  return launch::launch_of("cuLaunchKernelEx", stream, *p.config, p.f);
}

// `given` are the parameters of this id's callback.  Empty if the id is no kernel launch.
std::optional<hook::Launch> launch_of(CUpti_CallbackId id, const void* given) noexcept {
  constexpr const char* cooperative = "cuLaunchCooperativeKernel";
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      return launch_from<cuLaunchKernel_params>("cuLaunchKernel", given, false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return launch_from<cuLaunchKernel_ptsz_params>("cuLaunchKernel", given, true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      return launch_from<cuLaunchCooperativeKernel_params>(cooperative, given, false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return launch_from<cuLaunchCooperativeKernel_ptsz_params>(cooperative, given, true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      return launch_ex_from<cuLaunchKernelEx_params>(given, false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return launch_ex_from<cuLaunchKernelEx_ptsz_params>(given, true);
    default:
      return std::nullopt;
  }
}

constinit std::atomic<CUpti_SubscriberHandle> subscriber{nullptr};
constinit std::atomic<bool> is_cross_check{false};
constinit std::atomic<bool> process_ends{false};
constinit std::atomic<bool> launches_enabled{false};
// cupti_callbacks.h: "a subscriber must serialize access to [...] cuptiEnableCallback".
constinit std::mutex enabling;
constinit std::atomic<int> owner{0};

// Launches that CUPTI saw while our own table was counting, for the cross-check.
constinit std::atomic<std::uint64_t> cross_checked_launches{0};

// Between ENTER and EXIT of a launch, which come in one thread.
struct OpenLaunch {
  hook::Launch launch{};
  hook::LaunchTicket ticket;
  timer::LaunchUnderWay* under_way = nullptr;
};

struct ThreadState {
  CUcontext calibrated = nullptr;  // the context of the last launch that was counted
  std::uint32_t correlation_id = 0;
  bool in_callback = false;
  bool has_open = false;
  OpenLaunch open;
};
// initial-exec: see HookGuard.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState this_thread;

// Contexts are calibrated at their first launch, not in the callback of their creation: at the
// entry of a launch the driver holds no lock, and no work has been submitted yet.
void calibrate_at_first_launch(CUcontext context) {
  if (context == nullptr || this_thread.calibrated == context) return;
  this_thread.calibrated = context;
  hook::report("context", [&](hook::Observer& session) { session.context_created(context); });
}

void enter_launch(const hook::Launch& launch, CUcontext context) {
  OpenLaunch& open = this_thread.open;
  this_thread.has_open = false;
  open.ticket = {};
  timer::end_launch(std::exchange(open.under_way, nullptr));  // of a launch whose end was not told
  if (!sys::may_be_armed(launch.function)) return;
  if (launch::is_one_of_several_threads()) open.under_way = timer::begin_launch(launch.stream);
  if (launch::filter.has(launch::LaunchFilter::kCounting)) calibrate_at_first_launch(context);
  timer::LaunchSlot* counted = nullptr;
  if (launch::filter.settle(launch.function, launch.stream, counted)) {
    if (counted != nullptr) open.ticket.counted = &counted->count;
    return;
  }
  hook::report(launch.api,
               [&](hook::Observer& session) { open.ticket = session.before_launch(launch); });
  this_thread.has_open = open.ticket.kind != hook::LaunchTicket::Kind::kNothing;
  open.launch = launch;
}

void exit_launch(bool launched) {
  OpenLaunch& open = this_thread.open;
  if (open.ticket.counted != nullptr && !launched) timer::take_back(*open.ticket.counted);
  open.ticket.counted = nullptr;
  if (this_thread.has_open) {
    this_thread.has_open = false;
    hook::report(open.launch.api, [&](hook::Observer& session) {
      session.after_launch(open.launch, open.ticket, launched);
    });
  }
  timer::end_launch(std::exchange(open.under_way, nullptr));
}

// MODULE_UNLOAD_STARTING would tell of every module that goes, but not by its handle.
constexpr std::array<CUpti_CallbackId, 2> kUnloadIds{CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
                                                     CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload};

// Before the driver's own work, so that no handle is given out again yet.
void on_unload(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (call.callbackSite != CUPTI_API_ENTER) return;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuModuleUnload) {
    const auto& parameters = *static_cast<const cuModuleUnload_params*>(call.functionParams);
    hook::report("cuModuleUnload",
                 [&](hook::Observer& session) { session.module_gone(parameters.hmod); });
  } else {
    const auto& parameters = *static_cast<const cuLibraryUnload_params*>(call.functionParams);
    hook::report("cuLibraryUnload",
                 [&](hook::Observer& session) { session.library_gone(parameters.library); });
  }
}

bool is_unload(CUpti_CallbackId id) {
  return std::find(kUnloadIds.begin(), kUnloadIds.end(), id) != kUnloadIds.end();
}

void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  // The return value is valid at exit only.
  const bool launched =
      !enters && *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
  const bool is_backend = launch::filter.is_left_to_cupti();
  if (is_graph_launch(id)) {
    hook::Observer* session = hook::observer();
    if (is_backend && enters && session != nullptr) session->count_graph_launch();
    return;
  }
  if (is_cross_check.load(std::memory_order_relaxed)) {
    this_thread.correlation_id = call.correlationId;
    if (launched && launch::filter.has(launch::LaunchFilter::kCounting))
      cross_checked_launches.fetch_add(1, std::memory_order_relaxed);
  }
  if (!is_backend) return;
  if (!enters) return exit_launch(launched);
  if (const auto launch = launch_of(id, call.functionParams)) enter_launch(*launch, call.context);
}

void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    if (this_thread.calibrated == resource.context) this_thread.calibrated = nullptr;
    hook::report("context",
                 [&](hook::Observer& session) { session.context_gone(resource.context); });
  } else if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
    hook::report("stream", [&](hook::Observer& session) {
      session.stream_gone(resource.resourceHandle.stream);
    });
  }
}

// In the application's thread, inside its call of the driver.
void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* data) {
  // Our own driver calls cause callbacks as well.
  if (!sys::is_on() || hook::HookGuard::is_inside()) return;
  this_thread.in_callback = true;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (is_unload(id)) {
      on_unload(id, call);
    } else {
      on_launch(id, call);
    }
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
  }
  this_thread.in_callback = false;
}

std::string text_of(CUptiResult result) {
  const char* text = nullptr;
  if (cupti_functions.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr)
    return std::string(text) + " (" + std::to_string(result) + ")";
  return "error " + std::to_string(result);
}

std::string subscribe() {
  CUpti_SubscriberHandle handle = nullptr;
  std::string holder;
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
#if CUPTI_API_VERSION >= 130000
  if (const auto subscribe_v2 = cupti_functions.cuptiSubscribe_v2) {
    std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> name{};
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "inline_prof";
    parameters.oldSubscriberName = name.data();
    parameters.oldSubscriberSize = name.size();
    result = subscribe_v2(&handle, &on_callback, nullptr, &parameters);
    name.back() = '\0';
    holder = name.data();
  } else
#endif
  {
    result = cupti_functions.cuptiSubscribe(&handle, &on_callback, nullptr);
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "CUPTI serves one tool at a time, and another one has it" +
           (holder.empty() ? std::string() : " (" + holder + ")");
  }
  if (result != CUPTI_SUCCESS) return "cuptiSubscribe: " + text_of(result);
  subscriber.store(handle);
  return {};
}

// Only what is needed: each enabled callback costs the application time.
void enable_launches(bool on) {
  const std::lock_guard lock(enabling);
  CUpti_SubscriberHandle handle = subscriber.load();
  if (handle == nullptr || launches_enabled.load() == on) return;
  launches_enabled.store(on);
  for (const CUpti_CallbackId id : kLaunchIds) {
    // An older CUPTI refuses ids of functions that its driver does not have.
    static_cast<void>(
        cupti_functions.cuptiEnableCallback(on ? 1 : 0, handle, CUPTI_CB_DOMAIN_DRIVER_API, id));
  }
  if (!on) timer::forget_launches();
}

// Enables the callbacks of calls that end handles.
void enable_endings() {
  for (const auto id : {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                        CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING}) {
    static_cast<void>(
        cupti_functions.cuptiEnableCallback(1, subscriber.load(), CUPTI_CB_DOMAIN_RESOURCE, id));
  }
  for (const CUpti_CallbackId id : kUnloadIds) {
    static_cast<void>(
        cupti_functions.cuptiEnableCallback(1, subscriber.load(), CUPTI_CB_DOMAIN_DRIVER_API, id));
  }
}

void unsubscribe() {
  const std::lock_guard lock(enabling);
  if (is_cross_check.load()) stop_records();
  CUpti_SubscriberHandle handle = subscriber.exchange(nullptr);
  if (handle != nullptr) static_cast<void>(cupti_functions.cuptiUnsubscribe(handle));
}

void* unsubscribe_main(void*) {
  hook::fenced("CUPTI", [] { unsubscribe(); });
  return nullptr;
}

}  // namespace

std::string begin(Role role) {
  if (std::string why = load_cupti(); !why.empty()) return why;
  if (std::string why = subscribe(); !why.empty()) return why;
  owner.store(getpid());
  if (role != Role::kBackend) {
    if (std::string why = start_records(); !why.empty()) {
      unsubscribe();
      return why;
    }
    is_cross_check.store(true);
  }
  sys::call_when_off(&leave);
  if (role != Role::kCrossCheck) {
    enable_endings();
    launch::filter.leave_to_cupti();
  }
  enable_launches(true);
  return {};
}

void follow_filter() {
  if (subscriber.load(std::memory_order_relaxed) == nullptr || this_thread.in_callback) return;
  // The cross-check needs each launch's correlation id.
  const bool wanted = is_cross_check.load(std::memory_order_relaxed) ||
                      sys::hot_line.filter.load(std::memory_order_relaxed) != sys::kNoLaunch;
  if (wanted != launches_enabled.load(std::memory_order_relaxed)) enable_launches(wanted);
}

void leave() noexcept {
  if (subscriber.load() == nullptr || process_ends.load() || owner.load() != getpid()) return;
  // Without a thread the subscription stays, and its callbacks return at once.
  static_cast<void>(sys::start_quiet_detached_thread(&unsubscribe_main, nullptr));
}

void note_exit() noexcept {
  process_ends.store(true);
}

std::uint32_t cross_check_of_this_launch() noexcept {
  if (!is_cross_check.load(std::memory_order_relaxed)) return 0;
  const std::uint32_t id = std::exchange(this_thread.correlation_id, 0);
  if (id != 0) keep_record_of(id);
  return id;
}

std::optional<record::CrossCheck> collect() {
  if (!is_cross_check.load()) return std::nullopt;
  record::CrossCheck check = collect_records();
  check.launches = cross_checked_launches.load(std::memory_order_relaxed);
  static_cast<void>(cupti_functions.cuptiGetVersion(&check.version));
  return check;
}

}  // namespace inline_prof::cupti
