#include "fully_connected.hpp"

#include <inline_prof/profile.h>

#include <utility>

// A product C[m,n] = A[m,k] B[k,n] as example::multiply() does it.
#define DLRM_DESCRIBE_GEMM(label, m_value, n_value, k_value)                                     \
  PROFILE_OP(label, "gemm", "m", m_value, "n", n_value, "k", k_value, "a_type", "f16", "b_type", \
             "f16", "c_type", "f16", "compute_type", "f32")

namespace dlrm {
namespace {

constexpr int kThreads = 256;

__global__ void add_bias_and_re_kernel(int rows, int columns, bool has_relu, const __half* bias,
                                       __half* values) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= static_cast<std::size_t>(rows) * columns) return;
  const float value = __half2float(values[i]) + __half2float(bias[i % columns]);
  values[i] = __float2half(has_relu ? fmaxf(value, 0.0F) : value);
}

__global__ void initialize_array(int count, float* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = 0.0F;
}

__global__ void convert_array(int count, const float* from, __half* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = __float2half(from[i]);
}

// A tile of the gradient: this many columns, and rows until the block's share is done.
constexpr int kTileColumns = 32;
constexpr int kTileRows = kThreads / kTileColumns;
constexpr int kRowsPerBlock = 64;

// Sets the gradient to 0 where the activation cut a value off, and adds the rest up over the rows:
// the gradient of the bias.
__global__ void reverse_add_bias_and_re_kernel(int rows, int columns, bool has_relu,
                                               const __half* outputs, __half* gradient,
                                               float* bias_gradient) {
  __shared__ float sums[kTileRows][kTileColumns];
  const int tile_column = threadIdx.x % kTileColumns;
  const int tile_row = threadIdx.x / kTileColumns;
  const int column = blockIdx.x * kTileColumns + tile_column;
  const int first_row = blockIdx.y * kRowsPerBlock;
  const int end_row = min(first_row + kRowsPerBlock, rows);

  float sum = 0.0F;
  if (column < columns) {
    for (int row = first_row + tile_row; row < end_row; row += kTileRows) {
      const std::size_t i = static_cast<std::size_t>(row) * columns + column;
      if (has_relu && !(__half2float(outputs[i]) > 0.0F)) {
        gradient[i] = __float2half(0.0F);
      } else {
        sum += __half2float(gradient[i]);
      }
    }
  }
  sums[tile_row][tile_column] = sum;
  __syncthreads();
  if (tile_row != 0 || column >= columns) return;
  for (int r = 1; r < kTileRows; ++r)
    sum += sums[r][tile_column];
  atomicAdd(&bias_gradient[column], sum);
}

unsigned ceil_divide(int count, int by) {
  return static_cast<unsigned>((count + by - 1) / by);
}

std::size_t elements(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

}  // namespace

FullyConnected::FullyConnected(const Gpu& gpu, std::string layer, const FullyConnectedShape& shape,
                               const FullyConnectedParameters& parameters)
    : gpu_(gpu),
      layer_(std::move(layer)),
      shape_(shape),
      parameters_(parameters),
      output_(elements(shape.batch, shape.outputs)),
      input_gradient_(shape.has_input_gradient ? elements(shape.batch, shape.inputs) : 1),
      bias_gradient_sum_(shape.outputs) {}

