// Batch normalization: training, inference, gradients.
#include "cudnn/convolution.hpp"

#include <algorithm>
#include <string>

using namespace simgpu;

namespace {

enum class Pass { kTraining, kInference, kBackward };

struct BatchNorm {
  cudnnBatchNormMode_t mode;
  cudnnBatchNormOps_t operations;
  cudnnTensorDescriptor_t x, z, y, parameters;
  cudnnActivationDescriptor_t activation;
};

// cuDNN 9 API, cudnnDeriveBNTensorDescriptor, which is not simulated: 1, c, 1, 1 where the channels
// are normalized, 1, c, h, w where each activation is.
std::vector<std::int64_t> parameter_dims(std::vector<std::int64_t> dims,
                                         cudnnBatchNormMode_t mode) {
  dims[0] = 1;
  if (mode != CUDNN_BATCHNORM_PER_ACTIVATION) std::fill(dims.begin() + 2, dims.end(), 1);
  return dims;
}

// "type = (typeOf(x) == double) ? double : float" (cudnn_ops.h)
cudnnDataType_t parameter_type(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

bool fits(const BatchNorm& norm) {
  if (!all_given(norm.x, norm.y) || norm.x->dims.size() < 4 || norm.x->dims.size() > 5 ||
      norm.x->dims != norm.y->dims) {
    return false;
  }
  if (norm.operations == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION &&
      (norm.z == nullptr || norm.z->dims != norm.x->dims)) {
    return false;
  }
  return norm.operations == CUDNN_BATCHNORM_OPS_BN || norm.activation != nullptr;
}

bool fits_parameters(const BatchNorm& norm) {
  return fits(norm) && norm.parameters != nullptr &&
         norm.parameters->dims == parameter_dims(norm.x->dims, norm.mode) &&
         norm.parameters->type == parameter_type(norm.x->type);
}

bool both_or_none(const void* one, const void* other) {
  return (one == nullptr) == (other == nullptr);
}

std::string kernel_of(const BatchNorm& norm, Pass pass) {
  if (norm.mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT && pass != Pass::kInference) {
    if (norm.x->is_nhwc()) {
      return pass == Pass::kTraining ? "batchnorm_fwtr_nhwc_semiPersist"
                                     : "batchnorm_bwtr_nhwc_semiPersist";
    }
    return pass == Pass::kTraining ? "bn_fw_tr_1C11_singleread" : "bn_bw_1C11_singleread";
  }
  const std::string shape = norm.mode == CUDNN_BATCHNORM_PER_ACTIVATION ? "_1CHW" : "_1C11";
  switch (pass) {
    case Pass::kTraining:
      return "bn_fw_tr" + shape + "_kernel_NCHW";
    case Pass::kInference:
      return "bn_fw_inf" + shape + "_kernel_NCHW";
    case Pass::kBackward:
      return "bn_bw" + shape + "_kernel_new";
  }
  return {};
}

// The persistent kernels keep what they read for the statistics; the others read it again.
KernelCall kernel_call(const BatchNorm& norm, Pass pass) {
  const double image = norm.x->bytes();
  const bool reads_once =
      pass == Pass::kInference || norm.mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
  const double inputs = pass == Pass::kBackward ? 2 * image : image;
  const double fused = norm.operations == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION ? image : 0;
  constexpr double parameters = 6;  // scale, bias, and four statistics
  return move_kernel({kernel_of(norm, pass)}, (reads_once ? 1 : 2) * inputs + image + fused +
                                                  parameters * norm.parameters->bytes());
}

// Partial sums of each channel, of kernels that several blocks of one channel share.
std::size_t workspace_bytes_of(const BatchNorm& norm) {
  constexpr std::size_t bytes_per_channel = 2 * sizeof(float) * 64;
  return norm.mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT
             ? static_cast<std::size_t>(norm.x->dims[1]) * bytes_per_channel
             : 0;
}

// A bit per element that the activation let through.
std::size_t reserve_bytes_of(const BatchNorm& norm) {
  if (norm.operations == CUDNN_BATCHNORM_OPS_BN) return 0;
  return static_cast<std::size_t>(count_of(norm.x->dims) / 8) + 1;
}

bool has_room(const void* memory, std::size_t bytes, std::size_t needed) {
  return needed == 0 || (memory != nullptr && bytes >= needed);
}

}  // namespace

SIMGPU_CALL(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, handle, mode, operations, x,
            z, y, parameters, activation, size) {
  const BatchNorm norm{mode, operations, x, z, y, parameters, activation};
  fail_if(!all_given(handle, size) || !fits_parameters(norm));
  *size = workspace_bytes_of(norm);
}

SIMGPU_CALL(cudnnGetBatchNormalizationBackwardExWorkspaceSize, handle, mode, operations, x, unused,
            dy, dz, dx, parameters, activation, size) {
  const BatchNorm norm{mode, operations, x, dz, dy, parameters, activation};
  fail_if(!all_given(handle, dx, size) || !fits_parameters(norm));
  *size = workspace_bytes_of(norm);
}

SIMGPU_CALL(cudnnGetBatchNormalizationTrainingExReserveSpaceSize, handle, mode, operations,
            activation, x, size) {
  const BatchNorm norm{mode, operations, x, x, x, nullptr, activation};
  fail_if(!all_given(handle, size) || !fits(norm));
  *size = reserve_bytes_of(norm);
}

SIMGPU_CALL(cudnnBatchNormalizationForwardInference, handle, mode, alpha, beta, x_desc, x, y_desc,
            y, parameters, scale, bias, mean, variance, epsilon) {
  const BatchNorm norm{mode, CUDNN_BATCHNORM_OPS_BN, x_desc, nullptr, y_desc, parameters, nullptr};
  fail_if(!all_given(handle, alpha, beta, x, y, scale, bias, mean, variance) ||
          !fits_parameters(norm) || epsilon < CUDNN_BN_MIN_EPSILON);
  handle->run({kernel_call(norm, Pass::kInference)});
}

SIMGPU_CALL(cudnnBatchNormalizationForwardTrainingEx, handle, mode, operations, alpha, beta, x_desc,
            x, z_desc, unused, y_desc, y, parameters, scale, bias, unused2, running_mean,
            running_variance, epsilon, saved_mean, saved_deviation, activation, workspace,
            workspace_size, reserve, reserve_size) {
  const BatchNorm norm{mode, operations, x_desc, z_desc, y_desc, parameters, activation};
  fail_if(!all_given(handle, alpha, beta, x, y, scale, bias) || !fits_parameters(norm) ||
          epsilon < CUDNN_BN_MIN_EPSILON || !both_or_none(running_mean, running_variance) ||
          !both_or_none(saved_mean, saved_deviation) ||
          !has_room(workspace, workspace_size, workspace_bytes_of(norm)) ||
          !has_room(reserve, reserve_size, reserve_bytes_of(norm)));
  handle->run({kernel_call(norm, Pass::kTraining)});
}

SIMGPU_CALL(cudnnBatchNormalizationBackwardEx, handle, mode, operations, alpha_data, beta_data,
            alpha_parameters, beta_parameters, x_desc, x, unused4, unused, dy_desc, dy, dz_desc,
            unused2, dx_desc, dx, parameters, scale, unused3, dscale, dbias, epsilon, saved_mean,
            saved_deviation, activation, workspace, workspace_size, reserve, reserve_size) {
  const BatchNorm norm{mode, operations, x_desc, dz_desc, dy_desc, parameters, activation};
  fail_if(!all_given(handle, alpha_data, beta_data, alpha_parameters, beta_parameters, x, dy,
                     dx_desc, dx, scale, dscale, dbias) ||
          !fits_parameters(norm) || dx_desc->dims != x_desc->dims ||
          epsilon < CUDNN_BN_MIN_EPSILON || !both_or_none(saved_mean, saved_deviation) ||
          !has_room(workspace, workspace_size, workspace_bytes_of(norm)) ||
          !has_room(reserve, reserve_size, reserve_bytes_of(norm)));
  handle->run({kernel_call(norm, Pass::kBackward)});
}
