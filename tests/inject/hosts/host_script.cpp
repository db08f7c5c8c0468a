// Runs a program from a file, a step a line (random_hosts.py draws such files):
//
//   host_script FILE
//
// Steps before `loop N` run once, those up to `end` N times, those after it once.  A step may begin
// with `?K+R` (only where the turn of the loop is R modulo K), `!R` (only in turn R), and `@T` (on
// the worker thread T; the steps of one `together` line run at the same time on all workers).
// Objects have small numbers; a step that names one that is not there does nothing.  Prints what
// the driver answered, in all, and "peak N KiB" on the line after.
#include "host.hpp"

#include <inline_prof/abi.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

namespace {

// --- what the driver has answered so far

std::atomic<std::uint64_t> calls{0};
std::map<int, std::uint64_t> errors;
std::mutex errors_mutex;

bool worked(CUresult result) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (result == CUDA_SUCCESS) return true;
  const std::lock_guard lock(errors_mutex);
  ++errors[result];
  return false;
}

void print_answers() {
  std::printf("%llu calls", static_cast<unsigned long long>(calls.load()));
  for (const auto& [code, count] : errors)
    std::printf(", error %d: %llu", code, static_cast<unsigned long long>(count));
  // Not getrusage(): its largest resident memory is also that of who started the program.
  long kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    std::sscanf(line.c_str(), "VmHWM: %ld kB", &kib);
  std::printf("\npeak %ld KiB\n", kib);
  std::fflush(stdout);
}

// --- the program's objects

constexpr int kKernels = 4;  // of a module

struct Module {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  std::array<CUfunction, kKernels> kernels{};
};

struct Graph {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  std::set<int> modules{};  // of its kernels
};

std::map<int, CUcontext> contexts;
std::map<int, CUstream> streams{{0, CU_STREAM_LEGACY}, {1, CU_STREAM_PER_THREAD}};
std::map<int, Module> modules;
std::map<int, Graph> graphs;
int current_context = 0;
int many_modules = 0;

std::string module_text(const std::string& prefix, int kernels) {
  std::string text = ".version 6.0\n.target sm_50\n.address_size 64\n";
  for (int i = 0; i < kernels; ++i)
    text += ".visible .entry " + prefix + std::to_string(i) + "()\n{\nret;\n}\n";
  return text;
}

// Everything that a context had is gone with it.
void forget_objects() {
  modules.clear();
  graphs.clear();
  streams = {{0, CU_STREAM_LEGACY}, {1, CU_STREAM_PER_THREAD}};
}

template <typename Map>
auto* found(Map& map, int id) {
  const auto at = map.find(id);
  return at == map.end() ? nullptr : &at->second;
}

CUresult launch(CUfunction kernel, CUstream stream, unsigned grid = 1, unsigned block = 32) {
  return cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, stream, nullptr, nullptr);
}

CUresult launch_ex(CUfunction kernel, CUstream stream) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, kernel, nullptr, nullptr);
}

// --- steps

using Words = std::istringstream;

int number(Words& words, int otherwise = 0) {
  int value = otherwise;
  words >> value;
  return value;
}

std::string word(Words& words) {
  std::string text;
  words >> text;
  return text;
}

void load_module(Words& words) {
  const int id = number(words);
  const std::string prefix = word(words) + "_k";
  const bool as_library = word(words) == "library";
  if (modules.contains(id)) return;
  Module made;
  const std::string text = module_text(prefix, kKernels);
  const bool is_loaded = as_library ? worked(cuLibraryLoadData(&made.library, text.c_str(), nullptr,
                                                               nullptr, 0, nullptr, nullptr, 0))
                                    : worked(cuModuleLoadData(&made.module, text.c_str()));
  if (!is_loaded) return;
  for (std::size_t i = 0; i < kKernels; ++i) {
    const std::string name = prefix + std::to_string(i);
    CUkernel kernel = nullptr;
    if (!as_library) {
      worked(cuModuleGetFunction(&made.kernels[i], made.module, name.c_str()));
    } else if (worked(cuLibraryGetKernel(&kernel, made.library, name.c_str()))) {
      worked(cuKernelGetFunction(&made.kernels[i], kernel));
    }
  }
  modules[id] = made;
}

