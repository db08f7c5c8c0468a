// The kernels of each method.
#include "cudnn/convolution.hpp"

namespace simgpu {
namespace {

// A multiplication and an addition for each output element, channel and filter element; the
// backward convolutions have the same products in another order.
double flops_of(const Convolution& c) {
  return 2.0 * count_of(c.output) * count_of(c.filter) / static_cast<double>(c.filter[0]);
}

// Returns the bytes that the kernel of a single-kernel method reads and writes.
double traffic_of(const Convolution& c) {
  const ConvolutionBytes bytes = bytes_of(c);
  double again = 0;
  if (c.reads_output) {
    again = c.direction == ConvDirection::kForward        ? bytes.output
            : c.direction == ConvDirection::kBackwardData ? bytes.image
                                                          : bytes.filter;
  }
  return bytes.image + bytes.filter + bytes.output + again;
}

const char* direction_name(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return "fprop";
    case ConvDirection::kBackwardData:
      return "dgrad";
    case ConvDirection::kBackwardFilter:
      return "wgrad";
  }
  return "";
}

// The matrix product that an implicit GEMM is: forward [n p q, k] with sums over c r s.
struct GemmShape {
  double m, n;
};
GemmShape gemm_shape(const Convolution& c) {
  const double channels = static_cast<double>(c.filter[1]);
  const double filters = static_cast<double>(c.filter[0]);
  switch (c.direction) {
    case ConvDirection::kForward:
      return {.m = count_of(c.output) / filters, .n = filters};
    case ConvDirection::kBackwardData:
      return {.m = count_of(c.image) / static_cast<double>(c.image[1]), .n = channels};
    case ConvDirection::kBackwardFilter:
      return {.m = count_of(c.filter) / filters, .n = filters};
  }
  return {};
}

KernelCall implicit_gemm(const Convolution& c, const std::string& epilogue, double extra_bytes) {
  const char* known_type = dnn_type(c.type).name;
  const std::string type = known_type == nullptr ? "unknown" : known_type;
  const std::string arithmetic = c.type == CUDNN_DATA_DOUBLE  ? "f64"
                                 : c.type == CUDNN_DATA_FLOAT ? "tf32"
                                                              : "f32";
  const std::string second = c.type == CUDNN_DATA_FLOAT ? "tf32" : type;
  const GemmShape shape = gemm_shape(c);
  const int tile_m = shape.m >= 2048 ? 128 : 64, tile_n = shape.n >= 128 ? 128 : 64;
  KernelCall call;
  call.name = std::string("sm90_xmma_") + direction_name(c.direction) + "_implicit_gemm_" + type +
              second + "_" + type + arithmetic + "_" + type + "_" +
              (c.is_nhwc ? "nhwckrsc_nhwc" : "nchwkcrs_nchw") + "_tilesize" +
              std::to_string(tile_m) + "x" + std::to_string(tile_n) + "x64_warpgroupsize1x1x1" +
              (c.groups() > 1 ? "_g" + std::to_string(c.groups()) : "") + epilogue +
              "_execute_kernel__5x_cudnn";
  call.grid = {blocks_for(shape.m, tile_m), blocks_for(shape.n, tile_n), 1};
  call.threads = 384;
  call.work = {.flops = flops_of(c), .bytes = traffic_of(c) + extra_bytes};
  return call;
}

KernelCall named(const std::vector<std::string>& path, double flops, double bytes) {
  KernelCall call = move_kernel(path, bytes);
  call.work.flops = flops;
  return call;
}

// F(4x4, 3x3) of A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// doi:10.1109/CVPR.2016.435: 36 products where 144 were, on tiles that grow by 36 / 16.
std::vector<KernelCall> winograd_nonfused(const Convolution& c) {
  constexpr double growth = 36.0 / 16.0;
  const ConvolutionBytes b = bytes_of(c);
  const std::vector<std::string> space{"winograd_nonfused"};
  const auto path = [&](const char* name) { return std::vector<std::string>{space[0], name}; };
  return {
      move_kernel(path("winogradForwardData4x4"), b.image * (1 + growth)),
      move_kernel(path("winogradForwardFilter4x4"), b.filter * (1 + 4)),
      named(path("winogradGemm4x4"), flops_of(c) / 4, (b.image + b.output) * growth + 4 * b.filter),
      move_kernel(path("winogradForwardOutput4x4"), b.output * (1 + growth))};
}

// Two transforms, products of complex numbers, and the way back; tiles of 32 x 32 overlap by the
// filter, whole images do not.
std::vector<KernelCall> fourier(const Convolution& c, bool tiled) {
  const double growth = tiled ? 1.5 : 1.1;
  const ConvolutionBytes b = bytes_of(c);
  const double filter_spectrum =
      b.filter * 32 * 32 / static_cast<double>(c.filter[2] * c.filter[3]);
  const char* size = tiled ? "fft2d_r2c_32x32" : "fft2d_r2c_256x256";
  const char* back = tiled ? "fft2d_c2r_32x32" : "fft2d_c2r_256x256";
  // 4 real products per complex one, one complex product per channel and element.
  const double flops = 8.0 * growth * count_of(c.output) * static_cast<double>(c.filter[1]);
  return {move_kernel({"fft", size}, b.image * (1 + 2 * growth)),
          move_kernel({"fft", "fft2d_r2c_filter"}, b.filter + 2 * filter_spectrum),
          named({"fft", "complex_product"}, flops,
                2 * growth * (b.image + b.output) + 2 * filter_spectrum),
          move_kernel({"fft", back}, b.output * (1 + 2 * growth))};
}

std::vector<KernelCall> direct(const Convolution& c) {
  const double flops = flops_of(c), bytes = traffic_of(c);
  switch (c.direction) {
    case ConvDirection::kForward:
      return {named({"cnn", "implicit_convolve_sgemm"}, flops, bytes)};
    case ConvDirection::kBackwardData:
      return {named({"detail", "dgrad_engine"}, flops, bytes)};
    case ConvDirection::kBackwardFilter:
      return {named({"detail", "wgrad_alg0_engine"}, flops, bytes)};
  }
  return {};
}

}  // namespace

