#include "model/families/kernel_family.hpp"

#include <algorithm>
#include <array>

namespace inline_prof::model {
namespace {

constexpr auto kMovement = FamilyForm::kMovement;
constexpr auto kProduct = FamilyForm::kProduct;
constexpr auto kTiles = FamilyForm::kTiles;
using Block = BlockElements;

constexpr std::string_view kMakeContiguous =
    "elements are addressed one by one: make the tensors contiguous, or fuse the operators "
    "(torch.compile)";
constexpr std::string_view kFuse = "fuse it with its neighbours (torch.compile)";
constexpr std::string_view kOlderKernel = "a kernel of an older generation: take a newer cuBLAS";

// Names as PyTorch 1.13 to 2.11, cuBLAS 11 to 13, cuDNN 8 and 9, NCCL 2, flash-attention 2 and 3,
// FBGEMM, vLLM 0.11, TensorRT-LLM, CUB, CuPy 13 and Inductor have them.
constexpr std::array kKernelFamilies{
    KernelFamily{"multimem_all_reduce", "symmetric_memory", "all-reduce through symmetric memory"},
    KernelFamily{"one_shot_all_reduce", "symmetric_memory", "all-reduce through symmetric memory"},
    KernelFamily{"two_shot_all_reduce", "symmetric_memory", "all-reduce through symmetric memory"},
    KernelFamily{"ncclDevKernel_", "nccl", "collective"},
    KernelFamily{"ncclKernel_", "nccl", "collective"},
    KernelFamily{"vectorized_elementwise_kernel<", "vectorized", "element-wise", kMovement,
                 Block::kVectors},
    KernelFamily{"unrolled_elementwise_kernel<", "unrolled", "element-wise", kMovement,
                 Block::kFour, kFuse},
    KernelFamily{"index_elementwise_kernel<", "indexing", "indexing", kMovement,
                 Block::kThreadsTimesWork},
    KernelFamily{"elementwise_kernel<", "strided", "element-wise", kMovement,
                 Block::kThreadsTimesWork, kMakeContiguous},
    KernelFamily{"elementwise_kernel_with_index", "vectorized", "element-wise", kMovement},
    KernelFamily{"fused_dropout", "random", "dropout", kMovement},
    KernelFamily{"distribution_elementwise", "random", "random numbers", kMovement},
    KernelFamily{"triu_tril", "strided", "triangle", kMovement},
    KernelFamily{"upsample_", "strided", "upsampling", kMovement},
    KernelFamily{"max_pool", "pooling", "pooling", kMovement},
    KernelFamily{"avg_pool", "pooling", "pooling", kMovement},
    KernelFamily{"adaptive_average", "pooling", "pooling", kMovement},
    KernelFamily{"pooling_fw", "pooling", "pooling", kMovement},
    KernelFamily{"pooling_bw", "pooling", "pooling", kMovement},
    KernelFamily{"multi_tensor_apply_kernel<", "lists", "element-wise over lists", kMovement},
    KernelFamily{"FusedAdam", "lists", "optimizer", kMovement},
    KernelFamily{"FusedSgd", "lists", "optimizer", kMovement},
    KernelFamily{"splitKreduce", "split_sum", "sum of a product's parts", kMovement},
    KernelFamily{"splitK_reduce", "split_sum", "sum of a product's parts", kMovement},
    KernelFamily{"reduce_kernel<", "reduction", "reduction", kMovement},
    KernelFamily{"reduce_1Block_kernel", "reduction", "reduction", kMovement},
    KernelFamily{"softmax_warp_", "softmax_warp", "softmax", kMovement},
    KernelFamily{"cunn_SoftMax", "softmax_block", "softmax", kMovement, Block::kUnknown,
                 "rows that are not a multiple of 16 bytes long are read element by element, three "
                 "times: pad them, "
                 "or let one attention kernel do it"},
    KernelFamily{"vectorized_layer_norm", "norm", "norm", kMovement},
    KernelFamily{"GammaBeta", "norm_weights", "gradient of a norm's weights", kMovement},
    KernelFamily{"gamma_beta", "norm_weights", "gradient of a norm's weights", kMovement},
    KernelFamily{"layer_norm", "norm", "norm", kMovement},
    KernelFamily{"LayerNorm", "norm", "norm", kMovement},
    KernelFamily{"fused_add_rms_norm", "norm_vectorized", "norm", kMovement},
    KernelFamily{"vllm::rms_norm", "norm_vectorized", "norm", kMovement},
    KernelFamily{"rms_norm", "norm", "norm", kMovement},
    KernelFamily{"RowwiseMoments", "norm", "norm", kMovement},
    KernelFamily{"batch_norm", "norm", "norm", kMovement},
    KernelFamily{"bn_fw", "norm", "norm", kMovement},
    KernelFamily{"bn_bw", "norm", "norm", kMovement},
    KernelFamily{"CatArrayBatchedCopy_contig", "cat", "concatenation", kMovement, Block::kUnknown,
                 kFuse},
    KernelFamily{"CatArrayBatchedCopy_vectorized", "cat_vectorized", "concatenation", kMovement},
    KernelFamily{"CatArrayBatchedCopy_alignedK", "cat_vectorized", "concatenation", kMovement},
    KernelFamily{"CatArrayBatchedCopy", "cat", "concatenation", kMovement, Block::kUnknown, kFuse},
    KernelFamily{"indexSelect", "gather", "gather", kMovement},
    KernelFamily{"vectorized_gather_kernel", "gather", "gather", kMovement},
    KernelFamily{"indexFunc", "scatter", "scatter", kMovement},
    KernelFamily{"scatter_gather", "scatter", "gather or scatter", kMovement},
    KernelFamily{"indexing_backward", "scatter", "gradient of a gather", kMovement},
    KernelFamily{"nchwToNhwc", "transpose", "change of a convolution's layout", kMovement,
                 Block::kUnknown,
                 "the image is written in another order: keep the model in torch.channels_last"},
    KernelFamily{"nhwcToNchw", "transpose", "change of a convolution's layout", kMovement,
                 Block::kUnknown,
                 "the image is written in another order: keep the model in torch.channels_last"},
    KernelFamily{"AddPaddingTo", "transpose", "change of a convolution's layout", kMovement},
    KernelFamily{"nll_loss", "loss", "loss", kMovement},
    KernelFamily{"split_embedding_backward", "embedding_backward",
                 "backward pass of embedding bags"},
    KernelFamily{"split_embedding_codegen_grad", "embedding_backward",
                 "backward pass of embedding bags"},
    KernelFamily{"split_embedding", "embedding", "embedding bags"},
    KernelFamily{"permute_pooled_embs", "unrolled", "permutation of embeddings", kMovement},
    KernelFamily{"recat_copy", "unrolled", "permutation of embeddings", kMovement},
    KernelFamily{"permute_indices_weights", "bags", "permutation of indices", kMovement},
    KernelFamily{"bounds_check_indices", "bags", "check of indices", kMovement},
    KernelFamily{"linearize_index", "sort", "numbering of indices", kMovement},
    KernelFamily{"fbgemm_gpu::", "fbgemm", "FBGEMM"},
    KernelFamily{"embedding_backward", "scatter", "gradient of an embedding", kMovement},
    KernelFamily{"compute_grad_weight", "scatter", "gradient of an embedding", kMovement},
    KernelFamily{"sum_and_scatter", "scatter", "gradient of an embedding", kMovement},
    KernelFamily{"flash_bwd", "attention_backward", "backward pass of attention", kTiles},
    KernelFamily{"FlashAttnBwd", "attention_backward", "backward pass of attention", kTiles},
    KernelFamily{"fmha_cutlassB", "attention_backward", "backward pass of attention", kTiles},
    KernelFamily{"flash_fwd", "attention_flash2", "attention", kTiles},
    KernelFamily{"flash::compute_attn", "attention_flash3", "attention", kTiles},
    KernelFamily{"FlashAttnFwd", "attention_flash3", "attention", kTiles},
    KernelFamily{"FlashAttn", "attention_flash3", "attention", kTiles},
    KernelFamily{"fmha", "attention_fmha", "attention", kTiles},
    KernelFamily{"_sdpa_", "attention_cudnn", "attention", kTiles},
    KernelFamily{"cudnn_generated_fort_native_sdpa", "attention_cudnn", "attention", kTiles},
    KernelFamily{"DeviceRadixSort", "sort", "radix sort", kMovement},
    KernelFamily{"DeviceMergeSort", "merge_sort", "merge sort"},
    KernelFamily{"DeviceScan", "scan", "scan", kMovement},
    KernelFamily{"kernel_scan", "scan", "scan", kMovement},
    KernelFamily{"DeviceReduceByKey", "sort", "reduction by key", kMovement},
    KernelFamily{"DeviceReduce", "reduction", "reduction", kMovement},
    KernelFamily{"DeviceSelect", "selection", "selection"},
    KernelFamily{"DeviceSegmented", "segmented_reduction", "segmented reduction"},
    KernelFamily{"thrust::", "unrolled", "element-wise", kMovement},
    KernelFamily{"scudnn", "convolution_simt", "convolution", kTiles},
    KernelFamily{"convolve_sgemm", "convolution_simt", "convolution", kTiles},
    KernelFamily{"simt_sfprop", "convolution_simt", "convolution", kTiles},
    KernelFamily{"simt_sdgrad", "convolution_simt", "gradient of a convolution's image", kTiles},
    KernelFamily{"simt_swgrad", "convolution_simt", "gradient of a convolution's filter", kTiles},
    KernelFamily{"fprop", "convolution", "convolution", kTiles},
    KernelFamily{"dgrad", "convolution", "gradient of a convolution's image", kTiles},
    KernelFamily{"wgrad", "convolution", "gradient of a convolution's filter", kTiles},
    KernelFamily{"_conv", "convolution_other", "convolution"},
    KernelFamily{"convolve", "convolution_other", "convolution"},
    KernelFamily{"bmm_", "experts", "products of experts"},
    KernelFamily{"moe::dev::finalize", "vectorized", "sum of experts", kMovement},
    KernelFamily{"moe::dev::", "reduction", "routing of experts", kMovement},
    KernelFamily{"quantize_with_block_size", "unrolled", "quantisation", kMovement},
    KernelFamily{"scaled_fp8_quant", "unrolled", "quantisation", kMovement},
    KernelFamily{"rotary_embedding_kernel", "unrolled", "rotary embedding", kMovement},
    KernelFamily{"reshape_and_cache", "unrolled", "writing of a cache", kMovement},
    // Products: what is not aligned comes before its generation, and what has no tensor cores
    // before both.
    KernelFamily{"simt_sgemm", "product_simt", "matrix product", kProduct},
    KernelFamily{"align16", "product", "matrix product", kProduct},
    KernelFamily{"align1", "product_align1", "matrix product", kProduct},
    KernelFamily{"align2", "product_align2", "matrix product", kProduct},
    KernelFamily{"align4", "product_align4", "matrix product", kProduct},
    KernelFamily{"cutlass_80_wmma", "product_wmma", "matrix product", kProduct, Block::kUnknown,
                 kOlderKernel},
    KernelFamily{"cutlass_7", "product_75", "matrix product", kProduct, Block::kUnknown,
                 kOlderKernel},
    KernelFamily{"cutlass_80", "product_80", "matrix product", kProduct, Block::kUnknown,
                 kOlderKernel},
    KernelFamily{"sm90_xmma_gemm", "product_90", "matrix product", kProduct},
    KernelFamily{"sm80_xmma_gemm", "product_80", "matrix product", kProduct, Block::kUnknown,
                 kOlderKernel},
    KernelFamily{"nvjet_", "product_nvjet", "matrix product", kProduct},
    KernelFamily{"gemvx", "product_vector", "product with a vector", kProduct},
    KernelFamily{"gemv", "product_vector", "product with a vector", kProduct},
    KernelFamily{"ampere_sgemm", "product_simt", "matrix product", kProduct},
    KernelFamily{"volta_sgemm", "product_simt", "matrix product", kProduct},
    KernelFamily{"sgemm", "product_simt", "matrix product", kProduct},
    KernelFamily{"ampere_", "product_80", "matrix product", kProduct},
    KernelFamily{"cutlass", "product", "matrix product", kProduct},
    KernelFamily{"gemm", "product", "matrix product", kProduct},
    KernelFamily{"cublasLt", "product", "matrix product", kProduct},
    KernelFamily{"cupy_", "vectorized", "element-wise", kMovement, Block::kOne},
    KernelFamily{"triton_poi_fused", "fused", "fused element-wise", kMovement},
    KernelFamily{"triton_red_fused", "fused_reduction", "fused reduction", kMovement},
    KernelFamily{"triton_per_fused", "fused_reduction", "fused reduction", kMovement},
};

}  // namespace

std::span<const KernelFamily> kernel_families() {
  return kKernelFamilies;
}

const KernelFamily* kernel_family(std::string_view kernel_name) {
  const auto* const found =
      std::find_if(kKernelFamilies.begin(), kKernelFamilies.end(), [&](const KernelFamily& family) {
        return kernel_name.find(family.word) != std::string_view::npos;
      });
  return found == kKernelFamilies.end() ? nullptr : found;
}

}  // namespace inline_prof::model