const __half* FullyConnected::forward(const __half* input) {
  const cudaStream_t stream = gpu_.stream();
  input_ = input;
  PROFILE_SCOPE(layer_, stream);
  PROFILE_OP("fused_fully_connected.fprop", "region");
  PROFILE_RECORD("fused_fully_connected.fprop.start", stream);

  DLRM_DESCRIBE_GEMM("fused_fully_connected.fprop.cublasGemmEx", shape_.batch, shape_.outputs,
                     shape_.inputs);
  PROFILE_RECORD("fused_fully_connected.fprop.cublasGemmEx.start", stream);
  example::multiply(gpu_.cublas(), false, false, shape_.batch, shape_.outputs, shape_.inputs, input,
                    parameters_.weights, output_.data());
  PROFILE_RECORD("fused_fully_connected.fprop.cublasGemmEx.stop", stream);

  PROFILE_OP("fused_fully_connected.fprop.add_bias_and_re_kernel", "memory", "read_bytes",
             output_.bytes() + shape_.outputs * sizeof(__half), "write_bytes", output_.bytes());
  PROFILE_RECORD("fused_fully_connected.fprop.add_bias_and_re_kernel.start", stream);
  const unsigned blocks = ceil_divide(shape_.batch * shape_.outputs, kThreads);
  add_bias_and_re_kernel<<<blocks, kThreads, 0, stream>>>(
      shape_.batch, shape_.outputs, shape_.has_relu, parameters_.bias, output_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("fused_fully_connected.fprop.add_bias_and_re_kernel.stop", stream);

  PROFILE_RECORD("fused_fully_connected.fprop.stop", stream);
  return output_.data();
}

__half* FullyConnected::backward(__half* output_gradient) {
  const cudaStream_t stream = gpu_.stream();
  const unsigned bias_blocks = ceil_divide(shape_.outputs, kThreads);
  PROFILE_SCOPE(layer_, stream);
  PROFILE_OP("fused_fully_connected.bprop", "region");
  PROFILE_RECORD("fused_fully_connected.bprop.start", stream);

  PROFILE_OP("fused_fully_connected.bprop.initialize_array", "memory", "read_bytes", 0,
             "write_bytes", bias_gradient_sum_.bytes());
  PROFILE_RECORD("fused_fully_connected.bprop.initialize_array.start", stream);
  initialize_array<<<bias_blocks, kThreads, 0, stream>>>(shape_.outputs, bias_gradient_sum_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("fused_fully_connected.bprop.initialize_array.stop", stream);

  // Without an activation the outputs are not read and the gradient is not written.
  PROFILE_OP("fused_fully_connected.bprop.reverse_add_bias_and_re_kernel", "memory", "read_bytes",
             (shape_.has_relu ? 2 : 1) * output_.bytes(), "write_bytes",
             (shape_.has_relu ? output_.bytes() : 0) + bias_gradient_sum_.bytes());
  PROFILE_RECORD("fused_fully_connected.bprop.reverse_add_bias_and_re_kernel.start", stream);
  const dim3 tiles(ceil_divide(shape_.outputs, kTileColumns),
                   ceil_divide(shape_.batch, kRowsPerBlock));
  reverse_add_bias_and_re_kernel<<<tiles, kThreads, 0, stream>>>(
      shape_.batch, shape_.outputs, shape_.has_relu, output_.data(), output_gradient,
      bias_gradient_sum_.data());
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("fused_fully_connected.bprop.reverse_add_bias_and_re_kernel.stop", stream);

  PROFILE_OP("fused_fully_connected.bprop.convert_array", "memory", "read_bytes",
             bias_gradient_sum_.bytes(), "write_bytes", shape_.outputs * sizeof(__half));
  PROFILE_RECORD("fused_fully_connected.bprop.convert_array.start", stream);
  convert_array<<<bias_blocks, kThreads, 0, stream>>>(shape_.outputs, bias_gradient_sum_.data(),
                                                      parameters_.bias_gradient);
  EXAMPLE_CHECK(cudaGetLastError());
  PROFILE_RECORD("fused_fully_connected.bprop.convert_array.stop", stream);

  // The gradient of the weights: X^T times the gradient.
  DLRM_DESCRIBE_GEMM("fused_fully_connected.bprop.cublasGemmEx_1", shape_.inputs, shape_.outputs,
                     shape_.batch);
  PROFILE_RECORD("fused_fully_connected.bprop.cublasGemmEx_1.start", stream);
  example::multiply(gpu_.cublas(), true, false, shape_.inputs, shape_.outputs, shape_.batch, input_,
                    output_gradient, parameters_.weight_gradient);
  PROFILE_RECORD("fused_fully_connected.bprop.cublasGemmEx_1.stop", stream);

  // The gradient of X: the gradient times W^T.
  if (shape_.has_input_gradient) {
    DLRM_DESCRIBE_GEMM("fused_fully_connected.bprop.cublasGemmEx_2", shape_.batch, shape_.inputs,
                       shape_.outputs);
    PROFILE_RECORD("fused_fully_connected.bprop.cublasGemmEx_2.start", stream);
    example::multiply(gpu_.cublas(), false, true, shape_.batch, shape_.inputs, shape_.outputs,
                      output_gradient, parameters_.weights, input_gradient_.data());
    PROFILE_RECORD("fused_fully_connected.bprop.cublasGemmEx_2.stop", stream);
  }

  PROFILE_RECORD("fused_fully_connected.bprop.stop", stream);
  return shape_.has_input_gradient ? input_gradient_.data() : nullptr;
}

}  // namespace dlrm
