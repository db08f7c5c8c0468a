// Dropout and spatial transformers: one kernel each, which only moves data.
#include "cudnn/convolution.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

using Dims = std::vector<std::int64_t>;

// Bytes of what a kernel writes to, which it reads first where beta is not zero.
double written_bytes(const cudnnTensorStruct& tensor, const void* beta) {
  return (is_not_zero(beta, tensor.type) ? 2 : 1) * tensor.bytes();
}

constexpr std::size_t kDropoutStatesPerMultiprocessor =
    std::size_t{2048} * 24;  // one for each thread

// A place of two coordinates for each element of an image.
double grid_bytes(const cudnnSpatialTransformerStruct& transformer) {
  const Dims& dims = transformer.dims;
  return 2 * static_cast<double>(dims[0] * dims[2] * dims[3]) * dnn_type(transformer.type).bytes;
}

// Whether the output is the one that the transformer was made for.
bool fits(cudnnSpatialTransformerDescriptor_t transformer, cudnnTensorDescriptor_t x,
          cudnnTensorDescriptor_t y) {
  return all_given(transformer, x, y) && transformer->dims == y->dims && x->dims.size() == 4 &&
         x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1];
}

}  // namespace

SIMGPU_CALL(cudnnDropoutGetStatesSize, handle, size) {
  require(handle, size);
  *size = static_cast<std::size_t>(handle->sm_count()) * kDropoutStatesPerMultiprocessor;
}

// The generator's states are filled; without memory for them there is no dropout.
SIMGPU_CALL(cudnnSetDropoutDescriptor, dropout, handle, probability, states, size, seed) {
  fail_if(!all_given(dropout, handle) || probability < 0 || probability > 1);
  *dropout = {probability, states, seed};
  fail_if(states == nullptr, CUDNN_STATUS_SUCCESS);
  const auto needed =
      static_cast<std::size_t>(handle->sm_count()) * kDropoutStatesPerMultiprocessor;
  fail_if(size < needed);
  handle->run({move_kernel({"ops", "init_dropout_states_kernel"}, static_cast<double>(needed))});
}

SIMGPU_CALL(cudnnRestoreDropoutDescriptor, dropout, handle, probability, states, unused, seed) {
  fail_if(!all_given(dropout, handle) || probability < 0 || probability > 1);
  *dropout = {probability, states, seed};
}

SIMGPU_CALL(cudnnSetSpatialTransformerNdDescriptor, transformer, unused, type, count, dims) {
  fail_if(!all_given(transformer, dims) || dnn_type(type).name == nullptr);
  fail_if(count != 4, CUDNN_STATUS_NOT_SUPPORTED);
  *transformer = {type, {dims, dims + count}};
}

SIMGPU_CALL(cudnnSpatialTfGridGeneratorForward, handle, transformer, theta, grid) {
  fail_if(!all_given(handle, transformer, theta, grid) || transformer->dims.empty());
  handle->run(
      {move_kernel({"ops", "spatial_tf_grid_generator_fw_kernel"}, grid_bytes(*transformer))});
}

SIMGPU_CALL(cudnnSpatialTfGridGeneratorBackward, handle, transformer, dgrid, dtheta) {
  fail_if(!all_given(handle, transformer, dgrid, dtheta) || transformer->dims.empty());
  handle->run(
      {move_kernel({"ops", "spatial_tf_grid_generator_bw_kernel"}, grid_bytes(*transformer))});
}

SIMGPU_CALL(cudnnSpatialTfSamplerForward, handle, transformer, alpha, x_desc, x, grid, beta, y_desc,
            y) {
  fail_if(!all_given(handle, alpha, x, grid, beta, y) || !fits(transformer, x_desc, y_desc));
  handle->run(
      {move_kernel({"ops", "spatial_tf_sampler_fw_kernel"},
                   x_desc->bytes() + grid_bytes(*transformer) + written_bytes(*y_desc, beta))});
}

SIMGPU_CALL(cudnnSpatialTfSamplerBackward, handle, transformer, alpha, x_desc, x, beta, dx_desc, dx,
            alpha_grid, dy_desc, dy, grid, beta_grid, dgrid) {
  fail_if(!all_given(handle, alpha, x, beta, dx_desc, dx, alpha_grid, dy, grid, beta_grid, dgrid) ||
          !fits(transformer, x_desc, dy_desc) || dx_desc->dims != x_desc->dims);
  handle->run({move_kernel({"ops", "spatial_tf_sampler_bw_kernel"},
                           x_desc->bytes() + dy_desc->bytes() + 2 * grid_bytes(*transformer) +
                               written_bytes(*dx_desc, beta))});
}

// cuDNN 9 API, cudnnAddTensor: each dimension of the bias "must match the corresponding dimension
// of the destination tensor or must be equal to 1".
SIMGPU_CALL(cudnnAddTensor, handle, alpha, a_desc, a, beta, c_desc, c) {
  fail_if(!all_given(handle, alpha, a_desc, a, beta, c_desc, c) ||
          a_desc->dims.size() != c_desc->dims.size());
  for (std::size_t i = 0; i < a_desc->dims.size(); ++i) {
    fail_if(a_desc->dims[i] != 1 && a_desc->dims[i] != c_desc->dims[i]);
  }
  const double passes = is_not_zero(beta, c_desc->type) ? 2 : 1;
  handle->run(
      {move_kernel({"ops", "add_tensor_kernel"}, a_desc->bytes() + passes * c_desc->bytes())});
}

SIMGPU_CALL(cudnnActivationForward, handle, activation, alpha, x_desc, x, beta, y_desc, y) {
  fail_if(!all_given(handle, activation, alpha, x_desc, x, beta, y_desc, y) ||
          x_desc->dims != y_desc->dims || activation->mode == CUDNN_ACTIVATION_IDENTITY);
  const double passes = is_not_zero(beta, y_desc->type) ? 2 : 1;
  handle->run({move_kernel({"ops", "activation_forward_kernel"},
                           x_desc->bytes() + passes * y_desc->bytes())});
}

SIMGPU_CALL(cudnnActivationBackward, handle, activation, alpha, y_desc, y, dy_desc, dy, x_desc, x,
            beta, dx_desc, dx) {
  fail_if(
      !all_given(handle, activation, alpha, y_desc, y, dy_desc, dy, x_desc, x, beta, dx_desc, dx) ||
      y_desc->dims != dy_desc->dims || x_desc->dims != dx_desc->dims ||
      y_desc->dims != x_desc->dims || activation->mode == CUDNN_ACTIVATION_IDENTITY);
  const double passes = is_not_zero(beta, dx_desc->type) ? 2 : 1;
  handle->run({move_kernel(
      {"ops", "activation_backward_kernel"},
      y_desc->bytes() + dy_desc->bytes() + x_desc->bytes() + passes * dx_desc->bytes())});
}

// The gradient of a bias: sums over everything but the channels.
SIMGPU_CALL(cudnnConvolutionBackwardBias, handle, alpha, dy_desc, dy, beta, db_desc, db) {
  fail_if(!all_given(handle, alpha, dy_desc, dy, beta, db_desc, db) || db_desc->dims.size() < 2 ||
          dy_desc->dims.size() < 2 || db_desc->dims[1] != dy_desc->dims[1] ||
          count_of(db_desc->dims) != static_cast<double>(db_desc->dims[1]));
  handle->run({move_kernel({"ops", "bias_gradient_kernel"}, dy_desc->bytes() + db_desc->bytes())});
}
