/* Uses that must not compile; CMakeLists.txt names the one to try. */
#include <inline_prof/profile.h>

void wrong_use(void* stream, double value);

void wrong_use(void* stream, double value) {
  (void)stream;
  (void)value;
#if defined(A_FLOATING_POINT_VALUE)
  PROFILE_OP("gemm", "gemm", "m", value);
#elif defined(A_NAME_WITHOUT_A_VALUE)
  PROFILE_OP("gemm", "gemm", "m", 1, "n");
#elif defined(TOO_MANY_ARGUMENTS)
  PROFILE_RECORD("gemm.start", stream, 0, 1);
#else
#error "name a wrong use"
#endif
}
