// Contexts, and the stack of them that each thread has.
#include "driver/call.hpp"
#include "driver/observed.hpp"

using namespace simgpu;

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

SIMGPU_FUNCTION(cuCtxCreate, cuCtxCreate_v2000, context, flags, device) {
  return created(perform(entry, Cost::kAllocate,
                         [&](Simulator& s) { create(s, context, flags, device, 3010); }),
                 context);
}

SIMGPU_FUNCTION(cuCtxCreate_v2, cuCtxCreate_v3020, context, flags, device) {
  return created(perform(entry, Cost::kAllocate,
                         [&](Simulator& s) { create(s, context, flags, device, 3020); }),
                 context);
}

SIMGPU_FUNCTION(cuCtxCreate_v3, cuCtxCreate_v11040, context, affinity, affinity_count, flags,
                device) {
  const CUresult result = perform(entry, Cost::kAllocate, [&](Simulator& s) {
    if (affinity != nullptr || affinity_count != 0) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    create(s, context, flags, device, 3030);
  });
  return created(result, context);
}

SIMGPU_FUNCTION(cuCtxCreate_v4, cuCtxCreate_v12050, context, parameters, flags, device) {
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

SIMGPU_FUNCTION(cuCtxDestroy, cuCtxDestroy_v2000, context) {
  tell_of_context(context, ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { destroy(s, context); });
}

SIMGPU_FUNCTION(cuCtxDestroy_v2, cuCtxDestroy_v4000, context) {
  tell_of_context(context, ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { destroy(s, context); });
}

SIMGPU_CALL(cuCtxPushCurrent, cuCtxPushCurrent_v2000, kNone, context) {
  push(s, context);
}

SIMGPU_CALL(cuCtxPushCurrent_v2, cuCtxPushCurrent_v4000, kNone, context) {
  push(s, context);
}

SIMGPU_CALL(cuCtxPopCurrent, cuCtxPopCurrent_v2000, kNone, context) {
  pop(context);
}

SIMGPU_CALL(cuCtxPopCurrent_v2, cuCtxPopCurrent_v4000, kNone, context) {
  pop(context);
}

SIMGPU_CALL(cuCtxSetCurrent, cuCtxSetCurrent_v4000, kNone, context) {
  auto& stack = context_stack();
  if (context == nullptr) {
    if (!stack.empty()) stack.pop_back();
  } else if (Context& wanted = s.live(context); stack.empty()) {
    stack.push_back(&wanted);
  } else {
    stack.back() = &wanted;
  }
}

SIMGPU_GET(cuCtxGetCurrent, cuCtxGetCurrent_v4000, kNone, handle(s.current_or_null()))
SIMGPU_GET(cuCtxGetDevice, cuCtxGetDevice_v2000, kNone, s.current().device->index)

SIMGPU_GET_OF(cuCtxGetDevice_v2, cuCtxGetDevice_v13000, kNone,
              (context == nullptr ? s.current() : s.live(context)).device->index, context)

SIMGPU_GET(cuCtxGetFlags, cuCtxGetFlags_v7000, kNone, s.current().flags)
SIMGPU_GET(cuCtxGetId, cuCtxGetId_v12000, kNone,
           (context == nullptr ? s.current() : s.live(context)).id, context)
SIMGPU_GET(cuCtxGetApiVersion, cuCtxGetApiVersion_v3020, kNone,
           (context == nullptr ? s.current() : s.live(context)).api_version, context)

SIMGPU_CALL(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange_v5050, kNone, least,
            greatest) {
  static_cast<void>(s.current());
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
}

SIMGPU_CALL(cuCtxSynchronize, cuCtxSynchronize_v2000, kWait) {
  Context& context = s.current();
  s.refuse_if_context_captures(context);
  s.synchronize(context);
}

SIMGPU_CALL(cuCtxSynchronize_v2, cuCtxSynchronize_v13000, kWait, handle_or_null) {
  Context& context = handle_or_null == nullptr ? s.current() : s.live(handle_or_null);
  s.refuse_if_context_captures(context);
  s.synchronize(context);
}

SIMGPU_FUNCTION(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain_v7000, context, device) {
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

SIMGPU_FUNCTION(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v7000, device) {
  if (primary_users(device) == 1) tell_of_context(primary(device), ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { release_primary(s, device); });
}

SIMGPU_FUNCTION(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v11000, device) {
  if (primary_users(device) == 1) tell_of_context(primary(device), ContextChange::kDestroyed);
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { release_primary(s, device); });
}

SIMGPU_FUNCTION(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v7000, device) {
  return perform_reset(entry, device);
}

SIMGPU_FUNCTION(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v11000, device) {
  return perform_reset(entry, device);
}

SIMGPU_CALL(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v7000, kOther, device, flags) {
  set_primary_flags(s, device, flags);
}

SIMGPU_CALL(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags_v11000, kOther, device,
            flags) {
  set_primary_flags(s, device, flags);
}

SIMGPU_CALL(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState_v7000, kOther, device, flags,
            active) {
  require(flags);
  require(active);
  const Device& owner = s.device(device);
  *flags = owner.primary_flags;
  *active = owner.primary_users > 0 ? 1 : 0;
}

// cuda.h: INVALID_CONTEXT if "peerContext is not a valid context or if the current context is
// peerContext", INVALID_DEVICE without a path between the devices, INVALID_VALUE for flags.
SIMGPU_CALL(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess_v4000, kOther, peer, flags) {
  Context& own = s.current();
  const Context& other = s.live(peer);
  if (&other == &own) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  if (other.device == own.device) throw Failure{CUDA_ERROR_INVALID_DEVICE};
  require_value(flags == 0);
  if (!own.peers.insert(&other).second) throw Failure{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED};
}

SIMGPU_CALL(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess_v4000, kOther, peer) {
  if (s.current().peers.erase(&s.live(peer)) == 0) {
    throw Failure{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED};
  }
}