ConvolutionBytes bytes_of(const Convolution& c) {
  const double element = dnn_type(c.type).bytes;
  return {.image = element * count_of(c.image),
          .filter = element * count_of(c.filter),
          .output = element * count_of(c.output)};
}

DnnType dnn_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return {"f32", 4};
    case CUDNN_DATA_DOUBLE:
      return {"f64", 8};
    case CUDNN_DATA_HALF:
      return {"f16", 2};
    case CUDNN_DATA_BFLOAT16:
      return {"bf16", 2};
    case CUDNN_DATA_INT8:
      return {"i8", 1};
    case CUDNN_DATA_INT32:
      return {"i32", 4};
    case CUDNN_DATA_INT64:
      return {"i64", 8};
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_UINT8:
      return {"u8", 1};
    case CUDNN_DATA_FP8_E4M3:
      return {"e4m3", 1};
    case CUDNN_DATA_FP8_E5M2:
      return {"e5m2", 1};
    default:
      return {nullptr, 0};
  }
}

// cuDNN 9 API, cudnnGetConvolution2dForwardOutputDim: 1 + (input + 2 * pad - (((filter - 1) *
// dilation) + 1)) / stride; the backend API has a padding for each side.
std::int64_t output_extent(std::int64_t image, std::int64_t filter, std::int64_t padding_before,
                           std::int64_t padding_after, std::int64_t stride, std::int64_t dilation) {
  const std::int64_t room = image + padding_before + padding_after - ((filter - 1) * dilation + 1);
  return room < 0 ? 0 : 1 + room / stride;
}

