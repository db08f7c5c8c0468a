#include "random.cuh"
#include "synthetic_data.hpp"

#include <inline_prof/profile.h>

namespace dlrm {
namespace {

constexpr int kThreads = 128;

// Seeds of the hidden rule, different from those of the batches.
constexpr std::uint64_t kDenseRule = 0x1001;
constexpr std::uint64_t kTableRule = 0x2002;

// The rule: logit = sum of w[i] * x[i] + sum of s[t][row] / bag, with w = +-0.5 and s = +-0.2. Both
// sums have a variance near 1 for 13 features and 26 one-hot tables.  One thread per sample.
__global__ void generate_batch(std::uint64_t seed, std::uint64_t first_sample, Shape shape,
                               __half* dense, std::int32_t* indices, float* labels) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample >= shape.batch) return;
  const int lookups = shape.tables * shape.bag;
  // Each sample has a stretch of the random sequence of its own.
  std::uint64_t position = (first_sample + sample) * (kDenseFeatures + lookups + 1);

  float logit = 0.0F;
  for (int i = 0; i < kDenseFeatures; ++i) {
    const float x = random_uniform(seed, position++);
    dense[sample * kDenseFeatures + i] = __float2half(x);
    logit += (random_bits(kDenseRule, i) & 1U) != 0 ? 0.5F * x : -0.5F * x;
  }
  const float weight = 0.2F / static_cast<float>(shape.bag);
  for (int i = 0; i < lookups; ++i) {
    const std::uint64_t row = random_bits(seed, position++) % shape.rows;
    indices[static_cast<std::size_t>(sample) * lookups + i] = static_cast<std::int32_t>(row);
    const std::uint64_t table = i / shape.bag;
    logit += (random_bits(kTableRule, table * shape.rows + row) & 1U) != 0 ? weight : -weight;
  }
  const float coin = 0.5F * (random_uniform(seed, position) + 1.0F);
  labels[sample] = coin * (1.0F + __expf(-logit)) < 1.0F ? 1.0F : 0.0F;
}

}  // namespace

SyntheticData::SyntheticData(const Gpu& gpu, const Shape& shape, std::uint64_t seed)
    : gpu_(gpu),
      shape_(shape),
      seed_(seed),
      dense_(static_cast<std::size_t>(shape.batch) * kDenseFeatures),
      indices_(static_cast<std::size_t>(shape.batch) * shape.tables * shape.bag),
      labels_(shape.batch) {}

void SyntheticData::next() {
  PROFILE_SCOPE("data", gpu_.stream());
  PROFILE_OP("generate_batch", "memory", "read_bytes", 0, "write_bytes",
             dense_.bytes() + indices_.bytes() + labels_.bytes());
  PROFILE_RECORD("generate_batch.start", gpu_.stream());
  const auto blocks = static_cast<unsigned>((shape_.batch + kThreads - 1) / kThreads);
  generate_batch<<<blocks, kThreads, 0, gpu_.stream()>>>(
      seed_, batch_index_ * static_cast<std::uint64_t>(shape_.batch), shape_, dense_.data(),
      indices_.data(), labels_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("generate_batch.stop", gpu_.stream());
  ++batch_index_;
}

}  // namespace dlrm
