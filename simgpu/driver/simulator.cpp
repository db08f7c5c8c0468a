#include "driver/simulator.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace simgpu {
namespace {

// Which contexts this thread has pushed; the last one is current.  Never freed: exit handlers may
// call the driver after the thread's own objects are gone, and a real driver answers them.
struct PushedContexts {
  std::vector<Context*> contexts;
  PushedContexts* older = nullptr;
};

// A list of all threads' contexts; whatever is still in it at exit is no leak.
constinit std::atomic<PushedContexts*> newest{nullptr};

PushedContexts* new_thread() {
  auto* const pushed = new PushedContexts;
  pushed->older = newest.load();
  while (!newest.compare_exchange_weak(pushed->older, pushed)) {
  }
  return pushed;
}

std::vector<Context*>& contexts_of_this_thread() {
  thread_local PushedContexts* const pushed = new_thread();
  return pushed->contexts;
}

template <typename Object, typename Live, typename Handle>
Object& checked(Live& live, Handle handle) {
  auto* object = reinterpret_cast<Object*>(handle);
  if (object == nullptr || !live.contains(object)) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  return *object;
}

}  // namespace

std::vector<Context*>& context_stack() {
  return contexts_of_this_thread();
}

Simulator::Simulator(const Settings& process, Model read)
    : settings(process), model(std::move(read)), engine(process) {
  devices.resize(static_cast<std::size_t>(settings.device_count));
  for (std::size_t i = 0; i < devices.size(); ++i)
    devices[i].index = static_cast<int>(i);
}

Device& Simulator::device(CUdevice ordinal) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) {
    throw Failure{CUDA_ERROR_INVALID_DEVICE};
  }
  return devices[static_cast<std::size_t>(ordinal)];
}

// ---- contexts

Context& Simulator::create_context(Device& device, bool primary, unsigned flags,
                                   unsigned api_version) {
  auto owned = std::make_unique<Context>();
  Context& context = *owned;
  context.device = &device;
  context.primary = primary;
  context.flags = flags;
  context.api_version = api_version;
  context.id = next_id++;
  context.legacy.context = &context;
  context.legacy.kind = StreamKind::kLegacy;
  context.legacy.id = next_id++;
  contexts.emplace(&context, std::move(owned));
  return context;
}

void Simulator::empty_context(Context& context) {
  for (const auto& capture : std::vector(captures)) {
    const bool touched =
        std::any_of(capture->streams.begin(), capture->streams.end(),
                    [&](const Stream* stream) { return stream->context == &context; });
    if (touched) end_capture(*capture, false);
  }
  context.for_each_stream([&](Stream& stream) {
    engine.forget(stream);
    stream_owner.erase(&stream);
  });
  for (auto& [event, owned] : context.events)
    event_owner.erase(event);
  while (!context.modules.empty())
    unload(*context.modules.begin()->first);
  context.per_thread.clear();
  context.streams.clear();
  context.retired.clear();
  context.events.clear();
  memory.release_all_of(context);
}

void Simulator::destroy_context(Context& context) {
  empty_context(context);
  if (context.device->primary == &context) context.device->primary = nullptr;
  for (const auto& [key, other] : contexts)
    other->peers.erase(&context);
  contexts.erase(&context);
}

Context& Simulator::live(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  if (context == nullptr || !contexts.contains(context)) {
    throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  }
  return *context;
}

Context* Simulator::current_or_null() {
  const auto& pushed = contexts_of_this_thread();
  return pushed.empty() ? nullptr : pushed.back();
}

// cuda.h, CUDA_ERROR_CONTEXT_IS_DESTROYED: "the context current to the calling thread has been
// destroyed using cuCtxDestroy".
Context& Simulator::current() {
  Context* context = current_or_null();
  if (context == nullptr) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  if (!contexts.contains(context)) throw Failure{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  return *context;
}

// ---- handles

Stream& Simulator::stream(CUstream handle, DefaultStream which) {
  const bool legacy =
      handle == CU_STREAM_LEGACY || (handle == nullptr && which == DefaultStream::kLegacy);
  const bool per_thread =
      handle == CU_STREAM_PER_THREAD || (handle == nullptr && which == DefaultStream::kPerThread);
  if (legacy) return current().legacy;
  if (!per_thread) return checked<Stream>(stream_owner, handle);

  Context& context = current();
  auto& slot = context.per_thread[std::this_thread::get_id()];
  if (!slot) {
    slot = std::make_unique<Stream>();
    slot->context = &context;
    slot->kind = StreamKind::kPerThread;
    slot->ordinal = ++context.device->streams_created;
    slot->id = next_id++;
  }
  return *slot;
}

Stream& Simulator::create_stream(Context& context, unsigned flags, int priority) {
  std::erase_if(context.retired, [](const auto& stream) { return Engine::has_run(*stream); });
  auto owned = std::make_unique<Stream>();
  Stream& stream = *owned;
  stream.context = &context;
  stream.flags = flags;
  stream.priority = priority;
  stream.ordinal = ++context.device->streams_created;
  stream.id = next_id++;
  stream_owner[&stream] = &context;
  context.streams.emplace(&stream, std::move(owned));
  return stream;
}

void Simulator::destroy_stream(Stream& stream) {
  if (stream.capture) {
    invalidate(*stream.capture);
    const bool is_origin = stream.capture->origin == &stream;
    std::erase(stream.capture->streams, &stream);
    if (is_origin) end_capture(*std::shared_ptr<Capture>(stream.capture), false);
    stream.capture = nullptr;
  }
  Context& context = *stream.context;
  stream_owner.erase(&stream);
  // The legacy stream still orders itself after work that a destroyed stream has not finished.
  context.retired.push_back(std::move(context.streams.extract(&stream).mapped()));
}

std::shared_ptr<Event> Simulator::event(CUevent handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  const auto owner = event_owner.find(event);
  if (owner == event_owner.end()) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  return owner->second->events.at(event);
}

#define SIMGPU_LOOK_UP(name, Type, Handle, list) \
  Type& Simulator::name(Handle handle) {         \
    return checked<Type>(list, handle);          \
  }
SIMGPU_LOOK_UP(module, Module, CUmodule, module_owner)
SIMGPU_LOOK_UP(library, Library, CUlibrary, libraries)
SIMGPU_LOOK_UP(kernel, Kernel, CUkernel, kernels)
SIMGPU_LOOK_UP(function, Function, CUfunction, functions)
SIMGPU_LOOK_UP(graph, Graph, CUgraph, graphs)
SIMGPU_LOOK_UP(node, Node, CUgraphNode, nodes)
SIMGPU_LOOK_UP(exec, GraphExec, CUgraphExec, execs)

}  // namespace simgpu