void destroy(const Graph& graph) {
  worked(cuGraphExecDestroy(graph.exec));
  worked(cuGraphDestroy(graph.graph));
}

// A graph whose kernels have gone may not be replayed.
void unload_module(Words& words) {
  const int id = number(words);
  const Module* module = found(modules, id);
  if (module == nullptr) return;
  worked(cuCtxSynchronize());
  std::erase_if(graphs, [&](const auto& each) {
    if (!each.second.modules.contains(id)) return false;
    destroy(each.second);
    return true;
  });
  worked(module->library != nullptr ? cuLibraryUnload(module->library)
                                    : cuModuleUnload(module->module));
  modules.erase(id);
}

// As an autotuner does: each of many kernels once.
void try_many(Words& words) {
  const int count = number(words);
  const CUstream* stream = found(streams, number(words));
  if (stream == nullptr) return;
  constexpr int in_a_module = 100;
  for (int done = 0; done < count; done += in_a_module) {
    const std::string prefix = "many" + std::to_string(many_modules++) + "_k";
    CUmodule module = nullptr;
    if (!worked(cuModuleLoadData(&module, module_text(prefix, in_a_module).c_str()))) return;
    for (int i = 0; i < in_a_module; ++i) {
      CUfunction kernel = nullptr;
      if (worked(cuModuleGetFunction(&kernel, module, (prefix + std::to_string(i)).c_str())))
        worked(launch(kernel, *stream));
    }
    worked(cuStreamSynchronize(*stream));
  }
}

struct KernelOnStream {
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
};

KernelOnStream kernel_on_stream(Words& words) {
  const Module* module = found(modules, number(words));
  const int kernel = number(words);
  const CUstream* stream = found(streams, number(words));
  if (module == nullptr || stream == nullptr) return {};
  return {module->kernels[static_cast<std::size_t>(kernel) % kKernels], *stream};
}

void launch_kernel(Words& words) {
  const auto [kernel, stream] = kernel_on_stream(words);
  if (kernel == nullptr) return;
  const int count = number(words, 1);
  for (int i = 0; i < count; ++i)
    worked(i % 2 == 0 ? launch(kernel, stream) : launch_ex(kernel, stream));
}

void launch_wrongly(Words& words) {
  const auto [kernel, stream] = kernel_on_stream(words);
  if (kernel != nullptr) worked(launch(kernel, stream, 1, 4096));  // more than a block may have
}

CUgraph graph_of(const Module& module, int kernels, unsigned grid) {
  CUgraph graph = nullptr;
  if (!worked(cuGraphCreate(&graph, 0))) return nullptr;
  CUgraphNode last = nullptr;
  for (int i = 0; i < kernels; ++i) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = module.kernels[static_cast<std::size_t>(i) % kKernels];
    parameters.gridDimX = grid;
    parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = 32;
    parameters.blockDimY = parameters.blockDimZ = 1;
    CUgraphNode node = nullptr;
    const CUgraphNode* after = last == nullptr ? nullptr : &last;
    worked(cuGraphAddKernelNode(&node, graph, after, last == nullptr ? 0 : 1, &parameters));
    last = node;
  }
  return graph;
}

// Graphs that are no like others, each replayed once.
void churn(Words& words) {
  static unsigned shape = 1;
  const int count = number(words);
  const Module* module = found(modules, number(words));
  const CUstream* stream = found(streams, number(words));
  if (module == nullptr || stream == nullptr) return;
  for (int i = 0; i < count; ++i) {
    CUgraphExec exec = nullptr;
    CUgraph graph = graph_of(*module, 2, ++shape);
    if (graph == nullptr) return;
    if (worked(cuGraphInstantiate(&exec, graph, 0))) {
      worked(cuGraphLaunch(exec, *stream));
      worked(cuGraphExecDestroy(exec));
    }
    worked(cuGraphDestroy(graph));
  }
}

