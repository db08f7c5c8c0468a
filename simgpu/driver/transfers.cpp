#include "driver/transfers.hpp"

#include <cstring>

namespace simgpu {
namespace {

void require_bytes_inside(Simulator& s, const void* begin, std::size_t bytes) {
  require(begin);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const Allocation* at = s.memory.find(address);
  require_value(at == nullptr || bytes <= at->base + at->bytes - address);
}

}  // namespace

void* operand(CUmemorytype type, const void* host, CUdeviceptr device) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return const_cast<void*>(host);
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return pointer(device);
    default:
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // arrays
  }
}

void require_inside(Simulator& s, const CopyWork& work) {
  const auto extent = [&](std::size_t pitch, std::size_t slice) {
    return slice * (work.slices - 1) + pitch * (work.rows - 1) + work.width;
  };
  require_bytes_inside(s, work.source, extent(work.source_pitch, work.source_slice));
  require_bytes_inside(s, work.destination, extent(work.destination_pitch, work.destination_slice));
}

void require_inside(Simulator& s, const FillWork& work) {
  require_value(reinterpret_cast<std::uintptr_t>(work.destination) % work.element_bytes == 0);
  require_bytes_inside(s, work.destination,
                       work.pitch * (work.rows - 1) + work.width * work.element_bytes);
}

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

}  // namespace simgpu
