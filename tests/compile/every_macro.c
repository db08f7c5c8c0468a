/* Every macro in every form that C has, one a line: identical_object.sh deletes the lines. Compiled
 * with many compilers and standards, with the macros on and off. */
#include <inline_prof/profile.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct CUstream_st* cudaStream_t;

int train(cudaStream_t stream, const char* name, int device_id, size_t bytes);

static int work(int n) {
  return n * 3 + 1;
}

int train(cudaStream_t stream, const char* name, int device_id, size_t bytes) {
  int sum = stream == NULL;
  INITIALIZE_PROFILER(true, false);
  for (int i = 0; i < 10; ++i) {
    PROFILE_ITERATION();
    PROFILER_ITER_CHECK();
    PROFILER_ITER_CHECK(true);
    PROFILE_SCOPE("layer", stream);
    PROFILE_SCOPE(name, NULL);
    PROFILE_OP("gemm", "gemm", "m", i, "bytes", bytes, "type", "f16", "name", name);
    PROFILE_OP("all", "region");
    PROFILE_RECORD("gemm.start", stream);
    sum += work(i);
    PROFILE_RECORD("gemm.stop", stream);
    PROFILE_RECORD(name, stream, device_id);
    PROFILE_RECORD("null.start", 0);
    if (PROFILE_RECORD_DATA("batch", stream)) sum += work(sum);
    if (PROFILE_RECORD_DATA("batch", stream, "7", device_id)) sum += 1;
    PROFILE_UNIT_TEST_START("a test");
    PROFILE_UNIT_TEST_STOP();
  }
  return sum + (int)bytes + device_id + name[0];
}

/* Not for identical_object.sh: here the macros are the only statement of a branch. */
#ifndef ONE_MACRO_A_LINE
void branches(cudaStream_t stream, bool is_even);

void branches(cudaStream_t stream, bool is_even) {
  (void)stream;
  if (is_even)
    PROFILE_RECORD("even.start", stream);
  else
    PROFILE_RECORD("odd.start", stream);
  is_even ? PROFILE_ITERATION() : PROFILE_RECORD("odd.stop", stream);
}
#endif
