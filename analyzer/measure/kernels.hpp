// Our own kernels: work that no library has, and helpers around timed work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inline_prof::measure {

enum class Element : std::uint8_t { kF32, kF16, kBf16, kF8e4m3 };

// Throws Skipped for a type that has no kernels.
[[nodiscard]] Element element_of(std::string_view type);
[[nodiscard]] std::size_t bytes_of(Element element);

// Keeps the stream busy for so many cycles of the SM clock.
void launch_hold(cudaStream_t stream, std::int64_t cycles);

// Fills with numbers as in training: normal, mean 0, deviation 1.
void launch_fill_normal(cudaStream_t stream, void* values, std::size_t count, Element element,
                        std::uint64_t seed);
// Bytes are rounded down to whole units of 16.
void launch_read(cudaStream_t stream, const void* from, void* sum, std::size_t bytes);
void launch_write(cudaStream_t stream, void* to, std::size_t bytes);
void launch_copy(cudaStream_t stream, const void* from, void* to, std::size_t bytes);
void launch_add(cudaStream_t stream, const float* a, const float* b, float* sum, std::size_t count);
void launch_scale(cudaStream_t stream, float* values, float factor, std::size_t count);
void launch_cast(cudaStream_t stream, const void* from, Element from_type, void* to,
                 Element to_type, std::size_t count);
// Reads and writes so many bytes, for operations of which nothing else is known.
void launch_move(cudaStream_t stream, const void* from, std::size_t read_bytes, void* to,
                 std::size_t write_bytes);
// Converts bf16 to f8e4m3 in two steps: finds the largest magnitude, then scales by it.
void launch_quantise(cudaStream_t stream, const void* bf16, void* f8, float* largest,
                     std::size_t count);

}  // namespace inline_prof::measure
