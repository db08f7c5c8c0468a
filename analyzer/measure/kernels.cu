#include "measure/kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>

namespace inline_prof::measure {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr std::size_t kMostBlocks = 132 * 16;  // grid-stride loops do the rest

using Unit = uint4;  // what one load moves at best

unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

__device__ std::size_t first_item() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::size_t item_step() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

// SplitMix64 at position `index`: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195.
__device__ std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Returns a number in (0, 1].
__device__ float uniform(std::uint32_t bits) {
  return (static_cast<float>(bits >> 8) + 1.0F) * 0x1p-24F;
}

__device__ float normal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, index);
  const float radius = sqrtf(-2.0F * __logf(uniform(static_cast<std::uint32_t>(bits))));
  return radius * __cosf(6.2831853F * uniform(static_cast<std::uint32_t>(bits >> 32)));
}

__global__ void hold(std::int64_t cycles) {
  const std::int64_t start = clock64();
  while (clock64() - start < cycles) {
  }
}

template <typename T>
__global__ void fill_normal(T* values, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = first_item(); i < count; i += item_step())
    values[i] = T(normal(seed, i));
}

__device__ Unit mixed(Unit a, Unit b) {
  return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w};
}

__device__ bool is_zero(Unit a) {
  return (a.x | a.y | a.z | a.w) == 0;
}

// A store that never happens keeps the loads alive: the mix of normal numbers is not 0.
__global__ void read_units(const Unit* from, std::size_t count, Unit* sum) {
  Unit all{1, 1, 1, 1};
  for (std::size_t i = first_item(); i < count; i += item_step())
    all = mixed(all, from[i]);
  if (is_zero(all)) *sum = all;
}

__global__ void write_units(Unit* to, std::size_t count) {
  for (std::size_t i = first_item(); i < count; i += item_step())
    to[i] = {1, 2, 3, 4};
}

__global__ void copy_units(const Unit* from, Unit* to, std::size_t count) {
  for (std::size_t i = first_item(); i < count; i += item_step())
    to[i] = from[i];
}

__global__ void move_units(const Unit* from, std::size_t read_count, Unit* to,
                           std::size_t write_count) {
  Unit all{1, 1, 1, 1};
  const std::size_t most = read_count > write_count ? read_count : write_count;
  for (std::size_t i = first_item(); i < most; i += item_step()) {
    if (i < read_count) all = mixed(all, from[i]);
    if (i < write_count || is_zero(all)) to[i < write_count ? i : 0] = all;
  }
}

__global__ void add_values(const float4* a, const float4* b, float4* sum, std::size_t count) {
  for (std::size_t i = first_item(); i < count; i += item_step()) {
    const float4 x = a[i];
    const float4 y = b[i];
    sum[i] = {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
  }
}

__global__ void scale_values(float4* values, float factor, std::size_t count) {
  for (std::size_t i = first_item(); i < count; i += item_step()) {
    const float4 x = values[i];
    values[i] = {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
  }
}

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

// `largest`: where the greatest magnitude stands, by which values are scaled to the range of
// f8e4m3; null leaves them as they are.
template <typename From, typename To>
__global__ void cast_values(const Four<From>* from, Four<To>* to, std::size_t count,
                            const float* largest) {
  constexpr float kMostF8 = 448.0F;
  const float factor = largest == nullptr ? 1.0F : kMostF8 / fmaxf(*largest, 1e-12F);
  for (std::size_t i = first_item(); i < count; i += item_step()) {
    const Four<From> in = from[i];
    Four<To> out;
    for (int j = 0; j < 4; ++j)
      out.values[j] = To(static_cast<float>(in.values[j]) * factor);
    to[i] = out;
  }
}

__device__ float warp_largest(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0U, value, offset));
  return value;
}

__device__ float block_largest(float value) {
  __shared__ float of_warps[kThreads / kWarp];
  value = warp_largest(value);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  return warp_largest(of_warps[threadIdx.x % (kThreads / kWarp)]);
}

