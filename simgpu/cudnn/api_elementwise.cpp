// What only moves data: biases, activations, fills.
#include "cudnn/legacy_convolution.hpp"

using namespace simgpu;

// cuDNN 9 API, cudnnAddTensor: each dimension of the bias "must match the corresponding dimension
// of the destination tensor or must be equal to 1".
SIMGPU_CALL(cudnnAddTensor, handle, alpha, a_desc, a, beta, c_desc, c) {
  if (!all_given(handle, alpha, a_desc, a, beta, c_desc, c) ||
      a_desc->dims.size() != c_desc->dims.size()) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  for (std::size_t i = 0; i < a_desc->dims.size(); ++i) {
    if (a_desc->dims[i] != 1 && a_desc->dims[i] != c_desc->dims[i]) {
      return CUDNN_STATUS_BAD_PARAM;
    }
  }
  const double passes = is_not_zero(beta, c_desc->type) ? 2 : 1;
  return handle->run(
      {move_kernel({"ops", "add_tensor_kernel"}, a_desc->bytes() + passes * c_desc->bytes())});
}

SIMGPU_CALL(cudnnSetTensor, handle, y_desc, y, value) {
  if (!all_given(handle, y_desc, y, value)) return CUDNN_STATUS_BAD_PARAM;
  return handle->run({move_kernel({"ops", "set_tensor_kernel"}, y_desc->bytes())});
}

SIMGPU_CALL(cudnnScaleTensor, handle, y_desc, y, alpha) {
  if (!all_given(handle, y_desc, y, alpha)) return CUDNN_STATUS_BAD_PARAM;
  return handle->run({move_kernel({"ops", "scale_tensor_kernel"}, 2 * y_desc->bytes())});
}

SIMGPU_CALL(cudnnActivationForward, handle, activation, alpha, x_desc, x, beta, y_desc, y) {
  if (!all_given(handle, activation, alpha, x_desc, x, beta, y_desc, y) ||
      x_desc->dims != y_desc->dims || activation->mode == CUDNN_ACTIVATION_IDENTITY) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const double passes = is_not_zero(beta, y_desc->type) ? 2 : 1;
  return handle->run({move_kernel({"ops", "activation_forward_kernel"},
                                  x_desc->bytes() + passes * y_desc->bytes())});
}

SIMGPU_CALL(cudnnActivationBackward, handle, activation, alpha, y_desc, y, dy_desc, dy, x_desc, x,
            beta, dx_desc, dx) {
  if (!all_given(handle, activation, alpha, y_desc, y, dy_desc, dy, x_desc, x, beta, dx_desc, dx) ||
      y_desc->dims != dy_desc->dims || x_desc->dims != dx_desc->dims ||
      y_desc->dims != x_desc->dims || activation->mode == CUDNN_ACTIVATION_IDENTITY) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const double passes = is_not_zero(beta, dx_desc->type) ? 2 : 1;
  return handle->run({move_kernel(
      {"ops", "activation_backward_kernel"},
      y_desc->bytes() + dy_desc->bytes() + x_desc->bytes() + passes * dx_desc->bytes())});
}

// The gradient of a bias: sums over everything but the channels.
SIMGPU_CALL(cudnnConvolutionBackwardBias, handle, alpha, dy_desc, dy, beta, db_desc, db) {
  if (!all_given(handle, alpha, dy_desc, dy, beta, db_desc, db) || db_desc->dims.size() < 2 ||
      dy_desc->dims.size() < 2 || db_desc->dims[1] != dy_desc->dims[1] ||
      count_of(db_desc->dims) != static_cast<double>(db_desc->dims[1])) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  return handle->run(
      {move_kernel({"ops", "bias_gradient_kernel"}, dy_desc->bytes() + db_desc->bytes())});
}
