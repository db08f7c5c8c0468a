// Tensor maps: what tells the device's copy engine of tiles where a tensor lies.  Nothing is copied
// by them here; what they are made of is checked as the header says.
#include "driver/call.hpp"

#include <algorithm>
#include <array>
#include <span>

using namespace simgpu;

namespace {

struct MapType {
  unsigned bits;
  std::uint64_t alignment;  // of the address and of strides
};

MapType type_of(CUtensorMapDataType type) {
  constexpr std::array types{MapType{8, 16},  MapType{16, 16}, MapType{32, 16}, MapType{32, 16},
                             MapType{64, 16}, MapType{64, 16}, MapType{16, 16}, MapType{32, 16},
                             MapType{64, 16}, MapType{16, 16}, MapType{32, 16}, MapType{32, 16},
                             MapType{32, 16}, MapType{4, 16},  MapType{4, 32},  MapType{6, 32}};
  require_value(type >= 0 && static_cast<std::size_t>(type) < types.size());
  return types.at(static_cast<std::size_t>(type));
}

bool is_aligned(const void* address, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

SIMGPU_CALL(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled_v12000, kOther, map, type, rank, address,
            dims, strides, box, steps, interleave, swizzle, promotion, fill) {
  MapType element = type_of(type);
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B) element.alignment = 32;
  // "must be non-zero and less than or equal to the maximum supported dimensionality of 5.  If
  // interleave is not ..._NONE, then tensorRank must additionally be greater than or equal to 3."
  require_value(map != nullptr && is_aligned(map, 64) && is_aligned(address, element.alignment) &&
                rank >= (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? 1 : 3) && rank <= 5);
  require_value(dims != nullptr && box != nullptr && steps != nullptr &&
                (strides != nullptr || rank == 1));
  const auto all = [&](const auto* values, std::size_t count, std::uint64_t least,
                       std::uint64_t most) {
    return std::all_of(values, values + count,
                       [&](std::uint64_t value) { return value >= least && value <= most; });
  };
  require_value(all(dims, rank, 1, std::uint64_t{1} << 32) && all(box, rank, 1, 256) &&
                all(steps, rank, 1, 8));
  for (const std::uint64_t stride : std::span(strides, rank - 1))
    require_value(stride % element.alignment == 0 && stride < (std::uint64_t{1} << 40));
  const std::uint64_t inner_bytes = std::uint64_t{box[0]} * element.bits / 8;
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    const std::uint64_t room = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE  ? ~std::uint64_t{0}
                               : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32
                               : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                                                                      : 128;
    require_value(inner_bytes % 16 == 0 && inner_bytes <= room);
  }
  require_value(promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
                fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  *map = {};
  map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
  map->opaque[1] = static_cast<std::uint64_t>(type) << 32 | rank;
  std::copy_n(dims, rank, map->opaque + 2);
}

SIMGPU_CALL(cuTensorMapReplaceAddress, cuTensorMapReplaceAddress_v12000, kOther, map, address) {
  require_value(map != nullptr && is_aligned(map, 64) && is_aligned(address, 16));
  map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
}
