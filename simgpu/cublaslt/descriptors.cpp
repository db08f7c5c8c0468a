// Descriptors: made, destroyed, and their attributes.
#include "cublaslt/descriptors.hpp"

#include "cublaslt/handle.hpp"

#include <array>
#include <memory>

using namespace simgpu;

namespace {

constexpr std::array kLayoutFields{
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, MatrixLayout, type),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, MatrixLayout, order),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, MatrixLayout, rows),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, MatrixLayout, cols),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_LD, MatrixLayout, ld),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, MatrixLayout, batch_count),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, MatrixLayout, batch_stride),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, MatrixLayout, plane_offset),
    SIMGPU_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, MatrixLayout, batch_mode)};

constexpr std::array kMatmulFields{
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDesc, compute_type),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDesc, scale_type),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDesc, pointer_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDesc, trans_a),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDesc, trans_b),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDesc, trans_c),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDesc, fill_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDesc, epilogue),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDesc, bias),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDesc, bias_batch_stride),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDesc, aux),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDesc, aux_ld),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDesc, aux_batch_stride),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDesc, alpha_batch_stride),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDesc, sm_count_target),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDesc, a_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDesc, b_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDesc, c_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDesc, d_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDesc, amax_d),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDesc, aux_type),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDesc, aux_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDesc, aux_amax),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDesc, fast_accum),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDesc, bias_type),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDesc, a_scale_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDesc, b_scale_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDesc, c_scale_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDesc, d_scale_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDesc, aux_scale_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDesc, d_out_scale),
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDesc, d_out_scale_mode),
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the pointer is what is set
    SIMGPU_FIELD(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDesc, emulation)};

constexpr std::array kPreferenceFields{
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, MatmulPreference, search_mode),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, MatmulPreference, max_workspace_bytes),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, MatmulPreference,
                 reduction_scheme_mask),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, MatmulPreference, alignment_a),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, MatmulPreference, alignment_b),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, MatmulPreference, alignment_c),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, MatmulPreference, alignment_d),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, MatmulPreference, max_waves_count),
    SIMGPU_FIELD(CUBLASLT_MATMUL_PREF_IMPL_MASK, MatmulPreference, impl_mask)};

// In memory of the program: "CUBLAS_STATUS_ALLOC_FAILED if size of the pre-allocated space is
// insufficient" (cublasLt.h, at each ...Init).
template <typename Value, typename Opaque>
void init(Opaque* place, std::size_t bytes, const Value& value) {
  fail_if(place == nullptr);
  fail_if(bytes < sizeof(Opaque), CUBLAS_STATUS_ALLOC_FAILED);
  put(value, *place);
}

template <typename Value, typename Opaque>
void create(Opaque** descriptor, const Value& value) {
  fail_if(descriptor == nullptr);
  auto made = std::make_unique<Opaque>();
  put(value, *made);
  *descriptor = made.release();
}

MatrixLayout layout_of(cudaDataType type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  return {.rows = rows, .cols = cols, .ld = ld, .type = static_cast<std::uint32_t>(type)};
}

MatmulDesc matmul_of(cublasComputeType_t compute, cudaDataType_t scale) {
  return {.compute_type = compute, .scale_type = scale};
}

}  // namespace

// Functions that all kinds of descriptors have.
#define SIMGPU_DESCRIPTOR(Kind, fields)                                                      \
  SIMGPU_CALL(cublasLt##Kind##Destroy, descriptor) {                                         \
    delete descriptor;                                                                       \
  }                                                                                          \
  SIMGPU_CALL(cublasLt##Kind##SetAttribute, descriptor, attribute, buffer, bytes) {          \
    set_attribute(fields, descriptor, attribute, buffer, bytes);                             \
  }                                                                                          \
  SIMGPU_CALL(cublasLt##Kind##GetAttribute, descriptor, attribute, buffer, bytes, written) { \
    get_attribute(fields, descriptor, attribute, buffer, bytes, written);                    \
  }
SIMGPU_DESCRIPTOR(MatrixLayout, kLayoutFields)
SIMGPU_DESCRIPTOR(MatmulDesc, kMatmulFields)
SIMGPU_DESCRIPTOR(MatmulPreference, kPreferenceFields)

SIMGPU_CALL(cublasLtMatrixLayoutInit_internal, layout, size, type, rows, cols, ld) {
  init(layout, size, layout_of(type, rows, cols, ld));
}

SIMGPU_CALL(cublasLtMatrixLayoutCreate, layout, type, rows, cols, ld) {
  create(layout, layout_of(type, rows, cols, ld));
}

SIMGPU_CALL(cublasLtMatmulDescInit_internal, desc, size, compute, scale) {
  init(desc, size, matmul_of(compute, scale));
}

SIMGPU_CALL(cublasLtMatmulDescCreate, desc, compute, scale) {
  create(desc, matmul_of(compute, scale));
}

SIMGPU_CALL(cublasLtMatmulPreferenceInit_internal, preference, size) {
  init(preference, size, MatmulPreference{});
}

SIMGPU_CALL(cublasLtMatmulPreferenceCreate, preference) {
  create(preference, MatmulPreference{});
}
