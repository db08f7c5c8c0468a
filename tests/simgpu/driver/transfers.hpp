// What copies and fills do to memory.
#pragma once

#include "driver/graph.hpp"

namespace inline_prof::simgpu {

void move_bytes(const CopyWork& work);
void fill_bytes(const FillWork& work);

}  // namespace inline_prof::simgpu
