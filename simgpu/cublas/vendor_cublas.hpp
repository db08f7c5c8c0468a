// cublas_v2.h with what it declares exported (see driver/vendor_cuda.hpp).
#pragma once

#pragma GCC visibility push(default)
#include <cublas_v2.h>
#include <cuda.h>
#pragma GCC visibility pop
