// Copies and fills: from the vendor's structures to the work, and what the work does to memory.
#pragma once

#include "driver/call.hpp"
#include "driver/graph.hpp"

#include <cstddef>

namespace simgpu {

void move_bytes(const CopyWork& work);
void fill_bytes(const FillWork& work);

// Either side stays inside one allocation, or touches none of ours.
void require_inside(Simulator& s, const CopyWork& work);
void require_inside(Simulator& s, const FillWork& work);

// Arrays are not simulated.
[[nodiscard]] void* operand(CUmemorytype type, const void* host, CUdeviceptr device);

// Makes the work of a CUDA_MEMCPY3D or a CUDA_MEMCPY3D_PEER.
template <typename Box>
CopyWork copy_of(const Box& p) {
  auto* source = static_cast<const char*>(operand(p.srcMemoryType, p.srcHost, p.srcDevice));
  auto* destination = static_cast<char*>(operand(p.dstMemoryType, p.dstHost, p.dstDevice));
  require(source);
  require(destination);
  // cuda.h: a pitch of 0 is only for copies of one row.
  require_value(p.Height <= 1 || (p.srcPitch >= p.WidthInBytes && p.dstPitch >= p.WidthInBytes));
  require_value(p.Depth <= 1 || (p.srcHeight >= p.Height && p.dstHeight >= p.Height));
  const std::size_t source_slice = p.srcPitch * p.srcHeight;
  const std::size_t destination_slice = p.dstPitch * p.dstHeight;
  return {
      .destination = destination + p.dstZ * destination_slice + p.dstY * p.dstPitch + p.dstXInBytes,
      .source = source + p.srcZ * source_slice + p.srcY * p.srcPitch + p.srcXInBytes,
      .destination_pitch = p.dstPitch,
      .source_pitch = p.srcPitch,
      .width = p.WidthInBytes,
      .rows = p.Height,
      .slices = p.Depth,
      .destination_slice = destination_slice,
      .source_slice = source_slice};
}

}  // namespace simgpu
