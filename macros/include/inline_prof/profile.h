/* The macros with which a program names its work.  For C11 and for C++11 and later.
 *
 *     PROFILE_ITERATION();                                    an iteration starts here
 *     PROFILE_SCOPE("TopMLP.fc5", stream);                    the layer, to the end of the block
 *     PROFILE_OP("fprop.gemm", "gemm", "m", m, "n", n, "k", k, "a_type", "f16");
 *     PROFILE_RECORD("fprop.gemm.start", stream);
 *     ...                                                     work on `stream`
 *     PROFILE_RECORD("fprop.gemm.stop", stream);
 *
 * Without ENABLE_PROFILING they leave no trace in the object file.  With it they call the preloaded
 * library; where none is loaded, one load and a branch remain.  Either way an argument is evaluated
 * at most once, and only if the call is made.  Nothing has to be linked (glibc before 2.34: -ldl).
 *
 * docs/macros.md explains each macro; abi.h is the interface behind them.
 */
#ifndef INLINE_PROF_PROFILE_H
#define INLINE_PROF_PROFILE_H

#ifndef ENABLE_PROFILING

#define INITIALIZE_PROFILER(...) ((void)0)
#define PROFILE_ITERATION() ((void)0)
#define PROFILER_ITER_CHECK(...) ((void)0)
#define PROFILE_RECORD(...) ((void)0)
#define PROFILE_SCOPE(...) ((void)0)
#define PROFILE_OP(...) ((void)0)
#define PROFILE_UNIT_TEST_START(...) ((void)0)
#define PROFILE_UNIT_TEST_STOP() ((void)0)
#ifdef __cplusplus
#define PROFILE_RECORD_DATA(...) (false)
#else
#define PROFILE_RECORD_DATA(...) (0)
#endif

#elif defined(__cplusplus)

#include <inline_prof/profile.hpp>

#else

#include <inline_prof/profile_c.h>

#endif

#endif
