// The state behind all driver functions.  One mutex guards it; the API functions in api_*.cpp lock
// it (call.hpp), everything else expects it locked.
#pragma once

#include "common/settings.hpp"
#include "driver/context.hpp"
#include "driver/graph.hpp"
#include "driver/memory.hpp"
#include "driver/model.hpp"
#include "driver/timeline.hpp"
#include "driver/truth.hpp"
#include "driver/user_object.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace simgpu {

// An API call ends with this code.  Thrown below, returned by call().
struct Failure {
  CUresult code;
};

// The stack of contexts of this thread; the last one is current and may be null.
[[nodiscard]] std::vector<Context*>& context_stack();

enum class DefaultStream { kLegacy, kPerThread };
inline constexpr auto kLegacy = DefaultStream::kLegacy;
inline constexpr auto kPerThread = DefaultStream::kPerThread;

struct LaunchRequest;

// User objects that a destroyed executable graph keeps until its last launch has ended.
struct LeavingReferences {
  CompletionPtr last_launch;
  UserReferences references;
};

// Returns the mode that this thread had.
CUstreamCaptureMode exchange_thread_capture_mode(CUstreamCaptureMode mode);

// CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK.
inline constexpr int kReservedSharedBytesPerBlock = 1024;

struct Image {
  std::vector<std::string> kernels;
  std::vector<std::pair<std::string, Variable>> variables;
};

class Simulator {
 public:
  Simulator(const Settings& settings, Model model);

  // The instance that cuInit made; null before.
  [[nodiscard]] static Simulator* instance();

  // ---- contexts
  Context& create_context(Device& device, bool primary, unsigned flags, unsigned api_version);
  void destroy_context(Context& context);
  void empty_context(Context& context);  // as cuDevicePrimaryCtxReset leaves it
  [[nodiscard]] Context& live(CUcontext handle);
  [[nodiscard]] Context& current();
  [[nodiscard]] Context* current_or_null();
  [[nodiscard]] Device& device(CUdevice ordinal);

  // ---- handles: each throws Failure{CUDA_ERROR_INVALID_HANDLE} for one that is not live
  [[nodiscard]] Stream& stream(CUstream handle, DefaultStream which);
  [[nodiscard]] std::shared_ptr<Event> event(CUevent handle);
  [[nodiscard]] Module& module(CUmodule handle);
  [[nodiscard]] Library& library(CUlibrary handle);
  [[nodiscard]] Kernel& kernel(CUkernel handle);
  [[nodiscard]] Function& function(CUfunction handle);
  [[nodiscard]] Graph& graph(CUgraph handle);
  [[nodiscard]] Node& node(CUgraphNode handle);
  [[nodiscard]] GraphExec& exec(CUgraphExec handle);

  Stream& create_stream(Context& context, unsigned flags, int priority);
  void destroy_stream(Stream& stream);

  // ---- memory pools (api_memory_pool.cpp)
  [[nodiscard]] const std::shared_ptr<MemoryPool>& default_pool(Device& device);
  [[nodiscard]] const std::shared_ptr<MemoryPool>& current_pool(Device& device);
  // From the pool, as `stream` comes to it (api_memory.cpp).
  void allocate_async(CUdeviceptr* address, std::size_t bytes, Stream& stream,
                      const std::shared_ptr<MemoryPool>& pool);

  // ---- modules (modules.cpp)
  std::unique_ptr<Library> load_image(const void* image);
  Module& module_of(Context& context, Library& library);
  Function& function_of(Module& module, Kernel& kernel);
  void unload(Module& module);
  void forget_kernels(Library& library);
  // How many blocks of the kernel fit on one SM.
  [[nodiscard]] int blocks_per_sm(const Kernel& kernel, int threads,
                                  std::size_t dynamic_shared) const;

  // ---- work on streams (execute.cpp)
  [[nodiscard]] CallOrigin origin_of_this_call() const;  // truth.cpp
  // `meeting` of a collective kernel, else null.
  void launch(Stream& stream, KernelWork work, const LaunchRequest& request);
  void copy(Stream& stream, const CopyWork& work);
  void fill(Stream& stream, const FillWork& work);
  void record(Stream& stream, const std::shared_ptr<Event>& event);
  void wait_for(Stream& stream, const Event& event);
  void call_host(Stream& stream, CUhostFn function, void* data);
  void launch_graph(Stream& stream, GraphExec& exec);  // graph_run.cpp
  void upload_graph(Stream& stream, GraphExec& exec);
  void let_go();  // of what destroyed executable graphs have kept until now
  void wait_value(Stream& stream, const ValueWait& wait);
  void write_value(Stream& stream, CUdeviceptr address, std::uint64_t value, bool is_64_bit);

