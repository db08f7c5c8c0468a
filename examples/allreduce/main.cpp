// Trains a small network on several ranks, and checks that all of them have learnt the same.
//
// Exit status: 0 done, 1 the ranks differ or a call failed, 2 the command line is wrong.
#include "device.hpp"
#include "network.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "training.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace {

int batch_of(const allreduce::Options& options, const allreduce::Place& place) {
  const bool is_last = place.rank == place.world_size - 1;
  return is_last ? options.batch + options.batch * options.imbalance / 100 : options.batch;
}

// Returns the exit status.
int check(const allreduce::Network& network, bool is_first) {
  const auto [largest, smallest] = network.weight_sums();
  const bool good = std::isfinite(largest) && largest == smallest;
  if (is_first) {
    std::printf("%s: the sum of all weights is %.9g to %.9g on the ranks\n", good ? "PASS" : "FAIL",
                smallest, largest);
  }
  return good ? 0 : 1;
}

int run_rank(const allreduce::Options& options, const allreduce::Ranks& ranks) {
  const allreduce::Place& place = ranks.place();
  const allreduce::Gpu gpu(place, ranks.exchange_id());
  const int batch = batch_of(options, place);
  std::printf("rank %d of %d: device %d, %s, %d samples\n", place.rank, place.world_size,
              gpu.device(), gpu.name().c_str(), batch);
  allreduce::Network network(gpu, place, options, batch);

  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < options.iterations; ++i)
    network.train_step();
  EXAMPLE_CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const bool is_first = place.rank == 0;
  if (is_first) std::printf("%d iterations in %.2f s\n", options.iterations, seconds.count());
  if (example::is_simulated()) {
    if (is_first) std::printf("simulated GPU: values are not computed, weights not checked\n");
    return 0;
  }
  return check(network, is_first);
}

}  // namespace

int main(int argc, char** argv) {
  allreduce::Options options;
  if (const auto status = allreduce::parse_options(argc, argv, options)) return *status;
  return example::run_program("allreduce", [&] {
    const allreduce::Ranks ranks(options);
    return ranks.is_parent() ? ranks.wait() : run_rank(options, ranks);
  });
}
