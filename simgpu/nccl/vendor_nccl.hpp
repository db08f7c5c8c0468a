// nccl.h with what it declares exported (see driver/vendor_cuda.hpp).
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#include <nccl.h>
#pragma GCC visibility pop
