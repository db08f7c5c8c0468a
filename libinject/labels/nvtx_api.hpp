// NVTX's types, without the code that its header otherwise brings.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
