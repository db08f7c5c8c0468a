#include "math/gemm.hpp"

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

// A kernel of the vendor's own: cublasLt::splitKreduce_kernel<32, 16, int, float, float, float,
// float>(), mangled so that names demangle as on a GPU.
constexpr const char* kSplitKReduce = "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffEEvv";

bool is_fp8(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

template <typename Value>
bool all_zero(const void* memory, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Value value{};
    std::memcpy(&value, static_cast<const char*>(memory) + i * sizeof value, sizeof value);
    if (value != Value{}) return false;
  }
  return true;
}

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

}  // namespace

ElementType element_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16BF:
      return {"bf16", 2};
    case CUDA_R_16F:
      return {"f16", 2};
    case CUDA_R_32F:
      return {"f32", 4};
    case CUDA_R_64F:
      return {"f64", 8};
    case CUDA_C_32F:
      return {"cf32", 8, true};
    case CUDA_C_64F:
      return {"cf64", 16, true};
    case CUDA_R_8I:
      return {"i8", 1};
    case CUDA_R_32I:
      return {"i32", 4};
    case CUDA_R_8F_E4M3:
      return {"e4m3", 1};
    case CUDA_R_8F_E5M2:
      return {"e5m2", 1};
    default:
      return {nullptr, 0};
  }
}

const char* arithmetic_of(const GemmProblem& g) {
  const auto types = [&](cudaDataType ab, cudaDataType cd) {
    return g.a_type == ab && g.b_type == ab && g.c_type == cd && g.d_type == cd;
  };
  switch (g.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return types(CUDA_R_16F, CUDA_R_16F) ? "f16" : nullptr;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return types(CUDA_R_8I, CUDA_R_32I) ? "i32" : nullptr;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return types(CUDA_R_64F, CUDA_R_64F) || types(CUDA_C_64F, CUDA_C_64F) ? "f64" : nullptr;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (types(CUDA_R_32F, CUDA_R_32F) || types(CUDA_C_32F, CUDA_C_32F)) {
        return g.allows_tf32 ? "tf32" : "f32";
      }
      return types(CUDA_R_16BF, CUDA_R_16BF) || types(CUDA_R_16F, CUDA_R_16F) ||
                     types(CUDA_R_8I, CUDA_R_32F) || types(CUDA_R_16BF, CUDA_R_32F) ||
                     types(CUDA_R_16F, CUDA_R_32F)
                 ? "f32"
                 : nullptr;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return types(CUDA_R_32F, CUDA_R_32F) || types(CUDA_C_32F, CUDA_C_32F) ? "tf32" : nullptr;
    default:
      return nullptr;
  }
}

GemmTile gemm_tile(const GemmProblem& g) {
  if (g.m >= 2048 && g.n >= 1024) return {128, 256, 64};
  if (g.m >= 512 && g.n >= 256) return {128, 128, 64};
  return {64, 64, g.k >= 512 ? 64 : 32};
}

int gemm_splits(const GemmProblem& g) {
  constexpr double max_elements = 16384;
  if (g.batch != 1 || g.k < 8192 || product(g.m, g.n) > max_elements) return 1;
  return static_cast<int>(std::min<std::int64_t>(g.k / 2048, 16));
}

double split_workspace_bytes(const GemmProblem& g, int splits) {
  if (splits <= 1) return 0;
  return splits * product(g.m, g.n) * std::max(4.0, element_type(g.d_type).bytes);
}

std::vector<KernelCall> gemm_kernels(const GemmProblem& g, const GemmTile& tile, int splits,
                                     const std::string& epilogue, double extra_bytes) {
  const ElementType a = element_type(g.a_type), b = element_type(g.b_type),
                    c = element_type(g.c_type), d = element_type(g.d_type);
  // FP8 products accumulate in f32; arithmetic_of() does not know them.
  const bool fp8 = is_fp8(g.a_type) || is_fp8(g.b_type);
  const std::string arithmetic = fp8 ? "f32" : arithmetic_of(g);
  const std::string second_input = arithmetic == "tf32" ? "tf32" : b.name;

  KernelCall main;
  main.name = std::string("sm90_xmma_gemm_") + a.name + second_input + "_" + c.name + arithmetic +
              "_" + d.name + "_" + (g.trans_a ? "t" : "n") + (g.trans_b ? "t" : "n") +
              "_n_tilesize" + std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" +
              std::to_string(tile.k) + "_warpgroupsize1x1x1" + epilogue +
              "_execute_segment_k_off_kernel__5x_cublas";
  const double batch = static_cast<double>(g.batch);
  const double partial_bytes = split_workspace_bytes(g, splits);
  const double output_bytes = product(g.m, g.n) * (d.bytes + (g.reads_c ? c.bytes : 0.0));
  main.grid = {
      blocks_for(static_cast<double>(g.m), tile.m) * blocks_for(static_cast<double>(g.n), tile.n),
      1, static_cast<unsigned>(g.batch) * static_cast<unsigned>(splits)};
  main.threads = 384;
  const double flops_per_step = a.is_complex ? 8.0 : 2.0;  // 4 products and 4 sums, or 1 and 1
  const double inputs = a.bytes * product(g.m, g.k) + b.bytes * product(g.k, g.n);
  main.work = {
      .flops = flops_per_step * product(g.m, g.n) * static_cast<double>(g.k) * batch,
      .bytes = splits > 1 ? inputs + partial_bytes : batch * (inputs + output_bytes + extra_bytes)};
  if (splits <= 1) return {main};

  KernelCall reduce;
  reduce.name = kSplitKReduce;
  constexpr double elements_per_block = 512;  // 32 x 16 threads, an element each
  reduce.grid = {blocks_for(product(g.m, g.n), elements_per_block), 1, 1};
  reduce.threads = 512;
  reduce.work = {.flops = splits * product(g.m, g.n),
                 .bytes = partial_bytes + output_bytes + extra_bytes};
  return {main, reduce};
}

bool is_zero(const void* scale, cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return all_zero<double>(scale, 1);
    case CUDA_C_64F:
      return all_zero<double>(scale, 2);
    case CUDA_C_32F:
      return all_zero<float>(scale, 2);
    case CUDA_R_32I:
      return all_zero<std::int32_t>(scale, 1);
    case CUDA_R_16F: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, scale, sizeof bits);
      return (bits & 0x7fffU) == 0;  // plus or minus zero
    }
    default:
      return all_zero<float>(scale, 1);
  }
}

}  // namespace simgpu
