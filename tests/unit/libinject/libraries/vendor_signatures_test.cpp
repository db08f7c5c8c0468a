// Compares our declarations of the vendors' functions with their headers where they are installed.
#include "libraries/call_wrapper.hpp"
#include "libraries/vendor_cudnn.hpp"
#include "libraries/vendor_nccl.hpp"
#include "testing.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace inline_prof::libraries {
namespace {

TEST(SameAbi, TellsFunctionsApartThatAreCalledDifferently) {
  enum class Kind : int {};
  static_assert(kSameAbi<int(void*, Kind), Kind(char**, int)>);
  static_assert(!kSameAbi<int(void*, int), int(void*, long)>);
  static_assert(!kSameAbi<int(void*), int(void*, int)>);
  static_assert(!kSameAbi<int(void*), int(long)>);
  static_assert(!kSameAbi<int(double), int(long)>);
  static_assert(!kSameAbi<int(nccl::UniqueId), int(void*)>);
}

#if __has_include(<cudnn.h>)
TEST(CudnnsHeader, DeclaresWhatWeWrap) {
  static_assert(kSameAbi<decltype(::cudnnConvolutionForward), cudnn::Convolve>);
  static_assert(kSameAbi<decltype(::cudnnConvolutionBackwardData), cudnn::Convolve>);
  static_assert(kSameAbi<decltype(::cudnnConvolutionBackwardFilter), cudnn::Convolve>);
  static_assert(kSameAbi<decltype(::cudnnGetTensorNdDescriptor), cudnn::GetTensorNd>);
  static_assert(kSameAbi<decltype(::cudnnGetFilterNdDescriptor), cudnn::GetFilterNd>);
  static_assert(kSameAbi<decltype(::cudnnGetConvolutionNdDescriptor), cudnn::GetConvolutionNd>);
  static_assert(kSameAbi<decltype(::cudnnGetConvolutionGroupCount), cudnn::GetGroupCount>);
  static_assert(kSameAbi<decltype(::cudnnBackendCreateDescriptor), cudnn::BackendCreate>);
  static_assert(kSameAbi<decltype(::cudnnBackendDestroyDescriptor), cudnn::BackendDestroy>);
  static_assert(kSameAbi<decltype(::cudnnBackendSetAttribute), cudnn::BackendSet>);
  static_assert(kSameAbi<decltype(::cudnnBackendGetAttribute), cudnn::BackendGet>);
  static_assert(kSameAbi<decltype(::cudnnBackendExecute), cudnn::BackendExecute>);
}

TEST(CudnnsHeader, HasTheNumbersThatWeKnow) {
  static_assert(cudnn::kTensorDescriptor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  static_assert(cudnn::kDataTypeAttribute == CUDNN_TYPE_DATA_TYPE);
  static_assert(cudnn::kInt64Attribute == CUDNN_TYPE_INT64);
  static_assert(cudnn::kDescriptorAttribute == CUDNN_TYPE_BACKEND_DESCRIPTOR);
  static_assert(cudnn::kConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS);
  static_assert(cudnn::kConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  static_assert(cudnn::kConvolutionPrePaddings == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  static_assert(cudnn::kConvolutionSpatialDims == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  static_assert(cudnn::kForwardConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  static_assert(cudnn::kForwardFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  static_assert(cudnn::kForwardImage == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  static_assert(cudnn::kForwardOutput == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  static_assert(cudnn::kBackwardDataConvolution ==
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  static_assert(cudnn::kBackwardDataFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
  static_assert(cudnn::kBackwardDataImage == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
  static_assert(cudnn::kBackwardDataOutput == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  static_assert(cudnn::kBackwardFilterConvolution ==
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
  static_assert(cudnn::kBackwardFilterFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
  static_assert(cudnn::kBackwardFilterImage == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
  static_assert(cudnn::kBackwardFilterOutput == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  static_assert(cudnn::kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
  static_assert(cudnn::kTensorDataType == CUDNN_ATTR_TENSOR_DATA_TYPE);
  static_assert(cudnn::kTensorDimensions == CUDNN_ATTR_TENSOR_DIMENSIONS);
  static_assert(cudnn::kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES);
  EXPECT_STREQ(cudnn::type_name(CUDNN_DATA_FLOAT), "f32");
  EXPECT_STREQ(cudnn::type_name(CUDNN_DATA_BFLOAT16), "bf16");
  EXPECT_STREQ(cudnn::type_name(CUDNN_DATA_FP8_E5M2), "f8e5m2");
  EXPECT_EQ(cudnn::type_name(CUDNN_DATA_UINT8), nullptr);
}
#endif

#if __has_include(<nccl.h>)
TEST(NcclsHeader, DeclaresWhatWeWrap) {
  static_assert(kSameAbi<decltype(::ncclAllReduce), nccl::AllReduce>);
  static_assert(kSameAbi<decltype(::ncclAllGather), nccl::AllGather>);
  static_assert(kSameAbi<decltype(::ncclReduceScatter), nccl::ReduceScatter>);
  static_assert(kSameAbi<decltype(::ncclBroadcast), nccl::Broadcast>);
  static_assert(kSameAbi<decltype(::ncclBcast), nccl::Bcast>);
  static_assert(kSameAbi<decltype(::ncclReduce), nccl::Reduce>);
  static_assert(kSameAbi<decltype(::ncclSend), nccl::Send>);
  static_assert(kSameAbi<decltype(::ncclRecv), nccl::Recv>);
  static_assert(kSameAbi<decltype(::ncclGroupStart), nccl::GroupStart>);
  static_assert(kSameAbi<decltype(::ncclGroupEnd), nccl::GroupEnd>);
  static_assert(kSameAbi<decltype(::ncclCommInitRank), nccl::CommInitRank>);
  static_assert(kSameAbi<decltype(::ncclCommInitRankConfig), nccl::CommInitRankConfig>);
  static_assert(kSameAbi<decltype(::ncclCommInitAll), nccl::CommInitAll>);
  static_assert(kSameAbi<decltype(::ncclCommSplit), nccl::CommSplit>);
  static_assert(kSameAbi<decltype(::ncclCommDestroy), nccl::CommDestroy>);
  static_assert(kSameAbi<decltype(::ncclCommCount), nccl::CommCount>);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
  static_assert(kSameAbi<decltype(::ncclCommInitRankScalable), nccl::CommInitRankScalable>);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  static_assert(kSameAbi<decltype(::ncclAlltoAll), nccl::AlltoAll>);
  static_assert(kSameAbi<decltype(::ncclGather), nccl::Gather>);
  static_assert(kSameAbi<decltype(::ncclScatter), nccl::Scatter>);
#endif
}

TEST(NcclsHeader, HasTheDataTypesThatWeKnow) {
  const auto name = [](ncclDataType_t type) {
    return nccl::kDataTypes.at(static_cast<std::size_t>(type)).type;
  };
  EXPECT_STREQ(name(ncclInt8), "i8");
  EXPECT_STREQ(name(ncclInt32), "i32");
  EXPECT_STREQ(name(ncclInt64), "i64");
  EXPECT_STREQ(name(ncclFloat16), "f16");
  EXPECT_STREQ(name(ncclFloat32), "f32");
  EXPECT_STREQ(name(ncclFloat64), "f64");
  EXPECT_STREQ(name(ncclBfloat16), "bf16");
  EXPECT_STREQ(name(ncclFloat8e4m3), "f8e4m3");
  EXPECT_STREQ(name(ncclFloat8e5m2), "f8e5m2");
  EXPECT_EQ(name(ncclUint8), nullptr);
  EXPECT_EQ(nccl::kDataTypes[ncclUint64].bytes, 8U);
}
#endif

}  // namespace
}  // namespace inline_prof::libraries
