// A convolution, the ways to compute it, and the kernels of each.
#pragma once

#include "cudnn/descriptors.hpp"
#include "cudnn/handle.hpp"
#include "math/handle.hpp"

#include <optional>
#include <string>
#include <vector>

namespace simgpu {

enum class ConvDirection { kForward, kBackwardData, kBackwardFilter };

// `image` is what a forward convolution reads, `output` what it gives; the backward ones read or
// give their gradients.
struct Convolution {
  ConvDirection direction;
  std::vector<std::int64_t> image;   // n, c, spatial ...
  std::vector<std::int64_t> filter;  // k, c / groups, spatial ...
  std::vector<std::int64_t> output;  // n, k, spatial ...
  std::vector<std::int64_t> stride, dilation;
  cudnnDataType_t type;  // of image, filter and output
  bool is_nhwc;
  bool reads_output = false;  // beta is not zero

  [[nodiscard]] std::int64_t groups() const { return image[1] / filter[1]; }
};

struct ConvolutionBytes {
  double image, filter, output;
};
[[nodiscard]] ConvolutionBytes bytes_of(const Convolution& convolution);

// Spatial extent of the output; 0 or less if the filter does not fit.
[[nodiscard]] std::int64_t output_extent(std::int64_t image, std::int64_t filter,
                                         std::int64_t padding_before, std::int64_t padding_after,
                                         std::int64_t stride, std::int64_t dilation);

enum class ConvMethod {
  kImplicitGemm,  // products of gathered elements, on the tensor cores
  kDirect,        // the same without them; backward, with atomic additions
  kGemm,          // the image unrolled, then one product
  kFft,
  kFftTiling,
  kWinograd,
  kWinogradNonfused,
  kSplitFilter,  // filter gradients of parts of the batch, then their sum
};

// cuDNN 9 API, cudnnConvolutionFwdAlgo_t and its two sisters; null: the library has it not.
[[nodiscard]] std::optional<ConvMethod> method_of(cudnnConvolutionFwdAlgo_t algo);
[[nodiscard]] std::optional<ConvMethod> method_of(cudnnConvolutionBwdDataAlgo_t algo);
[[nodiscard]] std::optional<ConvMethod> method_of(cudnnConvolutionBwdFilterAlgo_t algo);

// cuDNN 9 API, tables of supported algorithms at cudnnConvolutionForward and its sisters,
// simplified: Fourier and Winograd methods take plain 2-D NCHW convolutions with stride and
// dilation 1.
[[nodiscard]] bool is_supported(const Convolution& convolution, ConvMethod method);

[[nodiscard]] std::size_t workspace_bytes(const Convolution& convolution, ConvMethod method);

// Sums in a fixed order?
[[nodiscard]] bool is_deterministic(const Convolution& convolution, ConvMethod method);

// In the order of their launches.  `epilogue` is shown in the name of the last one, and
// `extra_bytes` are what it moves.
[[nodiscard]] std::vector<KernelCall> convolution_kernels(const Convolution& convolution,
                                                          ConvMethod method,
                                                          const std::string& epilogue = "",
                                                          double extra_bytes = 0);

// A kernel of one of the library's own namespaces, mangled so that names demangle as on a GPU:
// dnn_kernel_name({"ops", "softmax"}) is cudnn::ops::softmax<float>().
[[nodiscard]] std::string dnn_kernel_name(const std::vector<std::string>& path);

// A kernel that only moves `bytes`.
[[nodiscard]] KernelCall move_kernel(const std::vector<std::string>& path, double bytes);

// From the older descriptors to a convolution.

struct ConvolutionDescriptors {
  ConvDirection direction;
  cudnnTensorDescriptor_t image;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnTensorDescriptor_t output;
};

// Throws DnnFailure if one is null, types differ or extents do not fit together.
[[nodiscard]] Convolution describe(const ConvolutionDescriptors& descriptors);

// Dimensions of the output; throws DnnFailure if the filter does not fit.
[[nodiscard]] std::vector<std::int64_t> output_dims(cudnnTensorDescriptor_t image,
                                                    cudnnFilterDescriptor_t filter,
                                                    cudnnConvolutionDescriptor_t convolution);

// Whether the value at `scale` is not zero: double for tensors of double, else float.
[[nodiscard]] bool is_not_zero(const void* scale, cudnnDataType_t tensor_type);

}  // namespace simgpu
