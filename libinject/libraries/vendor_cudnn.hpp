// The part of cudnn.h that is used here: a CUDA installation need not have cuDNN's headers.  Values
// and signatures: NVIDIA cuDNN 9.19 API, "cudnn_cnn Library", "cudnn_graph Library", "cudnn_ops
// Library".  Handles and descriptors are void*, enumerations int: the ABI passes both alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace inline_prof::libraries::cudnn {

// cudnnStatus_t
inline constexpr int kSuccess = 0;
inline constexpr int kNotInitialized = 1001;  // 1 in cuDNN 8

// cudnnBackendDescriptorType_t
inline constexpr int kTensorDescriptor = 17;

// cudnnBackendAttributeType_t
inline constexpr int kDataTypeAttribute = 1;
inline constexpr int kInt64Attribute = 3;
inline constexpr int kDescriptorAttribute = 15;
inline constexpr int kBooleanAttribute = 2;
inline constexpr int kPointwiseModeAttribute = 14;

// cudnnPointwiseMode_t
inline constexpr int kExponent = 13;
inline constexpr int kGreaterOrEqual = 303;

// cudnnBackendAttributeName_t
inline constexpr int kPointwiseMode = 0;
inline constexpr int kConvolutionDilations = 102;
inline constexpr int kConvolutionStrides = 103;
inline constexpr int kConvolutionPrePaddings = 105;
inline constexpr int kConvolutionSpatialDims = 106;
inline constexpr int kForwardConvolution = 702;
inline constexpr int kForwardFilter = 703;
inline constexpr int kForwardImage = 704;
inline constexpr int kForwardOutput = 705;
inline constexpr int kBackwardDataConvolution = 708;
inline constexpr int kBackwardDataFilter = 709;
inline constexpr int kBackwardDataImage = 710;
inline constexpr int kBackwardDataOutput = 711;
inline constexpr int kBackwardFilterConvolution = 714;
inline constexpr int kBackwardFilterFilter = 715;
inline constexpr int kBackwardFilterImage = 716;
inline constexpr int kBackwardFilterOutput = 717;
inline constexpr int kPointwiseOperation = 750;
inline constexpr int kGraphOperations = 801;
inline constexpr int kTensorDataType = 901;
inline constexpr int kTensorDimensions = 902;
inline constexpr int kTensorStrides = 903;
inline constexpr int kTensorIsVirtual = 907;
inline constexpr int kProductFirst = 1520;
inline constexpr int kProductSecond = 1521;
inline constexpr int kProductResult = 1522;
inline constexpr int kAttentionForwardQueries = 2800;
inline constexpr int kAttentionForwardKeys = 2801;
inline constexpr int kAttentionBackwardQueries = 2851;
inline constexpr int kAttentionBackwardKeys = 2852;

// Returns prof.json's name of a cudnnDataType_t; null if it has none.
[[nodiscard]] inline const char* type_name(int type) noexcept {
  constexpr std::array<const char*, 17> names{
      "f32",  "f64", "f16",   "i8",     "i32",    nullptr, nullptr, nullptr, nullptr,
      "bf16", "i64", nullptr, "f8e4m3", "f8e5m2", nullptr, nullptr, "f4e2m1"};
  const auto place = static_cast<std::size_t>(type);
  return type >= 0 && place < names.size() ? names[place] : nullptr;
}

// cudnnConvolutionForward, ...BackwardData, ...BackwardFilter: two tensors and the result.
using Convolve = int(void* handle, const void* alpha, void* first_desc, const void* first,
                     void* second_desc, const void* second, void* conv_desc, int algorithm,
                     void* workspace, std::size_t workspace_bytes, const void* beta,
                     void* result_desc, void* result);

using GetTensorNd = int(void* tensor, int requested, int* type, int* count, int* dimensions,
                        int* strides);
using GetFilterNd = int(void* filter, int requested, int* type, int* format, int* count,
                        int* dimensions);
using GetConvolutionNd = int(void* convolution, int requested, int* count, int* pads, int* strides,
                             int* dilations, int* mode, int* compute_type);
using GetGroupCount = int(void* convolution, int* groups);

using BackendCreate = int(int type, void** descriptor);
using BackendDestroy = int(void* descriptor);
using BackendSet = int(void* descriptor, int name, int type, std::int64_t count,
                       const void* elements);
using BackendGet = int(void* descriptor, int name, int type, std::int64_t requested,
                       std::int64_t* count, void* elements);
using BackendExecute = int(void* handle, void* plan, void* variant_pack);

}  // namespace inline_prof::libraries::cudnn
