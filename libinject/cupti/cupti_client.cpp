#include "cupti/cupti_client.hpp"

#include "cupti/cupti_launch.hpp"
#include "cupti/cupti_records.hpp"
#include "hook/observer.hpp"
#include "launch/launch_filter.hpp"
#include "record/run_record.hpp"
#include "sys/cupti_api.hpp"
#include "sys/hot_line.hpp"
#include "sys/lifecycle.hpp"
#include "sys/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace inline_prof::cupti {
namespace {

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
    if (launched && launch::filter.has(launch::LaunchFilter::kCounting)) {
      cross_checked_launches.fetch_add(1, std::memory_order_relaxed);
    }
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
  if (sys::cupti().cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) {
    return std::string(text) + " (" + std::to_string(result) + ")";
  }
  return "error " + std::to_string(result);
}

std::string subscribe() {
  CUpti_SubscriberHandle handle = nullptr;
  std::string holder;
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
#if CUPTI_API_VERSION >= 130000
  if (const auto subscribe_v2 = sys::cupti().cuptiSubscribe_v2) {
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
    result = sys::cupti().cuptiSubscribe(&handle, &on_callback, nullptr);
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
        sys::cupti().cuptiEnableCallback(on ? 1 : 0, handle, CUPTI_CB_DOMAIN_DRIVER_API, id));
  }
  if (!on) timer::forget_launches();
}

// Enables the callbacks of calls that end handles.
void enable_endings() {
  for (const auto id : {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                        CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING}) {
    static_cast<void>(
        sys::cupti().cuptiEnableCallback(1, subscriber.load(), CUPTI_CB_DOMAIN_RESOURCE, id));
  }
  for (const CUpti_CallbackId id : kUnloadIds) {
    static_cast<void>(
        sys::cupti().cuptiEnableCallback(1, subscriber.load(), CUPTI_CB_DOMAIN_DRIVER_API, id));
  }
}

void unsubscribe() {
  const std::lock_guard lock(enabling);
  if (is_cross_check.load()) stop_records();
  CUpti_SubscriberHandle handle = subscriber.exchange(nullptr);
  if (handle != nullptr) static_cast<void>(sys::cupti().cuptiUnsubscribe(handle));
}

void* unsubscribe_main(void*) {
  hook::fenced("CUPTI", [] { unsubscribe(); });
  return nullptr;
}

}  // namespace

std::string begin(Role role) {
  if (std::string why = sys::load_cupti(); !why.empty()) return why;
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
  static_cast<void>(sys::cupti().cuptiGetVersion(&check.version));
  return check;
}

}  // namespace inline_prof::cupti