  // ---- the host waits (execute.cpp)
  void synchronize(Stream& stream);
  void synchronize(Context& context);
  void synchronize(const Event& event);
  [[nodiscard]] bool finished(Stream& stream);
  [[nodiscard]] bool finished(const Event& event);

  // ---- capture (capture.cpp)
  // True if the stream is capturing (the caller adds a node).  Throws what keeps work out of it.
  bool capturing(Stream& stream);
  Node& capture_node(Stream& stream, Work work);
  // Into a new graph, or into `graph` behind `front`.
  void begin_capture(Stream& stream, CUstreamCaptureMode mode, Graph* graph = nullptr,
                     CaptureFront front = {});
  Graph* finish_capture(Stream& stream);
  void capture_record(Stream& stream, Event& event);
  void capture_wait(Stream& stream, const Event& event);
  void refuse_if_unsafe();  // "potentially unsafe" calls
  [[noreturn]] void refuse_stream_query(Stream& capturing_stream);
  [[noreturn]] void refuse_isolation(Stream& capturing_stream);
  void refuse_legacy_query(Stream& stream);
  void refuse_if_captured(const Event& event);
  void refuse_if_context_captures(const Context& context);

  // ---- what graph_run.cpp needs of execute.cpp
  // The kernel runs from `begin`; `ready` is later where a collective waits for others first.
  // `place` is null outside graphs.  Returns its end.
  // When a kernel may begin that overlaps with one that ran from `begin` to `end`.
  [[nodiscard]] Nanoseconds programmatic_begin(Nanoseconds begin, Nanoseconds end) const;
  Nanoseconds run_kernel(Stream& stream, const KernelWork& work, Nanoseconds begin,
                         Nanoseconds ready, const NodePlace* place);
  [[nodiscard]] Nanoseconds record_duration(Stream& stream, double bias_us, bool after_kernel);
  [[nodiscard]] Nanoseconds transfer_duration(const void* destination, const void* source,
                                              std::size_t bytes);

  const Settings& settings;
  const Model model;
  std::mutex mutex;
  Engine engine;
  Memory memory;
  Truth truth;
  std::vector<Device> devices;
  std::unordered_map<Context*, std::unique_ptr<Context>> contexts;
  std::unordered_map<Stream*, Context*> stream_owner;
  std::unordered_map<Event*, Context*> event_owner;
  std::unordered_map<Module*, Context*> module_owner;
  std::unordered_map<Library*, std::unique_ptr<Library>> libraries;
  std::unordered_set<Kernel*> kernels;
  std::unordered_set<Function*> functions;
  std::unordered_map<Graph*, std::unique_ptr<Graph>> graphs;
  std::unordered_set<Node*> nodes;
  std::unordered_map<GraphExec*, std::unique_ptr<GraphExec>> execs;
  std::unordered_map<const void*, Image> images;
  std::unordered_map<MemoryPool*, std::shared_ptr<MemoryPool>> pools;
  UserObjects user_objects;
  std::vector<LeavingReferences> leaving;
  std::map<std::uintptr_t, std::weak_ptr<GraphMemory>> graph_memory;  // by address
  std::vector<std::shared_ptr<Capture>> captures;                     // active ones
  std::uint64_t launches = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t graph_kernels = 0;
  unsigned long long next_id = 1;
  int graphs_created = 0;  // without copies of graphs

  void invalidate(Capture& capture);

 private:
  [[nodiscard]] static CUgraphEdgeData captured_edge(const Node& from, const CUgraphEdgeData& asked,
                                                     const Work& to);
  // From where the stream's capture is to a node with this work.
  [[nodiscard]] std::vector<Edge> captured_edges(const Stream& stream, const Work& to) const;
  void end_capture(Capture& capture, bool keep_graph);

  // Until the host's clock is at `at`.  Unlocks the mutex meanwhile.
  void host_waits_until(Nanoseconds at);
  // Until the application has done what lets `done` become true.  Unlocks the mutex meanwhile.
  void wait_in_real_time(const std::function<bool()>& done);
  // Until `done`, or nobody is left to wait for: other ranks decide what a query answers, and how
  // fast their threads run must not.
  void wait_for_other_ranks(const std::function<bool()>& done);
  void wait_for_queue_space(Stream& stream);
  void finish(Operation& operation);
};

}  // namespace simgpu