// By a capture if a stream is named.
void make_graph(Words& words) {
  const int id = number(words);
  const int module_id = number(words);
  const Module* module = found(modules, module_id);
  const int kernels = number(words, 1);
  const int stream_id = number(words, -1);
  const CUstream* stream = found(streams, stream_id);
  if (module == nullptr || graphs.contains(id) || (stream_id >= 0 && stream == nullptr)) return;
  Graph made{.modules = {module_id}};
  if (stream == nullptr) {
    made.graph = graph_of(*module, kernels, 1);
  } else {
    if (!worked(cuStreamBeginCapture(*stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kernels); ++i)
      worked(launch(module->kernels[i % kKernels], *stream));
    if (!worked(cuStreamEndCapture(*stream, &made.graph))) return;
  }
  if (made.graph != nullptr && worked(cuGraphInstantiate(&made.exec, made.graph, 0)))
    graphs[id] = made;
}

void update_graph(Words& words) {
  Graph* graph = found(graphs, number(words));
  const int module_id = number(words);
  const Module* module = found(modules, module_id);
  const int kernels = number(words, 1);
  if (graph != nullptr) graph->modules.insert(module_id);
  if (graph == nullptr || module == nullptr) return;
  CUgraph other = graph_of(*module, kernels, 3);
  CUgraphExecUpdateResultInfo info{};
  worked(cuGraphExecUpdate(graph->exec, other, &info));
  worked(cuGraphDestroy(other));
}

void replay_graph(Words& words) {
  const Graph* graph = found(graphs, number(words));
  const CUstream* stream = found(streams, number(words));
  if (graph != nullptr && stream != nullptr) worked(cuGraphLaunch(graph->exec, *stream));
}

void destroy_graph(Words& words) {
  const int id = number(words);
  const Graph* graph = found(graphs, id);
  if (graph == nullptr) return;
  worked(cuCtxSynchronize());
  destroy(*graph);
  graphs.erase(id);
}

void make_context(Words& words) {
  const int id = number(words);
  const bool is_primary = word(words) != "create";
  if (contexts.contains(id)) return;
  CUcontext context = nullptr;
  const CUresult result =
      is_primary ? cuDevicePrimaryCtxRetain(&context, 0) : cuCtxCreate(&context, nullptr, 0, 0);
  if (!worked(result)) return;
  worked(cuCtxSetCurrent(context));
  contexts[id] = context;
  current_context = id;
  forget_objects();
}

void destroy_context(Words& words) {
  const int id = number(words);
  CUcontext* context = found(contexts, id);
  if (context == nullptr) return;
  worked(cuCtxSynchronize());
  worked(cuCtxDestroy(*context));
  contexts.erase(id);
  forget_objects();
}

void reset_device(Words&) {
  worked(cuCtxSynchronize());
  worked(cuDevicePrimaryCtxReset(0));
  forget_objects();
  CUcontext context = nullptr;
  if (worked(cuDevicePrimaryCtxRetain(&context, 0))) worked(cuCtxSetCurrent(context));
  contexts[0] = context;
}

// Anew: the one that it was stays.
template <bool kIsAnew>
void make_stream(Words& words) {
  const int id = number(words);
  if (streams.contains(id) != kIsAnew || (kIsAnew && id < 2)) return;
  CUstream stream = nullptr;
  if (worked(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))) streams[id] = stream;
}

void destroy_stream(Words& words) {
  const int id = number(words);
  const CUstream* stream = found(streams, id);
  if (stream == nullptr || id < 2) return;
  worked(cuStreamDestroy(*stream));
  streams.erase(id);
}

void label(Words& words) {
  using Get = const inline_prof_abi* (*)();
  static const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, INLINE_PROF_ABI_SYMBOL));
  const std::string text = word(words);
  const CUstream* stream = found(streams, number(words));
  if (get != nullptr && stream != nullptr)
    get()->record(nullptr, text.c_str(), *stream, INLINE_PROF_DEVICE_UNKNOWN, 0, nullptr);
}

void fork_child(Words&) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

