// cuInit: settings, model file, exit handler, injection library.
#include "driver/call.hpp"
#include "driver/proc_table.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace simgpu {
namespace {

std::atomic<Simulator*> the_simulator{nullptr};
pid_t owner_process = 0;

std::string directory_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&cuInit), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void complain(const std::string& what) {
  std::fprintf(stderr, "simgpu: %s\n", what.c_str());
}

void write_truth() {
  Simulator* simulator = Simulator::instance();
  if (simulator == nullptr || getpid() != owner_process) return;  // a forked child knows nothing
  const std::lock_guard lock(simulator->mutex);
  simulator->engine.pump();
  const auto problem = simulator->truth.write(simulator->settings.truth_file,
                                              {.launches = simulator->launches,
                                               .graph_launches = simulator->graph_launches,
                                               .graph_kernels = simulator->graph_kernels,
                                               .host_now = simulator->engine.host_now()});
  if (!problem.empty()) complain("SIMGPU_TRUTH: " + problem);
}

// Names of driver functions only: the other libraries look after theirs.
void check_names(const Settings& settings) {
  for (const auto& name : settings.missing) {
    if (!is_driver_function(name)) {
      throw SettingsError("SIMGPU_MISSING=" + name +
                          ": expected the base name of a function of the simulated driver");
    }
  }
  for (const auto& rule : settings.fail_rules) {
    const bool other_library =
        rule.function.starts_with("cuda") || rule.function.starts_with("__cuda") ||
        rule.function.starts_with("cublas") || rule.function.starts_with("cudnn") ||
        rule.function.starts_with("nccl") || rule.function.starts_with("cupti") ||
        rule.function.starts_with("nvml");
    if (!other_library && !is_driver_function(rule.function)) {
      throw SettingsError(
          "SIMGPU_FAIL=" + rule.function +
          ": expected a function of the simulated driver, or one of another simulated "
          "library");
    }
  }
}

bool start() {
  const auto& process = process_settings();
  try {
    if (!process.error.empty()) throw SettingsError(process.error);
    check_names(process.settings);
    Model model = read_model(directory_of_this_library() + "/simgpu_model.json", process.settings);
    owner_process = getpid();
    // Never destroyed: hooks and exit handlers of the host may still call.
    the_simulator.store(new Simulator(process.settings, std::move(model)),
                        std::memory_order_release);
  } catch (const std::exception& error) {
    complain(error.what());
    return false;
  }
  if (!process.settings.truth_file.empty() && std::atexit(write_truth) != 0) {
    complain("atexit failed: no truth file");
  }
  return true;
}

// The documented way of tools into a CUDA process (CUPTI 13.0 User Guide, "Injection"): at CUDA
// initialisation the driver loads this library and calls its InitializeInjection.
void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    complain(std::string("CUDA_INJECTION64_PATH: ") + dlerror());
    return;
  }
  auto* entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (entry != nullptr) entry();
}

}  // namespace

Simulator* Simulator::instance() {
  return the_simulator.load(std::memory_order_acquire);
}

Nanoseconds cost_of(const Simulator& simulator, Cost cost) {
  constexpr std::pair<Cost, double HostCosts::*> known[] = {
      {Cost::kLaunch, &HostCosts::launch_us},
      {Cost::kGraphLaunch, &HostCosts::graph_launch_us},
      {Cost::kRecord, &HostCosts::event_record_us},
      {Cost::kQuery, &HostCosts::query_us},
      {Cost::kWait, &HostCosts::wait_us},
      {Cost::kCopy, &HostCosts::copy_us},
      {Cost::kAllocate, &HostCosts::allocate_us},
      {Cost::kOther, &HostCosts::other_us}};
  for (const auto& [of, us] : known) {
    if (of == cost)
      return from_microseconds(simulator.model.host.*us * simulator.settings.host_speed);
  }
  return Nanoseconds{0};
}

}  // namespace simgpu

using simgpu::DriverEntry;

SIMGPU_FUNCTION(cuInit, cuInit_v2000, flags) {
  if (const int injected = entry.begin(); injected != 0) return static_cast<CUresult>(injected);
  // cuda.h, cuInit: "Currently, the Flags parameter must be 0."
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  static std::once_flag started;
  bool first = false;
  std::call_once(started, [&] { first = simgpu::start(); });
  if (simgpu::Simulator::instance() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Outside call_once: the injected library may call cuInit itself.
  if (first) simgpu::load_injection();
  return CUDA_SUCCESS;
}
