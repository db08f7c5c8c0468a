// Contexts, and the stack of them that each thread has.
#include "driver/call.hpp"
#include "driver/observed.hpp"

using namespace inline_prof::simgpu;

namespace {

CUcontext handle(Context* context) {
  return reinterpret_cast<CUcontext>(context);
}

// cuda.h, cuCtxCreate: the flags of enum CUctx_flags.
void require_flags(unsigned flags) {
  require_value((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0);
}

void create(Simulator& s, CUcontext* out, unsigned flags, CUdevice device, unsigned version) {
  require(out);
  require_flags(flags);
  Context& context = s.create_context(s.device(device), false, flags, version);
  context_stack().push_back(&context);  // cuda.h: "the context is current to the calling thread"
  *out = handle(&context);
}

// Told after the call, with nothing locked.
CUresult created(CUresult result, const CUcontext* context) {
  if (result == CUDA_SUCCESS) tell_of_context(*context, ContextChange::kCreated);
  return result;
}

}  // namespace

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  static const DriverEntry entry{__func__};
  return created(perform(entry, Cost::kAllocate,
                         [&](Simulator& s) { create(s, context, flags, device, 3010); }),
                 context);
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  static const DriverEntry entry{__func__};
  return created(perform(entry, Cost::kAllocate,
                         [&](Simulator& s) { create(s, context, flags, device, 3020); }),
                 context);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int affinity_count,
                        unsigned int flags, CUdevice device) {
  static const DriverEntry entry{__func__};
  const CUresult result = perform(entry, Cost::kAllocate, [&](Simulator& s) {
    if (affinity != nullptr || affinity_count != 0) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    create(s, context, flags, device, 3030);
  });
  return created(result, context);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                        CUdevice device) {
  static const DriverEntry entry{__func__};
  const CUresult result = perform(entry, Cost::kAllocate, [&](Simulator& s) {
    if (parameters != nullptr &&
        (parameters->numExecAffinityParams != 0 || parameters->cigParams != nullptr)) {
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    }
    create(s, context, flags, device, 3040);
  });
  return created(result, context);
}

namespace {

void destroy(Simulator& s, CUcontext context) {
  Context& doomed = s.live(context);
  // cuda.h, cuCtxDestroy: "If ctx is current to the calling thread then ctx will also be popped
  // from the current thread's context stack"; primary contexts are not destroyed by it.
  if (doomed.primary) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == &doomed) stack.pop_back();
  s.destroy_context(doomed);
}

void push(Simulator& s, CUcontext context) {
  context_stack().push_back(&s.live(context));
}

void pop(CUcontext* context) {
  auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  if (context != nullptr) *context = handle(stack.back());
  stack.pop_back();
}

}  // namespace

CUresult cuCtxDestroy(CUcontext context) {
  static const DriverEntry entry{__func__};
  tell_of_context(context, ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { destroy(s, context); });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  static const DriverEntry entry{__func__};
  tell_of_context(context, ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { destroy(s, context); });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) { push(s, context); });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) { push(s, context); });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator&) { pop(context); });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator&) { pop(context); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    auto& stack = context_stack();
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
    } else if (Context& wanted = s.live(context); stack.empty()) {
      stack.push_back(&wanted);
    } else {
      stack.back() = &wanted;
    }
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(context);
    *context = handle(s.current_or_null());
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(device);
    *device = s.current().device->index;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(device);
    *device = (context == nullptr ? s.current() : s.live(context)).device->index;
  });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(flags);
    *flags = s.current().flags;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(id);
    *id = (context == nullptr ? s.current() : s.live(context)).id;
  });
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(version);
    *version = (context == nullptr ? s.current() : s.live(context)).api_version;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    static_cast<void>(s.current());
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}

CUresult cuCtxSynchronize() {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    Context& context = s.current();
    s.refuse_if_context_captures(context);
    s.synchronize(context);
  });
}

CUresult cuCtxSynchronize_v2(CUcontext handle_or_null) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    Context& context = handle_or_null == nullptr ? s.current() : s.live(handle_or_null);
    s.refuse_if_context_captures(context);
    s.synchronize(context);
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  static const DriverEntry entry{__func__};
  bool is_first = false;
  const CUresult result = perform(entry, Cost::kAllocate, [&](Simulator& s) {
    require(context);
    Device& owner = s.device(device);
    if (owner.primary == nullptr) {
      owner.primary = &s.create_context(owner, true, owner.primary_flags, 3020);
    }
    is_first = ++owner.primary_users == 1;
    *context = handle(owner.primary);
  });
  return is_first ? created(result, context) : result;
}

namespace {

// cuda.h, cuDevicePrimaryCtxRelease: "The context is automatically reset once the last reference to
// it is released."
void release_primary(Simulator& s, CUdevice device) {
  Device& owner = s.device(device);
  if (owner.primary_users == 0) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  if (--owner.primary_users == 0 && owner.primary != nullptr) s.empty_context(*owner.primary);
}

// "Resetting the primary context does not release it": the handle stays valid.
void reset_primary(Simulator& s, CUdevice device) {
  Device& owner = s.device(device);
  if (owner.primary != nullptr) s.empty_context(*owner.primary);
}

// For the observer, who is told before a context goes.  0 and null where there is none.
unsigned primary_users(CUdevice device) {
  Simulator* s = Simulator::instance();
  if (s == nullptr) return 0;
  const std::lock_guard lock(s->mutex);
  const auto index = static_cast<std::size_t>(device);
  return index < s->devices.size() ? s->devices[index].primary_users : 0;
}

CUcontext primary(CUdevice device) {
  Simulator& s = *Simulator::instance();
  const std::lock_guard lock(s.mutex);
  return handle(s.devices[static_cast<std::size_t>(device)].primary);
}

// The handle goes on standing for a context, a new one.
CUresult perform_reset(const DriverEntry& entry, CUdevice device) {
  const bool is_used = primary_users(device) > 0;
  if (is_used) tell_of_context(primary(device), ContextChange::kDestroyed);
  const CUresult result =
      perform(entry, Cost::kAllocate, [&](Simulator& s) { reset_primary(s, device); });
  if (is_used && result == CUDA_SUCCESS) tell_of_context(primary(device), ContextChange::kCreated);
  return result;
}

void set_primary_flags(Simulator& s, CUdevice device, unsigned flags) {
  require_flags(flags);
  Device& owner = s.device(device);
  owner.primary_flags = flags;
  if (owner.primary != nullptr) owner.primary->flags = flags;
}

}  // namespace

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  static const DriverEntry entry{__func__};
  if (primary_users(device) == 1) tell_of_context(primary(device), ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { release_primary(s, device); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  static const DriverEntry entry{__func__};
  if (primary_users(device) == 1) tell_of_context(primary(device), ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { release_primary(s, device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  static const DriverEntry entry{__func__};
  return perform_reset(entry, device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  static const DriverEntry entry{__func__};
  return perform_reset(entry, device);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) { set_primary_flags(s, device, flags); });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) { set_primary_flags(s, device, flags); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    require(flags);
    require(active);
    const Device& owner = s.device(device);
    *flags = owner.primary_flags;
    *active = owner.primary_users > 0 ? 1 : 0;
  });
}
