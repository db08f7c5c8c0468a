#include "driver/observed.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace simgpu {
namespace {

std::atomic<const simgpu_observer*> the_observer{nullptr};
std::atomic<std::uint32_t> next_correlation{1};
thread_local std::uint32_t current_correlation = 0;

std::uint32_t short_id(unsigned long long id) {
  return static_cast<std::uint32_t>(id);
}

const char* kernel_of(Simulator& s, void* handle) {
  if (auto* kernel = static_cast<Kernel*>(handle); s.kernels.contains(kernel)) {
    return kernel->mangled.c_str();
  }
  if (auto* function = static_cast<Function*>(handle); s.functions.contains(function)) {
    return function->kernel->mangled.c_str();
  }
  return nullptr;
}

}  // namespace

const simgpu_observer* current_observer() {
  return the_observer.load(std::memory_order_acquire);
}

std::uint32_t correlation_of_this_call() {
  return current_correlation;
}

ObservedCall::ObservedCall(const simgpu_observer& observer, simgpu_api_call& call)
    : observer_(observer), call_(call), outer_correlation_(current_correlation) {
  {
    Simulator& s = *Simulator::instance();
    const std::lock_guard lock(s.mutex);
    Context* context = s.current_or_null();
    if (context != nullptr && s.contexts.contains(context)) {
      call_.context = context;
      call_.context_id = short_id(context->id);
    }
    call_.kernel = kernel_of(s, call_.handle);
  }
  call_.correlation_id = next_correlation.fetch_add(1, std::memory_order_relaxed);
  observer_.call(&call_, 0, nullptr, &data_);
  current_correlation = call_.correlation_id;
}

void ObservedCall::finished(CUresult result) {
  current_correlation = outer_correlation_;
  int code = result;
  observer_.call(&call_, 1, &code, &data_);
}

void tell_of_context(CUcontext context, ContextChange change) {
  const simgpu_observer* observer = current_observer();
  if (observer == nullptr) return;
  std::uint32_t id = 0;
  {
    Simulator& s = *Simulator::instance();
    const std::lock_guard lock(s.mutex);
    auto* known = reinterpret_cast<Context*>(context);
    if (!s.contexts.contains(known)) return;
    id = short_id(known->id);
  }
  observer->context(context, id, change == ContextChange::kCreated ? 1 : 0);
}

void tell_of_doomed_stream(CUstream stream) {
  const simgpu_observer* observer = current_observer();
  if (observer == nullptr) return;
  Context* context = nullptr;
  {
    Simulator& s = *Simulator::instance();
    const std::lock_guard lock(s.mutex);
    const auto owner = s.stream_owner.find(reinterpret_cast<Stream*>(stream));
    if (owner == s.stream_owner.end()) return;
    context = owner->second;
  }
  observer->stream(context, stream);
}

void tell_of_kernel(const Stream& stream, const KernelWork& work, const KernelSpan& span) {
  const simgpu_observer* observer = current_observer();
  if (observer == nullptr) return;
  simgpu_kernel_run run{};
  run.correlation_id = work.correlation_id;
  run.device = static_cast<std::uint32_t>(work.context->device->index);
  run.context_id = short_id(work.context->id);
  run.stream_id = short_id(stream.id);
  run.kernel = work.kernel->mangled.c_str();
  std::copy(work.grid.begin(), work.grid.end(), run.grid);
  std::copy(work.block.begin(), work.block.end(), run.block);
  run.dynamic_shared_bytes = work.dynamic_shared_bytes;
  run.registers = work.kernel->registers();
  run.static_shared_bytes = work.kernel->static_shared_bytes();
  run.in_graph = span.in_graph ? 1 : 0;
  run.begin_ns = span.begin;
  run.end_ns = span.end;
  observer->kernel(&run);
}

}  // namespace simgpu

#pragma GCC visibility push(default)
extern "C" void simgpu_observe(const simgpu_observer* observer) {
  simgpu::the_observer.store(observer, std::memory_order_release);
}
#pragma GCC visibility pop
