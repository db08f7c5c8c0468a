// cublasLt.h with what it declares exported (see driver/vendor_cuda.hpp).
#pragma once

#pragma GCC visibility push(default)
#include <cublasLt.h>
#include <cuda.h>
#pragma GCC visibility pop