__global__ void largest_magnitude(const __nv_bfloat16* values, std::size_t count, float* largest) {
  float most = 0;
  for (std::size_t i = first_item(); i < count; i += item_step())
    most = fmaxf(most, fabsf(static_cast<float>(values[i])));
  most = block_largest(most);
  // Bits of floats that are not negative are in the order of the floats.
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(largest), __float_as_int(most));
}

template <typename From, typename To>
void cast(cudaStream_t stream, const void* from, void* to, std::size_t count,
          const float* largest = nullptr) {
  cast_values<<<blocks_for(count / 4), kThreads, 0, stream>>>(
      static_cast<const Four<From>*>(from), static_cast<Four<To>*>(to), count / 4, largest);
}

}  // namespace

void launch_hold(cudaStream_t stream, std::int64_t cycles) {
  hold<<<1, 1, 0, stream>>>(cycles);
}

void launch_fill_normal(cudaStream_t stream, void* values, std::size_t count, Element element,
                        std::uint64_t seed) {
  const auto fill = [&](auto* of_type) {
    fill_normal<<<blocks_for(count), kThreads, 0, stream>>>(of_type, count, seed);
  };
  switch (element) {
    case Element::kF32:
      return fill(static_cast<float*>(values));
    case Element::kF16:
      return fill(static_cast<__half*>(values));
    case Element::kBf16:
      return fill(static_cast<__nv_bfloat16*>(values));
    case Element::kF8e4m3:
      return fill(static_cast<__nv_fp8_e4m3*>(values));
  }
}

void launch_read(cudaStream_t stream, const void* from, void* sum, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(Unit);
  read_units<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const Unit*>(from), count,
                                                         static_cast<Unit*>(sum));
}

void launch_write(cudaStream_t stream, void* to, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(Unit);
  write_units<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<Unit*>(to), count);
}

void launch_copy(cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(Unit);
  copy_units<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const Unit*>(from),
                                                         static_cast<Unit*>(to), count);
}

void launch_add(cudaStream_t stream, const float* a, const float* b, float* sum,
                std::size_t count) {
  add_values<<<blocks_for(count / 4), kThreads, 0, stream>>>(
      reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
      reinterpret_cast<float4*>(sum), count / 4);
}

void launch_scale(cudaStream_t stream, float* values, float factor, std::size_t count) {
  scale_values<<<blocks_for(count / 4), kThreads, 0, stream>>>(reinterpret_cast<float4*>(values),
                                                               factor, count / 4);
}

void launch_cast(cudaStream_t stream, const void* from, Element from_type, void* to,
                 Element to_type, std::size_t count) {
  if (from_type == Element::kF32) {
    cast<float, __nv_bfloat16>(stream, from, to, count);
  } else if (to_type == Element::kF32) {
    cast<__nv_bfloat16, float>(stream, from, to, count);
  } else {
    cast<__nv_bfloat16, __nv_fp8_e4m3>(stream, from, to, count);
  }
}

void launch_move(cudaStream_t stream, const void* from, std::size_t read_bytes, void* to,
                 std::size_t write_bytes) {
  const std::size_t read_count = read_bytes / sizeof(Unit);
  const std::size_t write_count = write_bytes / sizeof(Unit);
  move_units<<<blocks_for(std::max(read_count, write_count)), kThreads, 0, stream>>>(
      static_cast<const Unit*>(from), read_count, static_cast<Unit*>(to), write_count);
}

void launch_quantise(cudaStream_t stream, const void* bf16, void* f8, float* largest,
                     std::size_t count) {
  static_cast<void>(cudaMemsetAsync(largest, 0, sizeof *largest, stream));
  largest_magnitude<<<blocks_for(count / 4), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16*>(bf16), count, largest);
  cast<__nv_bfloat16, __nv_fp8_e4m3>(stream, bf16, f8, count, largest);
}

}  // namespace inline_prof::measure