std::vector<KernelCall> convolution_kernels(const Convolution& c, ConvMethod method,
                                            const std::string& epilogue, double extra_bytes) {
  const ConvolutionBytes b = bytes_of(c);
  std::vector<KernelCall> calls;
  switch (method) {
    case ConvMethod::kImplicitGemm:
      return {implicit_gemm(c, epilogue, extra_bytes)};
    case ConvMethod::kDirect:
      calls = direct(c);
      break;
    case ConvMethod::kGemm: {
      const double unrolled = static_cast<double>(workspace_bytes(c, method));
      calls = {
          move_kernel({"ops", "im2col4d_kernel"}, b.image + unrolled),
          named({"cnn", "explicit_convolve_sgemm"}, flops_of(c), unrolled + b.filter + b.output)};
      break;
    }
    case ConvMethod::kFft:
    case ConvMethod::kFftTiling:
      calls = fourier(c, method == ConvMethod::kFftTiling);
      break;
    case ConvMethod::kWinograd:  // F(2x2, 3x3): 16 products where 36 were
      calls = {named({"winograd", "winograd3x3Kernel"}, flops_of(c) / 2.25, traffic_of(c))};
      break;
    case ConvMethod::kWinogradNonfused:
      calls = winograd_nonfused(c);
      break;
    case ConvMethod::kSplitFilter: {
      const double parts = static_cast<double>(workspace_bytes(c, method));
      calls = {named({"detail", "wgrad_alg3_engine"}, flops_of(c), b.image + b.output + parts),
               move_kernel({"ops", "reduce_parts_kernel"}, parts + b.filter)};
      break;
    }
  }
  calls.back().work.bytes += extra_bytes;
  return calls;
}

std::string dnn_kernel_name(const std::vector<std::string>& path) {
  std::string name = "_ZN5cudnn";
  for (const auto& part : path)
    name += std::to_string(part.size()) + part;
  return name + "IfEEvv";
}

KernelCall move_kernel(const std::vector<std::string>& path, double bytes) {
  constexpr double bytes_per_block = 16384;  // 256 threads, 64 bytes each
  KernelCall call;
  call.name = dnn_kernel_name(path);
  call.grid = {blocks_for(bytes, bytes_per_block), 1, 1};
  call.threads = 256;
  call.work.bytes = bytes;
  return call;
}

std::vector<std::int64_t> output_dims(cudnnTensorDescriptor_t image, cudnnFilterDescriptor_t filter,
                                      cudnnConvolutionDescriptor_t convolution) {
  require(image, filter, convolution);
  const std::size_t rank = image->dims.size();
  fail_if(rank < 3 || filter->dims.size() != rank || convolution->padding.size() + 2 != rank ||
          image->dims[1] != filter->dims[1] * convolution->groups ||
          filter->dims[0] % convolution->groups != 0);
  std::vector<std::int64_t> dims{image->dims[0], filter->dims[0]};
  for (std::size_t i = 2; i < rank; ++i) {
    dims.push_back(output_extent(image->dims[i], filter->dims[i], convolution->padding[i - 2],
                                 convolution->padding[i - 2], convolution->stride[i - 2],
                                 convolution->dilation[i - 2]));
    fail_if(dims.back() < 1);
  }
  return dims;
}

Convolution describe(const ConvolutionDescriptors& d) {
  require(d.output);
  fail_if(d.output->dims != output_dims(d.image, d.filter, d.convolution) ||
          d.image->type != d.filter->type || d.image->type != d.output->type);
  return {.direction = d.direction,
          .image = d.image->dims,
          .filter = d.filter->dims,
          .output = d.output->dims,
          .stride = d.convolution->stride,
          .dilation = d.convolution->dilation,
          .type = d.image->type,
          .is_nhwc = d.filter->format == CUDNN_TENSOR_NHWC};
}

bool is_not_zero(const void* scale, cudnnDataType_t tensor_type) {
  return tensor_type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(scale) != 0.0
                                          : *static_cast<const float*>(scale) != 0.0F;
}

}  // namespace simgpu
