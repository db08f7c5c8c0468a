// A copy of "cuBLAS" whose products return a number of its own, INLINE_PROF_TEST_COPY, so that a
// caller sees which copy it has reached.  With m = -1 it throws; with m = -2 it calls the function
// that stands in the handle's place.

extern "C" [[gnu::visibility("default")]] int cublasSgemm_v2(void* handle, int, int, int m, int,
                                                             int, const float*, const float*, int,
                                                             const float*, int, const float*,
                                                             float*, int) {
  if (m == -1) throw INLINE_PROF_TEST_COPY;
  if (m == -2) reinterpret_cast<void (*)()>(handle)();
  return INLINE_PROF_TEST_COPY;
}
