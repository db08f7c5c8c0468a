// The contents of cublasLt.h's opaque descriptors.  A program may keep them in memory of its own
// (cublasLtMatmulDescInit and the like), so they hold plain values and fit the opaque sizes.
#pragma once

#include "cublaslt/vendor_cublaslt.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace simgpu {

// Thrown by the bodies of functions, which return nothing.
struct LtFailure {
  cublasStatus_t status;
};
inline void fail_if(bool is_bad, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  if (is_bad) throw LtFailure{status};
}

// Attributes of descriptors: a table says where a value lies, two functions move it.

struct Field {
  int attribute;
  std::size_t offset;
  std::size_t bytes;
};
#define SIMGPU_FIELD(attribute, Struct, member)                 \
  Field {                                                       \
    attribute, offsetof(Struct, member), sizeof(Struct::member) \
  }

[[nodiscard]] inline const Field* find_field(std::span<const Field> fields, int attribute) {
  for (const Field& field : fields) {
    if (field.attribute == attribute) return &field;
  }
  return nullptr;
}

// cublasLt.h, at each ...SetAttribute: "CUBLAS_STATUS_INVALID_VALUE if buf is NULL or sizeInBytes
// doesn't match size of internal storage for selected attribute".
inline void set_attribute(std::span<const Field> fields, void* object, int attribute,
                          const void* buffer, std::size_t bytes) {
  const Field* field = find_field(fields, attribute);
  fail_if(object == nullptr || buffer == nullptr || field == nullptr || bytes != field->bytes);
  std::memcpy(static_cast<char*>(object) + field->offset, buffer, bytes);
}

// cublasLt.h, at each ...GetAttribute: "CUBLAS_STATUS_INVALID_VALUE if sizeInBytes is 0 and
// sizeWritten is NULL, or if sizeInBytes is non-zero and buf is NULL or sizeInBytes doesn't match
// size of internal storage"; sizeWritten: "If sizeInBytes is non-zero: number of bytes actually
// written, if sizeInBytes is 0: number of bytes needed to write full contents".
inline void get_attribute(std::span<const Field> fields, const void* object, int attribute,
                          void* buffer, std::size_t bytes, std::size_t* written) {
  const Field* field = find_field(fields, attribute);
  fail_if(object == nullptr || field == nullptr);
  fail_if(bytes == 0 ? written == nullptr : buffer == nullptr || bytes != field->bytes);
  if (bytes != 0) std::memcpy(buffer, static_cast<const char*>(object) + field->offset, bytes);
  if (written != nullptr) *written = field->bytes;
}

// Defaults are those of the header's comments at each attribute.
struct MatrixLayout {
  std::uint64_t rows = 0, cols = 0;
  std::int64_t ld = 0;
  std::int64_t batch_stride = 0;
  std::int64_t plane_offset = 0;
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::int32_t batch_count = 1;
  std::uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
};
static_assert(sizeof(MatrixLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct MatmulDesc {
  std::int32_t compute_type = CUBLAS_COMPUTE_32F, scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N, trans_c = CUBLAS_OP_N;
  std::int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_ld = 0, aux_batch_stride = 0;
  std::int64_t alpha_batch_stride = 0;
  const void *a_scale = nullptr, *b_scale = nullptr, *c_scale = nullptr, *d_scale = nullptr;
  void* amax_d = nullptr;
  void *aux_scale = nullptr, *aux_amax = nullptr;
  void* d_out_scale = nullptr;
  cublasLtEmulationDesc_t emulation = nullptr;
  std::int32_t sm_count_target = 0;
  std::int32_t aux_type = -1, bias_type = -1;
  std::int32_t a_scale_mode = 0, b_scale_mode = 0, c_scale_mode = 0, d_scale_mode = 0;
  std::int32_t aux_scale_mode = 0, d_out_scale_mode = 0;
  std::int8_t fast_accum = 0;
};
static_assert(sizeof(MatmulDesc) <= sizeof(cublasLtMatmulDescOpaque_t));

struct MatmulPreference {
  std::uint64_t max_workspace_bytes = 0;
  std::uint64_t impl_mask = ~std::uint64_t{0};
  std::uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  std::uint32_t reduction_scheme_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float max_waves_count = 0;
};
static_assert(sizeof(MatmulPreference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

// An algorithm; zeros are not one.
struct MatmulAlgo {
  std::uint64_t magic = 0;  // kAlgoMagic once initialised
  std::int32_t id = 0, splits = 1;
  std::uint32_t tile_id = CUBLASLT_MATMUL_TILE_UNDEFINED;
  std::uint32_t reduction_scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  std::uint32_t cta_swizzling = 0, custom_option = 0;
  std::uint32_t stages_id = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  std::uint16_t inner_shape_id = 0, cluster_shape_id = 0;
};
static_assert(sizeof(MatmulAlgo) <= sizeof(cublasLtMatmulAlgo_t));
inline constexpr std::uint64_t kAlgoMagic = 0x73696d6770756c74;  // "simgpult"

// The value inside an opaque descriptor, and back.
template <typename Value, typename Opaque>
[[nodiscard]] Value value_in(const Opaque& opaque) {
  Value value;
  std::memcpy(static_cast<void*>(&value), &opaque, sizeof value);
  return value;
}
template <typename Value, typename Opaque>
void put(const Value& value, Opaque& opaque) {
  std::memset(&opaque, 0, sizeof opaque);
  std::memcpy(&opaque, &value, sizeof value);
}

}  // namespace simgpu
