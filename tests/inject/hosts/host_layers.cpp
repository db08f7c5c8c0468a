// A step of sixty equal layers, on the driver API: 41 launches of a layer, 40 outside, 2,500 in
// all.
//
// Prints "host ok" if every call succeeded.
#include "host.hpp"

namespace {

constexpr int kLayers = 60;
constexpr int kLaunchesOfALayer = 41;
constexpr int kLaunchesOutside = 40;
constexpr int kKernels = 12;

}  // namespace

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 130;
  host::open_context();
  CUstream stream = host::open_stream();
  const auto kernels = host::load_numbered_kernels(kKernels);
  // The grid tells the launches of one kernel apart.
  const auto launch = [&](int number) {
    host::launch(kernels[static_cast<std::size_t>(number % kKernels)], stream,
                 static_cast<unsigned>(100 + number), 128);
  };
  return host::train(iterations, [&] {
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string name = "layers." + std::to_string(layer);
      PROFILE_SCOPE(name.c_str(), stream);
      for (int number = 0; number < kLaunchesOfALayer; ++number)
        launch(number);
    }
    {
      PROFILE_SCOPE("head", stream);
      for (int number = 0; number < kLaunchesOutside; ++number)
        launch(kLaunchesOfALayer + number);
    }
    CHECK(cuStreamSynchronize(stream));
  });
}
