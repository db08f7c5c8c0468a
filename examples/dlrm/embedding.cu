#include "embedding.hpp"
#include "random.cuh"

#include <inline_prof/profile.h>

namespace dlrm {
namespace {

constexpr int kWarpSize = 32;
constexpr int kWarpsPerBlock = 4;  // a warp works on one vector: one sample of one table
constexpr int kThreads = kWarpsPerBlock * kWarpSize;

// Uniform in +-1/sqrt(dim): dot products of two vectors then start well below 1.
__global__ void initialize_tables(std::uint64_t seed, std::size_t count, float scale,
                                  float* tables) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    tables[i] = scale * random_uniform(seed, i);
  }
}

// The vector and table that this warp works on.
struct WarpTask {
  std::size_t vector;     // sample * tables + table
  std::size_t first_row;  // of the table, counted through all tables
  int lane;
  bool is_beyond_batch;
};

__device__ WarpTask warp_task(const Shape& shape) {
  const std::size_t vectors = static_cast<std::size_t>(shape.batch) * shape.tables;
  const std::size_t vector =
      static_cast<std::size_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarpSize;
  return {vector, vector % shape.tables * shape.rows, static_cast<int>(threadIdx.x % kWarpSize),
          vector >= vectors};
}

__global__ void mapping_and_fuse(Shape shape, const std::int32_t* indices, const float* tables,
                                 __half* vectors) {
  const WarpTask task = warp_task(shape);
  if (task.is_beyond_batch) return;
  const std::int32_t* const bag = indices + task.vector * shape.bag;
  for (int d = task.lane; d < shape.dim; d += kWarpSize) {
    float sum = 0.0F;
    for (int i = 0; i < shape.bag; ++i) {
      sum += tables[(task.first_row + bag[i]) * shape.dim + d];
    }
    vectors[task.vector * shape.dim + d] = __float2half(sum);
  }
}

__global__ void sgd_atomic_update(Shape shape, const std::int32_t* indices, const __half* gradient,
                                  float step, float* tables) {
  const WarpTask task = warp_task(shape);
  if (task.is_beyond_batch) return;
  const std::int32_t* const bag = indices + task.vector * shape.bag;
  for (int d = task.lane; d < shape.dim; d += kWarpSize) {
    const float change = -step * __half2float(gradient[task.vector * shape.dim + d]);
    for (int i = 0; i < shape.bag; ++i) {
      atomicAdd(&tables[(task.first_row + bag[i]) * shape.dim + d], change);
    }
  }
}

unsigned blocks_for(const Shape& shape) {
  return static_cast<unsigned>((shape.batch * shape.tables + kWarpsPerBlock - 1) / kWarpsPerBlock);
}

// A batch of one-hot features has an event name of its own, as in the profiles of HugeCTR.
std::string label_prefix(const Shape& shape) {
  return shape.bag == 1 ? "localized_slot_sparse_embedding_one_hot"
                        : "localized_slot_sparse_embedding_multi_hot";
}

}  // namespace

Embedding::Labels::Labels(const std::string& event_name)
    : event(event_name), start(event_name + ".start"), stop(event_name + ".stop") {}

Embedding::Embedding(const Gpu& gpu, const Shape& shape, std::uint64_t seed)
    : gpu_(gpu),
      shape_(shape),
      forward_labels_(label_prefix(shape) + ".forward.mapping_and_fuse"),
      update_labels_(label_prefix(shape) + ".update_params.sgd_atomic"),
      tables_(static_cast<std::size_t>(shape.tables) * shape.rows * shape.dim),
      vectors_(static_cast<std::size_t>(shape.batch) * shape.tables * shape.dim) {
  initialize_tables<<<1024, 256, 0, gpu.stream()>>>(
      seed, tables_.count(), rsqrtf(static_cast<float>(shape.dim)), tables_.data());
  EXAMPLE_CHECK(cudaGetLastError());
}

const __half* Embedding::forward(const std::int32_t* indices) {
  PROFILE_SCOPE("sparse_embedding1", gpu_.stream());
  PROFILE_OP(forward_labels_.event, "embedding", "batch", shape_.batch, "tables", shape_.tables,
             "rows", shape_.rows, "bag", shape_.bag, "dim", shape_.dim, "type", "f32", "pass",
             "forward", "rows_per_block", kWarpsPerBlock, "shmem", 0);
  PROFILE_RECORD(forward_labels_.start, gpu_.stream());
  mapping_and_fuse<<<blocks_for(shape_), kThreads, 0, gpu_.stream()>>>(
      shape_, indices, tables_.data(), vectors_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD(forward_labels_.stop, gpu_.stream());
  return vectors_.data();
}

void Embedding::backward_and_update(const std::int32_t* indices, const __half* gradient,
                                    float step) {
  PROFILE_SCOPE("sparse_embedding1", gpu_.stream());
  PROFILE_OP(update_labels_.event, "embedding", "batch", shape_.batch, "tables", shape_.tables,
             "rows", shape_.rows, "bag", shape_.bag, "dim", shape_.dim, "type", "f32", "pass",
             "backward_sgd", "rows_per_block", kWarpsPerBlock, "shmem", 0);
  PROFILE_RECORD(update_labels_.start, gpu_.stream());
  sgd_atomic_update<<<blocks_for(shape_), kThreads, 0, gpu_.stream()>>>(shape_, indices, gradient,
                                                                        step, tables_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD(update_labels_.stop, gpu_.stream());
}

}  // namespace dlrm
