// Shared by the benchmarks that compare a function's own address with that of the injected library.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s failed\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}

// Starts the program again with the injected library preloaded, on a simulated driver whose launch
// only returns.  Does nothing in that second run.  `settings`: of the library.
inline void start_again_with_library(
    char** argv, const std::vector<std::pair<const char*, std::string>>& settings) {
  if (std::getenv("INLINE_PROF_BENCH_FOLDER") != nullptr) return;
  const auto folder =
      std::filesystem::temp_directory_path() / ("inline_prof_bench_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  setenv("LD_PRELOAD", INLINE_PROF_BENCH_LIBRARY, 1);
  setenv("LD_LIBRARY_PATH", INLINE_PROF_BENCH_SIMGPU, 1);
  setenv("SIMGPU_LAUNCH", "null", 1);
  setenv("INLINE_PROF_DIR", folder.c_str(), 1);
  setenv("INLINE_PROF_LOG", "quiet", 1);
  setenv("INLINE_PROF_BENCH_FOLDER", folder.c_str(), 1);
  for (const auto& [name, value] : settings)
    setenv(name, value.c_str(), 1);
  execv("/proc/self/exe", argv);
  fail("execv");
}

inline void remove_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(std::getenv("INLINE_PROF_BENCH_FOLDER"), ignored);
}

// Stays on one core, and takes the user's options behind the defaults, so that they win.
inline void initialize(const std::string& program, const std::vector<std::string>& options) {
  cpu_set_t one_core;
  CPU_ZERO(&one_core);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one_core);
  sched_setaffinity(0, sizeof one_core, &one_core);
  std::vector<std::string> arguments{program, "--benchmark_repetitions=15",
                                     "--benchmark_enable_random_interleaving=true",
                                     "--benchmark_min_time=0.02"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
}

// Looks a function up past the injected library, by glibc's own dlsym.
inline void* find_original(void* library, const char* name) {
#if defined(__aarch64__)
  constexpr const char* version = "GLIBC_2.17";
#else
  constexpr const char* version = "GLIBC_2.2.5";
#endif
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (libc == nullptr) fail("dlopen of libc.so.6");
  return reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(libc, "dlsym", version))(library,
                                                                                         name);
}

// Prints as usual, and keeps the processor time per call of every repetition: other programs on
// this machine do not count.
class Collector : public benchmark::ConsoleReporter {
 public:
  // `calls`: in an iteration.
  explicit Collector(double calls)
      : ConsoleReporter(isatty(STDOUT_FILENO) != 0 ? OO_ColorTabular : OO_Tabular), calls_(calls) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& each : runs) {
      if (each.run_type != Run::RT_Iteration || each.iterations == 0) continue;
      times_ns_[each.run_name.function_name].push_back(each.GetAdjustedCPUTime() / calls_);
    }
    ConsoleReporter::ReportRuns(runs);
  }

  // Returns 0 for a benchmark that the user has left out.
  [[nodiscard]] double median_ns(const std::string& name) {
    auto& times = times_ns_[name];
    if (times.empty()) return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  double calls_;
  std::map<std::string, std::vector<double>> times_ns_;
};

}  // namespace bench
