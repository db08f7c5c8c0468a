// cuda.h as the driver itself sees it: the build defines __CUDA_API_VERSION_INTERNAL, with which
// the header declares every version and both stream variants of each function under their real
// symbol names.  The compiler so checks each definition against the vendor's prototype, and the
// pragma exports exactly what the header declares.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop
