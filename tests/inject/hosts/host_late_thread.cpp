// A training loop on one stream, and a thread that launches another kernel there from the twelfth
// iteration on, for some of them.
#include "host.hpp"

// Defined in tests/inject/tools/turns_tool.cpp.
extern "C" [[gnu::weak]] void wait_for_a_held_launch();

namespace {

constexpr int kIterations = 60;
constexpr int kLaunches = 6;
constexpr int kOfTheOther = 30;

}  // namespace

int main() {
  CUcontext context = host::open_context();
  CUstream stream = host::open_stream();
  const auto kernels = host::load_kernels({"of_the_loop", "of_the_other"});
  std::thread other;
  for (int i = 0; i < kIterations; ++i) {
    PROFILE_ITERATION();
    if (i == 12) {
      other = std::thread([&] {
        CHECK(cuCtxSetCurrent(context));
        for (int k = 0; k < kOfTheOther; ++k)
          host::launch(kernels[1], stream);
      });
      if (wait_for_a_held_launch != nullptr) wait_for_a_held_launch();
    }
    for (int k = 0; k < kLaunches; ++k)
      host::launch(kernels[0], stream);
    if (i % 8 == 7) CHECK(cuStreamSynchronize(stream));
  }
  other.join();
  return host::finish();
}
