// Many launches from many threads on many streams and devices; counts its own.
//
//   host_scale DEVICES STREAMS THREADS LAUNCHES [ITERATIONS]
//
// THREADS share the DEVICES x STREAMS streams; every thread launches on each of them in turn,
// LAUNCHES in all, in ITERATIONS (default 0: none are marked).  Prints "host ok, N launches, R
// KiB", R being the process's largest resident memory.
#include "host.hpp"

#include <barrier>
#include <sys/resource.h>

namespace {

struct Place {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUfunction kernel = nullptr;
};

std::vector<Place> open_places(int devices, int streams) {
  std::vector<Place> places;
  for (int device = 0; device < devices; ++device) {
    CUcontext context = host::open_context(device);
    CUfunction kernel = host::load_kernels({"scaled"})[0];
    for (int i = 0; i < streams; ++i) {
      Place& place = places.emplace_back();
      place.context = context;
      place.kernel = kernel;
      place.stream = host::open_stream();
    }
  }
  return places;
}

std::atomic<long> launched{0};

void launch_in_turn(const std::vector<Place>& places, std::size_t first, long count) {
  long done = 0;
  for (std::size_t i = first; done < count; ++i, ++done) {
    const Place& place = places[i % places.size()];
    CHECK(cuCtxSetCurrent(place.context));
    host::launch(place.kernel, place.stream, 1, 1);
  }
  launched.fetch_add(done);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int devices = std::atoi(argv[1]);
  const int streams = std::atoi(argv[2]);
  const int threads = std::atoi(argv[3]);
  const long launches = std::atol(argv[4]);
  const int iterations = argc > 5 ? std::atoi(argv[5]) : 0;
  const auto places = open_places(devices, streams);
  const int rounds = iterations > 0 ? iterations : 1;
  std::barrier together(threads, [&]() noexcept {
    if (iterations > 0) PROFILE_ITERATION();
  });
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        launch_in_turn(places, static_cast<std::size_t>(t), launches / threads / rounds);
      }
    });
  }
  for (std::thread& worker : workers)
    worker.join();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("host ok, %ld launches, %ld KiB\n", launched.load(), usage.ru_maxrss);
  return 0;
}
