// Every macro in every form that C++ has, one a line: identical_object.sh deletes the lines.
// Compiled with many compilers and standards, with the macros on and off, and by nvcc.
#include <inline_prof/profile.h>

#include <cstddef>
#include <string>

#ifndef __CUDACC__
struct CUstream_st;
using cudaStream_t = CUstream_st*;
#endif

namespace {

// Converts to a stream, like the stream types of PyTorch, RMM and others.
struct StreamView {
  operator cudaStream_t() const { return stream; }
  cudaStream_t stream;
};

template <typename Number>
Number in_a_template(Number value, cudaStream_t stream) {
  PROFILE_RECORD("template.start", stream);
  static_cast<void>(stream);
  return value * 3;
}

struct Network {
  static const int kDim = 128;  // no definition: must not be referred to
  cudaStream_t stream;
  std::string name;

  int step(int device_id, std::size_t bytes) const {
    int sum = kDim;
    PROFILE_ITERATION();
    PROFILER_ITER_CHECK();
    PROFILER_ITER_CHECK(true);
    PROFILE_SCOPE("layer", stream);
    PROFILE_SCOPE(name, nullptr);
    PROFILE_OP("gemm", "gemm", "m", kDim, "bytes", bytes, "type", "f16", "name", name);
    PROFILE_OP(name, "region");
    PROFILE_RECORD("gemm.start", stream);
    sum += in_a_template(device_id, stream);
    PROFILE_RECORD("gemm.stop", StreamView{stream});
    PROFILE_RECORD(name + ".start", stream, true);
    PROFILE_RECORD(name.c_str(), stream, device_id);
    PROFILE_RECORD("gemm.start", stream, bytes);
    PROFILE_RECORD("gemm.start", stream, false, device_id);
    PROFILE_RECORD("gemm.start", stream, false, device_id, name);
    PROFILE_RECORD("gemm.start", nullptr, false, device_id, "extra");
    const auto closure = [&](int n) {
      PROFILE_RECORD("closure.start", stream);
      return n + 1;
    };
    sum += closure(sum);
    if (PROFILE_RECORD_DATA("batch", stream)) sum += 1;
    if (PROFILE_RECORD_DATA(name, stream, std::to_string(sum))) sum += 2;
    if (PROFILE_RECORD_DATA("batch", stream, "7", device_id)) sum += 3;
    PROFILE_UNIT_TEST_START("a test");
    PROFILE_UNIT_TEST_START(name);
    PROFILE_UNIT_TEST_STOP();
    return sum + static_cast<int>(bytes);
  }
};

}  // namespace

int train(cudaStream_t stream, const std::string& name);

int train(cudaStream_t stream, const std::string& name) {
  INITIALIZE_PROFILER(true, false);
  return Network{stream, name}.step(0, 1);
}

// Not for identical_object.sh: here the macros are the only statement of a branch.
#ifndef ONE_MACRO_A_LINE
void branches(cudaStream_t stream, bool is_even);

void branches(cudaStream_t stream, bool is_even) {
  static_cast<void>(stream);
  if (is_even)
    PROFILE_RECORD("even.start", stream);
  else
    PROFILE_RECORD("odd.start", stream);
  is_even ? PROFILE_ITERATION() : PROFILE_RECORD("odd.stop", stream);
}
#endif
