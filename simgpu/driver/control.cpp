// simgpu.h: what the simulator offers beside the vendor's API.
#include "driver/call.hpp"
#include "simgpu.h"

#include <mutex>

using namespace simgpu;

namespace {

template <typename Result, typename Read>
Result locked(Read&& read) {
  Simulator* simulator = Simulator::instance();
  if (simulator == nullptr) return Result{};
  const std::lock_guard lock(simulator->mutex);
  return read(*simulator);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int64_t simgpu_host_now_ns() {
  return locked<int64_t>([](Simulator& s) { return s.engine.host_now(); });
}

void simgpu_advance_host_ns(int64_t ns) {
  Simulator* simulator = Simulator::instance();
  if (simulator == nullptr || ns <= 0) return;
  std::unique_lock lock(simulator->mutex);
  HostClock& clock = simulator->engine.host_clock;
  if (!clock.is_real()) return clock.advance(ns);
  lock.unlock();
  HostClock(clock).wait_until(clock.now() + ns);
}

uint64_t simgpu_launch_count() {
  return locked<uint64_t>([](Simulator& s) { return s.launches; });
}

uint64_t simgpu_graph_kernel_count() {
  return locked<uint64_t>([](Simulator& s) { return s.graph_kernels; });
}

void simgpu_reset_counts() {
  locked<int>([](Simulator& s) {
    s.launches = s.graph_launches = s.graph_kernels = 0;
    return 0;
  });
}

void simgpu_use_of_device(int device, simgpu_device_use* use) {
  locked<int>([&](Simulator& s) {
    s.engine.pump();
    use->memory_bytes = s.device(device).memory_used;
    for (const auto& [key, context] : s.contexts) {
      if (context->device->index != device) continue;
      use->has_context = 1;
      context->for_each_stream([&](const Stream& stream) {
        if (!Engine::has_run(stream) || stream.tail > s.engine.host_now()) use->is_busy = 1;
      });
    }
    return 0;
  });
}

int simgpu_register_image(const simgpu_image* image) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(image);
    require(image->image);
    Image copy;
    for (size_t i = 0; i < image->kernel_count; ++i)
      copy.kernels.emplace_back(image->kernels[i]);
    for (size_t i = 0; i < image->variable_count; ++i) {
      const auto& [name, bytes, managed] = image->variables[i];
      copy.variables.emplace_back(name, Variable{.bytes = bytes, .managed = managed != 0});
    }
    s.images[image->image] = std::move(copy);
  });
}

}  // extern "C"
#pragma GCC visibility pop

using PFN_simgpu_register_image_v1000 = decltype(&simgpu_register_image);
SIMGPU_PROC(simgpu_register_image, simgpu_register_image_v1000)
