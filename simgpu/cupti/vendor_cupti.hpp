// cupti.h with what it declares exported (see driver/vendor_cuda.hpp).
#pragma once

// cupti.h makes up those structures that cuda.h declares only with it.
#undef __CUDA_API_VERSION_INTERNAL

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cupti.h>
#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif
#pragma GCC visibility pop
