// The words of an operation, from the vendor's enumerations; and what happens where there is none.
#pragma once

#include "libraries/library_calls.hpp"
#include "record/event_record.hpp"

#include <cstdint>
#include <string>

namespace inline_prof::hook {

// The word of op_kind.hpp for a cudaDataType; null for complex types and for those that are newer
// than us.
[[nodiscard]] const char* number_type_of(int cuda_data_type) noexcept;

// The same for a cublasComputeType_t; null for the emulated kinds, too.
[[nodiscard]] const char* compute_type_of(int cublas_compute_type) noexcept;

// "cublasSgemm" for cublasSgemm_v2: what the application's source says.
[[nodiscard]] std::string source_of(const LibraryCall& call);

// No operation, since a guess would be worse; says so once for each word and reason.
[[nodiscard]] record::Op left_out(const LibraryCall& call, const std::string& why);
// "data type 31 has no word".
[[nodiscard]] record::Op left_out(const LibraryCall& call, const char* what, std::int64_t value);

// C[m,n] = A[m,k] B[k,n], as row-major memory has it.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  const char* a_type = nullptr;
  const char* b_type = nullptr;
  const char* c_type = nullptr;
  const char* compute_type = nullptr;
  bool trans_a = false;
  bool trans_b = false;
  std::string epilogue = "none";
};

// No type is null.
[[nodiscard]] record::Op gemm_op(const LibraryCall& call, const Product& product);

}  // namespace inline_prof::hook
