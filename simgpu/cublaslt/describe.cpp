#include "cublaslt/matmul.hpp"

#include <array>
#include <utility>

namespace simgpu {
namespace {

bool is_row_major(const MatrixLayout& layout) {
  return layout.order == CUBLASLT_ORDER_ROW;
}

// cublasLt.h, CUBLASLT_MATRIX_LAYOUT_LD: "must be large enough so that matrix memory locations are
// not overlapping (e.g. greater or equal to CUBLASLT_MATRIX_LAYOUT_ROWS in case of
// CUBLASLT_ORDER_COL)".  The interleaved orders and planar complex are not simulated.
void check_layout(const MatrixLayout& layout) {
  fail_if(layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW,
          CUBLAS_STATUS_NOT_SUPPORTED);
  fail_if(layout.plane_offset != 0, CUBLAS_STATUS_NOT_SUPPORTED);
  const std::uint64_t least = is_row_major(layout) ? layout.cols : layout.rows;
  fail_if(layout.rows == 0 || layout.cols == 0 || layout.batch_count < 1 || layout.ld < 0 ||
          static_cast<std::uint64_t>(layout.ld) < least);
}

cudaDataType type_of(const MatrixLayout& layout) {
  return static_cast<cudaDataType>(layout.type);
}

bool is_fp8(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

// cuBLAS 13.0, cublasLtMatmul, table of FP8 types: not both inputs E5M2; C in bf16, f16 or f32, and
// D of the same type or FP8 (E5M2 only if an input is); "A must be transposed and B non-transposed
// (the TN format)" on Hopper; dimensions of whole 16 bytes; arithmetic in f32.
bool fp8_is_supported(const GemmProblem& g, const MatmulDesc& desc) {
  if (!is_fp8(g.a_type) || !is_fp8(g.b_type)) return false;
  const bool has_e5m2 = g.a_type == CUDA_R_8F_E5M2 || g.b_type == CUDA_R_8F_E5M2;
  if (g.a_type == CUDA_R_8F_E5M2 && g.b_type == CUDA_R_8F_E5M2) return false;
  const bool c_is_half = g.c_type == CUDA_R_16BF || g.c_type == CUDA_R_16F;
  const bool types_fit =
      (g.d_type == g.c_type && (c_is_half || g.c_type == CUDA_R_32F)) ||
      (c_is_half && (g.d_type == CUDA_R_8F_E4M3 || (has_e5m2 && g.d_type == CUDA_R_8F_E5M2)));
  return types_fit && g.compute == CUBLAS_COMPUTE_32F && desc.scale_type == CUDA_R_32F &&
         g.trans_a && !g.trans_b && g.m % 16 == 0 && g.n % 16 == 0 && g.k % 16 == 0;
}

// Types other than FP8 combine as in cublasGemmEx.
bool types_are_supported(const GemmProblem& g, const MatmulDesc& desc) {
  if (is_fp8(g.a_type) || is_fp8(g.b_type)) return fp8_is_supported(g, desc);
  return arithmetic_of(g) != nullptr;
}

// cublasLt.h, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER and the like: "If set for an unsupported matrix
// data, scale, and compute type combination, calling cublasLtMatmul() will return
// CUBLAS_INVALID_VALUE."  Scales are for FP8; C and D have one only in FP8 themselves.  Vector and
// block scales need other hardware or other layouts and are not simulated, but for those of whole
// rows and columns (OUTER_VEC_32F).
void check_scales(const GemmProblem& g, const MatmulDesc& desc) {
  fail_if(!is_fp8(g.a_type) && (desc.a_scale != nullptr || desc.b_scale != nullptr));
  fail_if(!is_fp8(g.c_type) && desc.c_scale != nullptr);
  fail_if(!is_fp8(g.d_type) && (desc.d_scale != nullptr || desc.amax_d != nullptr));
  for (const std::int32_t mode : {desc.a_scale_mode, desc.b_scale_mode}) {
    fail_if(mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F &&
                mode != CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
            CUBLAS_STATUS_NOT_SUPPORTED);
  }
  fail_if(desc.c_scale_mode != 0 || desc.d_scale_mode != 0 || desc.d_out_scale_mode != 0,
          CUBLAS_STATUS_NOT_SUPPORTED);
}

enum class Aux { kNone, kReluMask, kGeluInput };

struct Epilogue {
  cublasLtEpilogue_t value;
  const char* name;
  bool has_bias;  // or a gradient of it
  Aux aux;
};
constexpr std::array kEpilogues{
    Epilogue{CUBLASLT_EPILOGUE_DEFAULT, "", false, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_RELU, "_relu", false, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_RELU_AUX, "_relu_aux", false, Aux::kReluMask},
    Epilogue{CUBLASLT_EPILOGUE_BIAS, "_bias", true, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_RELU_BIAS, "_bias_relu", true, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_RELU_AUX_BIAS, "_bias_relu_aux", true, Aux::kReluMask},
    Epilogue{CUBLASLT_EPILOGUE_DRELU, "_drelu", false, Aux::kReluMask},
    Epilogue{CUBLASLT_EPILOGUE_DRELU_BGRAD, "_drelu_bgrad", true, Aux::kReluMask},
    Epilogue{CUBLASLT_EPILOGUE_GELU, "_gelu", false, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_GELU_AUX, "_gelu_aux", false, Aux::kGeluInput},
    Epilogue{CUBLASLT_EPILOGUE_GELU_BIAS, "_bias_gelu", true, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_GELU_AUX_BIAS, "_bias_gelu_aux", true, Aux::kGeluInput},
    Epilogue{CUBLASLT_EPILOGUE_DGELU, "_dgelu", false, Aux::kGeluInput},
    Epilogue{CUBLASLT_EPILOGUE_DGELU_BGRAD, "_dgelu_bgrad", true, Aux::kGeluInput},
    Epilogue{CUBLASLT_EPILOGUE_BGRADA, "_bgrada", true, Aux::kNone},
    Epilogue{CUBLASLT_EPILOGUE_BGRADB, "_bgradb", true, Aux::kNone}};

// cublasLt.h, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: "Must be divisible by 128" for a mask of bits,
// "by 8" for GELU's input, "and be no less than the number of rows in the output matrix".
void add_epilogue(const MatrixLayout& d, Matmul& matmul) {
  const MatmulDesc& desc = matmul.desc;
  const Epilogue* epilogue = nullptr;
  for (const Epilogue& known : kEpilogues) {
    if (static_cast<std::uint32_t>(known.value) == desc.epilogue) epilogue = &known;
  }
  fail_if(epilogue == nullptr);
  matmul.epilogue = epilogue->name;
  const double rows = static_cast<double>(d.rows), cols = static_cast<double>(d.cols);
  const double d_bytes = element_type(matmul.problem.d_type).bytes;
  if (epilogue->has_bias) {
    fail_if(desc.bias == nullptr);
    matmul.epilogue_bytes += d_bytes * (epilogue->value == CUBLASLT_EPILOGUE_BGRADB ? cols : rows);
  }
  if (epilogue->aux != Aux::kNone) {
    const std::int64_t unit = epilogue->aux == Aux::kReluMask ? 128 : 8;
    fail_if(desc.aux == nullptr || desc.aux_ld % unit != 0 ||
            desc.aux_ld < static_cast<std::int64_t>(d.rows));
    matmul.epilogue_bytes += rows * cols * (epilogue->aux == Aux::kReluMask ? 0.125 : d_bytes);
  }
}

}  // namespace

Matmul describe(const MatmulRequest& request) {
  fail_if(request.desc == nullptr || request.a == nullptr || request.b == nullptr ||
          request.c == nullptr || request.d == nullptr);
  const auto a = value_in<MatrixLayout>(*request.a), b = value_in<MatrixLayout>(*request.b),
             c = value_in<MatrixLayout>(*request.c), d = value_in<MatrixLayout>(*request.d);
  Matmul matmul;
  matmul.desc = value_in<MatmulDesc>(*request.desc);
  const MatmulDesc& desc = matmul.desc;
  for (const MatrixLayout& layout : {a, b, c, d}) {
    check_layout(layout);
    fail_if(layout.batch_count != d.batch_count);
  }
  fail_if(desc.trans_c != CUBLAS_OP_N || desc.fill_mode != CUBLAS_FILL_MODE_FULL,
          CUBLAS_STATUS_NOT_SUPPORTED);
  const bool trans_a = desc.trans_a != CUBLAS_OP_N, trans_b = desc.trans_b != CUBLAS_OP_N;
  const auto k = trans_a ? a.rows : a.cols;
  fail_if((trans_a ? a.cols : a.rows) != d.rows || (trans_b ? b.rows : b.cols) != d.cols ||
          (trans_b ? b.cols : b.rows) != k || c.rows != d.rows || c.cols != d.cols ||
          c.order != d.order);

  // A row-major matrix is a column-major one transposed, and D^T = op(B)^T op(A)^T.
  const bool memory_trans_a = trans_a != is_row_major(a),
             memory_trans_b = trans_b != is_row_major(b);
  GemmProblem& g = matmul.problem;
  g = {.trans_a = memory_trans_a,
       .trans_b = memory_trans_b,
       .m = static_cast<std::int64_t>(d.rows),
       .n = static_cast<std::int64_t>(d.cols),
       .k = static_cast<std::int64_t>(k),
       .batch = d.batch_count,
       .a_type = type_of(a),
       .b_type = type_of(b),
       .c_type = type_of(c),
       .d_type = type_of(d),
       .compute = static_cast<cublasComputeType_t>(desc.compute_type)};
  if (is_row_major(d)) {
    std::swap(g.m, g.n);
    std::swap(g.a_type, g.b_type);
    g.trans_a = !memory_trans_b;
    g.trans_b = !memory_trans_a;
  }
  fail_if(!types_are_supported(g, desc), CUBLAS_STATUS_NOT_SUPPORTED);
  check_scales(g, desc);
  add_epilogue(d, matmul);
  return matmul;
}

}  // namespace simgpu
