#include "driver/transfers.hpp"

#include <cstring>

namespace inline_prof::simgpu {

void move_bytes(const CopyWork& work) {
  for (std::size_t slice = 0; slice < work.slices; ++slice) {
    char* to = static_cast<char*>(work.destination) + slice * work.destination_slice;
    const char* from = static_cast<const char*>(work.source) + slice * work.source_slice;
    for (std::size_t row = 0; row < work.rows; ++row) {
      std::memmove(to + row * work.destination_pitch, from + row * work.source_pitch, work.width);
    }
  }
}

void fill_bytes(const FillWork& work) {
  for (std::size_t row = 0; row < work.rows; ++row) {
    char* begin = static_cast<char*>(work.destination) + row * work.pitch;
    if (work.element_bytes == 1) {
      std::memset(begin, static_cast<int>(work.value & 0xffU), work.width);
      continue;
    }
    for (std::size_t i = 0; i < work.width; ++i) {  // little endian: the low bytes come first
      std::memcpy(begin + i * work.element_bytes, &work.value, work.element_bytes);
    }
  }
}

}  // namespace inline_prof::simgpu
