// Attributes of descriptors: a table says where a value lies, two functions move it.
#pragma once

#include "cublaslt/vendor_cublaslt.hpp"

#include <cstddef>
#include <cstring>
#include <span>

namespace simgpu {

struct Field {
  int attribute;
  std::size_t offset;
  std::size_t bytes;
  bool is_read_only = false;
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
[[nodiscard]] inline cublasStatus_t set_attribute(std::span<const Field> fields, void* object,
                                                  int attribute, const void* buffer,
                                                  std::size_t bytes) {
  const Field* field = find_field(fields, attribute);
  if (object == nullptr || buffer == nullptr || field == nullptr || field->is_read_only ||
      bytes != field->bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(static_cast<char*>(object) + field->offset, buffer, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// cublasLt.h, at each ...GetAttribute: "CUBLAS_STATUS_INVALID_VALUE if sizeInBytes is 0 and
// sizeWritten is NULL, or if sizeInBytes is non-zero and buf is NULL or sizeInBytes doesn't match
// size of internal storage"; sizeWritten: "If sizeInBytes is non-zero: number of bytes actually
// written, if sizeInBytes is 0: number of bytes needed to write full contents".
[[nodiscard]] inline cublasStatus_t get_attribute(std::span<const Field> fields, const void* object,
                                                  int attribute, void* buffer, std::size_t bytes,
                                                  std::size_t* written) {
  const Field* field = find_field(fields, attribute);
  if (object == nullptr || field == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes == 0) {
    if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  } else {
    if (buffer == nullptr || bytes != field->bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(buffer, static_cast<const char*>(object) + field->offset, bytes);
  }
  if (written != nullptr) *written = field->bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace simgpu
