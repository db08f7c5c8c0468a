// For test programs: an unexpected code ends the program.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                   \
  do {                                                                \
    const cudaError_t check_result = (call);                          \
    if (check_result != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(check_result)); \
      std::exit(3);                                                   \
    }                                                                 \
  } while (false)
