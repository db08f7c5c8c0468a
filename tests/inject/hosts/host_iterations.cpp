// Launches kernels in the order of a made-up training program that does not say where its
// iterations begin (tests/unit/schedule/launch_program.hpp), on the driver API.
//
//   host_iterations --shape=NAME [--truth=FILE]
//
// FILE gets the index of the first launch of each iteration, counted from 0 on the stream, a line
// each.  Prints "host ok" if every call succeeded.
#include "host.hpp"
#include "launch_program.hpp"

#include <cuda.h>

#include <barrier>
#include <cstddef>
#include <cstdio>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using inline_prof::schedule::test::LaunchProgram;

struct Gpu {
  CUcontext context = nullptr;
  bool has_only_its_default_stream = false;
  std::unordered_map<std::uint32_t, CUfunction> kernels;
};

// Kernel 103 is called k103_.
Gpu open_gpu(const std::vector<LaunchProgram>& programs, int device = 0) {
  std::set<std::uint32_t> numbers;
  for (const LaunchProgram& program : programs)
    numbers.insert(program.launches().begin(), program.launches().end());
  Gpu gpu;
  gpu.context = host::open_context(device);
  std::vector<std::string> names;
  names.reserve(numbers.size());
  for (const std::uint32_t number : numbers)
    names.push_back("k" + std::to_string(number) + "_");
  const auto kernels = host::load_kernels(names);
  std::size_t next = 0;
  for (const std::uint32_t number : numbers)
    gpu.kernels[number] = kernels[next++];
  return gpu;
}

// The application is some iterations ahead of the GPU, as hosts are, and waits for it now and then.
constexpr std::size_t kLaunchesBetweenWaits = 2000;

// The threads of a training program wait for one another once an iteration: none of them is through
// before another has begun.
constexpr std::size_t kMeetings = 60;

void run(const Gpu& gpu, const LaunchProgram& program, std::barrier<>& meeting,
         std::latch* is_met = nullptr) {
  CHECK(cuCtxSetCurrent(gpu.context));
  CUstream stream = gpu.has_only_its_default_stream ? nullptr : host::open_stream();
  const auto& launches = program.launches();
  std::size_t launched = 0;
  const auto launch_next = [&] {
    host::launch(gpu.kernels.at(launches[launched]), stream, 16, 128);
    if (++launched % kLaunchesBetweenWaits == 0) CHECK(cuStreamSynchronize(stream));
  };
  launch_next();
  if (is_met != nullptr) is_met->count_down();
  for (std::size_t part = 1; part <= kMeetings; ++part) {
    meeting.arrive_and_wait();
    while (launched < launches.size() * part / kMeetings)
      launch_next();
  }
  CHECK(cuStreamSynchronize(stream));
}

void write_truth(const std::string& path, const LaunchProgram& program) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) host::fail(path.c_str(), 0);
  for (const std::uint64_t start : program.starts())
    std::fprintf(file, "%llu\n", static_cast<unsigned long long>(start));
  if (std::fclose(file) != 0) host::fail(path.c_str(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  namespace shapes = inline_prof::schedule::test;
  host::Arguments arguments(argc, argv);
  const std::string shape = arguments.text("--shape");
  const std::string truth = arguments.text("--truth");
  arguments.expect_none_left();
  // The first stream is the busiest; the others have threads of their own, and one a device.
  std::vector<LaunchProgram> programs{shapes::program_named(shape)};
  if (programs.front().launches().empty()) host::fail(shape.c_str(), 2);
  if (shape == "streams_threads") {
    programs.push_back(shapes::one_stream_of_several(11, 8, 60));
    programs.push_back(shapes::batches(12, 3, 60));
  }
  if (shape == "two_devices") programs.push_back(shapes::plain(13, 12, 60));
  if (!truth.empty()) write_truth(truth, programs.front());

  Gpu gpu = open_gpu(programs);
  Gpu gpu_of_others = gpu;
  if (shape == "two_devices") {
    gpu_of_others = open_gpu(programs, 1);
    gpu.has_only_its_default_stream = gpu_of_others.has_only_its_default_stream = true;
  }
  std::barrier meeting(static_cast<std::ptrdiff_t>(programs.size()));
  std::vector<std::thread> threads;
  std::latch first_stream_is_met(1);
  for (std::size_t i = 1; i < programs.size(); ++i) {
    threads.emplace_back([&, &program = programs[i]] {
      first_stream_is_met.wait();
      run(gpu_of_others, program, meeting);
    });
  }
  run(gpu, programs.front(), meeting, &first_stream_is_met);
  for (std::thread& thread : threads)
    thread.join();
  std::printf("host ok\n");
  return 0;
}