[[noreturn]] void finish(Words& words) {
  const std::string how = word(words);
  const int status = number(words);
  print_answers();
  if (how == "_exit") _exit(status);
  if (how == "quick_exit") std::quick_exit(status);
  if (how == "abort") std::abort();
  if (how == "exec") execl("/bin/true", "/bin/true", nullptr);
  std::exit(status);
}

const std::map<std::string, void (*)(Words&)>& verbs() {
  static const std::map<std::string, void (*)(Words&)> all{
      {"context", make_context},
      {"uncontext", destroy_context},
      {"reset", reset_device},
      {"stream", make_stream<false>},
      {"restream", make_stream<true>},
      {"unstream", destroy_stream},
      {"module", load_module},
      {"unmodule", unload_module},
      {"many", try_many},
      {"launch", launch_kernel},
      {"badlaunch", launch_wrongly},
      {"churn", churn},
      {"graph", make_graph},
      {"capture", make_graph},
      {"update", update_graph},
      {"replay", replay_graph},
      {"ungraph", destroy_graph},
      {"label", label},
      {"fork", fork_child},
      {"iteration", [](Words&) { PROFILE_ITERATION(); }},
      {"sync", [](Words&) { worked(cuCtxSynchronize()); }},
      {"raise", [](Words& words) { std::raise(number(words, SIGTERM)); }},
      {"finish", finish},
  };
  return all;
}

// --- threads

// A thread that does what it is told, one thing after the other.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    give({});
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void give(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    is_wanted_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_wanted_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_wanted_; });
      if (!work_) return;
      lock.unlock();
      work_();
      lock.lock();
      is_wanted_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool is_wanted_ = false;
  std::thread thread_;  // last: it uses the others
};

constexpr int kWorkers = 4;
std::array<std::unique_ptr<Worker>, kWorkers> workers;

Worker& worker(int id) {
  auto& one = workers[static_cast<std::size_t>(id) % kWorkers];
  if (!one) one = std::make_unique<Worker>();
  return *one;
}

void carry_out(const std::string& step) {
  Words words(step);
  const auto verb = verbs().find(word(words));
  if (verb != verbs().end()) verb->second(words);
}

void use_context_and_carry_out(CUcontext context, const std::string& step) {
  if (context != nullptr) cuCtxSetCurrent(context);
  carry_out(step);
}

// Every worker does the step, four of them, at the same time.
void carry_out_together(const std::string& step) {
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  for (int i = 0; i < kWorkers; ++i)
    worker(i).give([context, &step] { use_context_and_carry_out(context, step); });
  for (int i = 0; i < kWorkers; ++i)
    worker(i).wait();
}

void take_step(std::string step, int turn) {
  int every = 1;
  int rest = 0;
  if (std::sscanf(step.c_str(), "?%d+%d", &every, &rest) == 2) {
    if (turn % every != rest) return;
    step = step.substr(step.find(' ') + 1);
  } else if (std::sscanf(step.c_str(), "!%d", &rest) == 1) {
    if (turn != rest) return;
    step = step.substr(step.find(' ') + 1);
  }
  int thread = 0;
  if (step.rfind("together ", 0) == 0) return carry_out_together(step.substr(9));
  if (std::sscanf(step.c_str(), "@%d", &thread) != 1) return carry_out(step);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  const std::string rest_of_step = step.substr(step.find(' ') + 1);
  worker(thread).give([&] { use_context_and_carry_out(context, rest_of_step); });
  worker(thread).wait();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::ifstream file(argv[1]);
  std::array<std::vector<std::string>, 3> parts;  // before the loop, its body, behind it
  std::size_t part = 0;
  int turns = 0;
  for (std::string line; std::getline(file, line);) {
    if (std::sscanf(line.c_str(), "loop %d", &turns) == 1 || line == "end") {
      ++part;
    } else {
      parts.at(part).push_back(line);
    }
  }
  const auto take_steps = [&](std::size_t of, int turn) {
    for (const std::string& step : parts[of])
      take_step(step, turn);
  };
  worked(cuInit(0));
  take_steps(0, 0);
  for (int turn = 0; turn < turns; ++turn)
    take_steps(1, turn);
  take_steps(2, turns);
  print_answers();
  for (auto& one : workers)
    one.reset();
  return 0;
}
