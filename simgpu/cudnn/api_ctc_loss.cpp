// Connectionist temporal classification: costs and gradients.
#include "cudnn/convolution.hpp"
#include "cudnn/handle.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

// Probabilities and gradients are t, n, a: steps, batch, alphabet.
bool fits(cudnnHandle_t handle, cudnnTensorDescriptor_t probabilities,
          cudnnTensorDescriptor_t gradients, cudnnCTCLossDescriptor_t loss) {
  return all_given(handle, probabilities, loss) && probabilities->dims.size() == 3 &&
         (gradients == nullptr || gradients->dims == probabilities->dims);
}

// The chances of each place in a label with blanks between its letters, forwards and backwards.
std::size_t chances_bytes(const cudnnTensorStruct& probabilities, int longest_label) {
  const double places = 2.0 * longest_label + 1;
  return static_cast<std::size_t>(2 * sizeof(float) * places *
                                  static_cast<double>(probabilities.dims[0]) *
                                  static_cast<double>(probabilities.dims[1]));
}

int longest_of(const int lengths[], std::int64_t batch) {
  return *std::max_element(lengths, lengths + batch);
}

void run(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, const cudnnTensorStruct& probabilities,
         const void* gradients, double chances) {
  const double image = probabilities.bytes();
  std::vector<KernelCall> calls{move_kernel(
      {"ctc", algo == CUDNN_CTC_LOSS_ALGO_DETERMINISTIC ? "compute_alphas_betas_deterministic"
                                                        : "compute_alphas_betas"},
      image + chances)};
  if (gradients != nullptr)
    calls.push_back(move_kernel({"ctc", "compute_gradients"}, 2 * image + chances));
  handle->run(calls);
}

}  // namespace

SIMGPU_CALL(cudnnSetCTCLossDescriptorEx, loss, compute, normalization, unused) {
  require(loss);
  *loss = {compute, normalization, 0};
}

SIMGPU_CALL(cudnnSetCTCLossDescriptor_v9, loss, compute, normalization, unused, max_label_length) {
  fail_if(loss == nullptr || max_label_length < 0);
  *loss = {compute, normalization, max_label_length};
}

SIMGPU_CALL(cudnnGetCTCLossWorkspaceSize, handle, probabilities, gradients, labels, label_lengths,
            input_lengths, unused, loss, size) {
  fail_if(!fits(handle, probabilities, gradients, loss) ||
          !all_given(labels, label_lengths, input_lengths, size));
  *size = chances_bytes(*probabilities, longest_of(label_lengths, probabilities->dims[1]));
}

SIMGPU_CALL(cudnnGetCTCLossWorkspaceSize_v8, handle, unused, loss, probabilities, gradients, size) {
  fail_if(!fits(handle, probabilities, gradients, loss) || size == nullptr);
  *size = chances_bytes(*probabilities, loss->max_label_length);
}

SIMGPU_CALL(cudnnCTCLoss, handle, probabilities_desc, probabilities, labels, label_lengths,
            input_lengths, costs, gradients_desc, gradients, algo, loss, workspace,
            workspace_size) {
  fail_if(!fits(handle, probabilities_desc, gradients_desc, loss) ||
          !all_given(probabilities, labels, label_lengths, input_lengths, costs, workspace));
  const std::size_t chances =
      chances_bytes(*probabilities_desc, longest_of(label_lengths, probabilities_desc->dims[1]));
  fail_if(workspace_size < chances);
  run(handle, algo, *probabilities_desc, gradients, static_cast<double>(chances));
}

SIMGPU_CALL(cudnnCTCLoss_v8, handle, algo, loss, probabilities_desc, probabilities, labels,
            label_lengths, input_lengths, costs, gradients_desc, gradients, workspace_size,
            workspace) {
  fail_if(!fits(handle, probabilities_desc, gradients_desc, loss) ||
          !all_given(probabilities, labels, label_lengths, input_lengths, costs, workspace));
  const std::size_t chances = chances_bytes(*probabilities_desc, loss->max_label_length);
  fail_if(workspace_size < chances);
  run(handle, algo, *probabilities_desc, gradients, static_cast<double>(chances));
}
