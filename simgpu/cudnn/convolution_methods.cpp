// Which methods there are, what they can do, and what they need.
#include "cudnn/convolution.hpp"

#include <algorithm>

namespace simgpu {
namespace {

bool is_2d(const Convolution& c) {
  return c.image.size() == 4;
}

bool is_plain(const Convolution& c) {
  const auto one = [](std::int64_t value) { return value == 1; };
  return is_2d(c) && !c.is_nhwc && c.groups() == 1 &&
         std::all_of(c.stride.begin(), c.stride.end(), one) &&
         std::all_of(c.dilation.begin(), c.dilation.end(), one) &&
         (c.type == CUDNN_DATA_FLOAT || c.type == CUDNN_DATA_HALF);
}

bool has_filter(const Convolution& c, std::int64_t extent) {
  return c.filter[2] == extent && c.filter[3] == extent;
}

}  // namespace

std::optional<ConvMethod> method_of(cudnnConvolutionFwdAlgo_t algo) {
  switch (algo) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return ConvMethod::kDirect;
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return ConvMethod::kImplicitGemm;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
      return ConvMethod::kGemm;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
      return ConvMethod::kFft;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
      return ConvMethod::kFftTiling;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
      return ConvMethod::kWinograd;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      return ConvMethod::kWinogradNonfused;
    default:  // the direct one "is currently not implemented"
      return std::nullopt;
  }
}

std::optional<ConvMethod> method_of(cudnnConvolutionBwdDataAlgo_t algo) {
  switch (algo) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
      return ConvMethod::kDirect;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1:
      return ConvMethod::kImplicitGemm;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
      return ConvMethod::kFft;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING:
      return ConvMethod::kFftTiling;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD:
      return ConvMethod::kWinograd;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED:
      return ConvMethod::kWinogradNonfused;
    default:
      return std::nullopt;
  }
}

std::optional<ConvMethod> method_of(cudnnConvolutionBwdFilterAlgo_t algo) {
  switch (algo) {
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0:
      return ConvMethod::kDirect;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1:
      return ConvMethod::kImplicitGemm;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT:
      return ConvMethod::kFft;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3:
      return ConvMethod::kSplitFilter;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED:
      return ConvMethod::kWinogradNonfused;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING:
      return ConvMethod::kFftTiling;
    default:  // the fused Winograd one is "not implemented"
      return std::nullopt;
  }
}

bool is_supported(const Convolution& c, ConvMethod method) {
  switch (method) {
    case ConvMethod::kImplicitGemm:
    case ConvMethod::kDirect:
      return true;
    case ConvMethod::kSplitFilter:
      return c.direction == ConvDirection::kBackwardFilter && is_2d(c);
    case ConvMethod::kGemm:
      return c.direction == ConvDirection::kForward && is_plain(c);
    case ConvMethod::kFft:
      return is_plain(c) && c.image[2] <= 256 && c.image[3] <= 256;
    case ConvMethod::kFftTiling:
      return is_plain(c) && c.filter[2] <= 32 && c.filter[3] <= 32;
    case ConvMethod::kWinograd:
      return c.direction != ConvDirection::kBackwardFilter && is_plain(c) && has_filter(c, 3);
    case ConvMethod::kWinogradNonfused:
      return is_plain(c) && (has_filter(c, 3) || has_filter(c, 5));
  }
  return false;
}

// Each method's intermediate values: the unrolled image, transformed tiles, partial sums.
std::size_t workspace_bytes(const Convolution& c, ConvMethod method) {
  const ConvolutionBytes b = bytes_of(c);
  double bytes = 0;
  switch (method) {
    case ConvMethod::kDirect:
    case ConvMethod::kWinograd:
      break;
    case ConvMethod::kImplicitGemm:  // offsets of the filter's elements
      bytes = 4 * count_of(c.filter) / static_cast<double>(c.filter[0]);
      break;
    case ConvMethod::kGemm:
      bytes = b.output / static_cast<double>(c.filter[0]) * count_of(c.filter) /
              static_cast<double>(c.filter[0]);
      break;
    case ConvMethod::kFft:
    case ConvMethod::kFftTiling:
      bytes = 3 * (b.image + b.output) +
              2 * b.filter * 32 * 32 / static_cast<double>(c.filter[2] * c.filter[3]);
      break;
    case ConvMethod::kWinogradNonfused:
      bytes = 2.25 * (b.image + b.output) + 4 * b.filter;
      break;
    case ConvMethod::kSplitFilter:
      bytes = 8 * 4 * count_of(c.filter);  // 8 parts in f32
      break;
  }
  return static_cast<std::size_t>(bytes);
}

bool is_deterministic(const Convolution& c, ConvMethod method) {
  return method != ConvMethod::kSplitFilter &&
         (method != ConvMethod::kDirect || c.direction == ConvDirection::kForward);
}

}  // namespace simgpu
