// cupti.h with what it declares exported (see driver/vendor_cuda.hpp).
#pragma once

// cupti.h makes up those structures that cuda.h declares only with it.
#undef __CUDA_API_VERSION_INTERNAL

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cupti.h>
#pragma GCC visibility pop
