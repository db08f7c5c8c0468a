// The objects behind the driver API's handles, except graphs (graph.hpp).
#pragma once

#include "driver/timeline.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace simgpu {

struct MemoryPool;

struct Device {
  int index = 0;
  int streams_created = 0;
  std::uint64_t memory_used = 0;
  Context* primary = nullptr;
  unsigned primary_users = 0;  // cuDevicePrimaryCtxRetain minus Release
  unsigned primary_flags = 0;
  std::shared_ptr<MemoryPool> default_pool;  // null: not asked for yet
  std::shared_ptr<MemoryPool> pool;          // what cuMemAllocAsync takes from; null: the default
};

class SharedEvent;

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  CompletionPtr record;                 // null: never recorded
  std::uint64_t record_number = 0;      // of that record
  std::shared_ptr<SharedEvent> shared;  // with other processes, else null

  // Set while the last record was made in a capturing stream.
  std::shared_ptr<Capture> capture;
  CaptureFront captured;  // what the event stands for inside that capture
};

struct Library;

// A kernel of a library or module, in all contexts.
struct Kernel {
  Library* library = nullptr;
  std::string mangled;
  std::string demangled;
  bool takes_work = false;                                  // first parameter is a simgpu_work
  bool takes_meeting = false;                               // first parameter is a simgpu_meeting
  std::optional<std::vector<std::size_t>> parameter_bytes;  // unknown for the runtime's images
  std::vector<const Rule*> rules;                           // those whose name matches, in order
  std::optional<int> image_registers;                       // what a compiled image says
  std::optional<int> image_static_shared_bytes;
  int max_threads = 1024;

  // The last rule of the default file matches everything (model.cpp), so there is always one.
  [[nodiscard]] const Rule& rule_for(const LaunchShape& shape) const {
    for (const Rule* rule : rules) {
      if (rule->matches_launch(shape)) return *rule;
    }
    return *rules.back();
  }
  // The rule that speaks for the kernel when no launch is known.
  [[nodiscard]] const Rule& first_rule() const { return *rules.front(); }
  [[nodiscard]] int registers() const { return image_registers.value_or(first_rule().registers); }
  [[nodiscard]] int static_shared_bytes() const {
    return image_static_shared_bytes.value_or(first_rule().static_shared_bytes);
  }
};

// Settings that cuFuncSetAttribute() changes.
struct FunctionSettings {
  int max_dynamic_shared_bytes = 48 * 1024;
  int preferred_carveout = -1;
  int large_clusters_allowed = 0;
  int cluster_scheduling = CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
};

// A kernel in one context: what CUfunction points to.
struct Function {
  Kernel* kernel = nullptr;
  Context* context = nullptr;
  FunctionSettings settings;
};

struct Variable {
  std::size_t bytes = 0;
  bool managed = false;
  CUdeviceptr address = 0;  // of a managed variable in the library, of others in each module
};

// The code of one image: a CUlibrary, or the inside of a CUmodule.
struct Library {
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::map<std::string, Variable, std::less<>> variables;
};

// A library in one context: what CUmodule points to.
struct Module {
  Context* context = nullptr;
  Library* library = nullptr;
  std::unique_ptr<Library> owned;  // cuModuleLoadData: nobody else has it
  std::unordered_map<Kernel*, std::unique_ptr<Function>> functions;
  std::map<std::string, Variable, std::less<>> variables;
};

struct Context {
  Device* device = nullptr;
  bool primary = false;
  unsigned flags = 0;
  unsigned api_version = 0;
  unsigned long long id = 0;

  std::unordered_set<const Context*> peers;  // cuCtxEnablePeerAccess
  Stream legacy;
  std::map<std::thread::id, std::unique_ptr<Stream>> per_thread;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> streams;
  // Destroyed by the host while they still held work: cuda.h, cuStreamDestroy, "the resources
  // associated with hStream will be released automatically once the device has completed all work".
  std::vector<std::unique_ptr<Stream>> retired;
  std::unordered_map<Event*, std::shared_ptr<Event>> events;  // graph nodes share them
  std::unordered_map<Module*, std::unique_ptr<Module>> modules;
  std::unordered_map<Library*, Module*>
      library_modules;  // filled when a library is first used here

  template <typename CloneRun>
  void for_each_stream(CloneRun&& visit) {
    visit(legacy);
    for (auto& [thread, stream] : per_thread)
      visit(*stream);
    for (auto& [key, stream] : streams)
      visit(*stream);
    for (auto& stream : retired)
      visit(*stream);
  }
};

}  // namespace simgpu
