// Collectives, sends and receives of known sizes, each once an iteration.
#include "gpu_check.hpp"
#include "named_calls.hpp"
#include "nccl_calls.hpp"

#include <inline_prof/profile.hpp>

using inline_prof::gpu_test::NamedCalls;
using inline_prof::gpu_test::NcclCalls;
using inline_prof::gpu_test::NcclCase;
using inline_prof::gpu_test::Refused;

namespace {

constexpr int kIterations = 40;

}  // namespace

int main() {
  inline_prof::gpu_test::skip_without_gpu();
  NamedCalls calls;
  try {
    const NcclCalls nccl;
    std::printf("ranks %d\n", nccl.ranks());
    nccl.each([&](const NcclCase& each, const std::function<void()>& make) {
      calls.add(each.name, [&] { return make; });
    });
    nccl.synchronize();
    const bool is_good = calls.make_all(kIterations, [] { PROFILE_ITERATION(); });
    nccl.synchronize();
    return is_good ? 0 : 1;
  } catch (const Refused& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
