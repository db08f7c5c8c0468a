#include "transformer.hpp"

#include <inline_prof/profile.h>

#include <cmath>

namespace graph_example {
namespace {

std::size_t product(int a, int b, int c = 1, int d = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
         static_cast<std::size_t>(d);
}

}  // namespace

TransformerBlock::TransformerBlock(const dlrm::Gpu& gpu, const BlockShape& shape, unsigned seed)
    : gpu_(gpu),
      shape_(shape),
      input_(product(shape.rows(), shape.width())),
      values_(input_.count()),
      normalised_(values_.count()),
      qkv_(3 * values_.count()),
      scores_(product(shape.batch, shape.heads, shape.tokens, shape.tokens)),
      mixed_(values_.count()),
      hidden_(4 * values_.count()),
      qkv_weight_(product(3, shape.width(), shape.width())),
      out_weight_(product(shape.width(), shape.width())),
      up_weight_(product(4, shape.width(), shape.width())),
      down_weight_(product(4, shape.width(), shape.width())) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.width()));
  unsigned next = seed;
  fill(gpu, input_, 1.0F, next++);
  for (const Halves* weight : {&qkv_weight_, &out_weight_, &up_weight_, &down_weight_})
    fill(gpu, *weight, scale, next++);
}

void TransformerBlock::forward() {
  EXAMPLE_CHECK(cudaMemcpyAsync(values_.data(), input_.data(), input_.bytes(),
                                cudaMemcpyDeviceToDevice, gpu_.stream()));
  attention();
  feed_forward();
}

void TransformerBlock::attention() {
  PROFILE_SCOPE("attention", gpu_.stream());
  const int rows = shape_.rows();
  const int width = shape_.width();
  const int tokens = shape_.tokens;
  const int dim = shape_.head_dim;
  layer_norm(gpu_, rows, width, values_.data(), normalised_.data());
  example::multiply(gpu_.cublas(), false, false, rows, 3 * width, width, normalised_.data(),
                    qkv_weight_.data(), qkv_.data());

  // A row of qkv holds the query, key and value of all heads of one token.  cuBLAS is column-major:
  // it sees each matrix transposed.  One call for the heads of one sequence.
  const float one = 1.0F;
  const float zero = 0.0F;
  const auto row_of = [&](int sequence) { return product(sequence, tokens, 3, width); };
  const auto scores_of = [&](int sequence) {
    return scores_.data() + product(sequence, shape_.heads, tokens, tokens);
  };
  for (int sequence = 0; sequence < shape_.batch; ++sequence) {
    const __half* query = qkv_.data() + row_of(sequence);
    EXAMPLE_CHECK(cublasGemmStridedBatchedEx(
        gpu_.cublas(), CUBLAS_OP_T, CUBLAS_OP_N, tokens, tokens, dim, &one, query + width,
        CUDA_R_16F, 3 * width, dim, query, CUDA_R_16F, 3 * width, dim, &zero, scores_of(sequence),
        CUDA_R_16F, tokens, static_cast<long long>(product(tokens, tokens)), shape_.heads,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  softmax(gpu_, shape_.batch * shape_.heads * tokens, tokens,
          1.0F / std::sqrt(static_cast<float>(dim)), scores_.data());
  for (int sequence = 0; sequence < shape_.batch; ++sequence) {
    const __half* value = qkv_.data() + row_of(sequence) + 2 * width;
    EXAMPLE_CHECK(cublasGemmStridedBatchedEx(
        gpu_.cublas(), CUBLAS_OP_N, CUBLAS_OP_N, dim, tokens, tokens, &one, value, CUDA_R_16F,
        3 * width, dim, scores_of(sequence), CUDA_R_16F, tokens,
        static_cast<long long>(product(tokens, tokens)), &zero,
        mixed_.data() + product(sequence, tokens, width), CUDA_R_16F, width, dim, shape_.heads,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  example::multiply(gpu_.cublas(), false, false, rows, width, width, mixed_.data(),
                    out_weight_.data(), normalised_.data());
  add(gpu_, values_.count(), normalised_.data(), values_.data());
}

void TransformerBlock::feed_forward() {
  PROFILE_SCOPE("feed_forward", gpu_.stream());
  const int rows = shape_.rows();
  const int width = shape_.width();
  layer_norm(gpu_, rows, width, values_.data(), normalised_.data());
  example::multiply(gpu_.cublas(), false, false, rows, 4 * width, width, normalised_.data(),
                    up_weight_.data(), hidden_.data());
  gelu(gpu_, hidden_.count(), hidden_.data());
  example::multiply(gpu_.cublas(), false, false, rows, width, 4 * width, hidden_.data(),
                    down_weight_.data(), normalised_.data());
  add(gpu_, values_.count(), normalised_.data(), values_.data());
}

}  // namespace graph_example
