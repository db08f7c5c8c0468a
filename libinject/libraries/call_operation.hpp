// prof.json's names for the vendors' enumerations, and the operation of a matrix product.
#pragma once

#include "libraries/library_calls.hpp"
#include "record/event_record.hpp"

#include <cstdint>
#include <string>

namespace inline_prof::libraries {

// Returns the name of a cudaDataType as in op_kind.hpp. Null for complex types and for types that
// this library does not know.
[[nodiscard]] const char* number_type_of(int cuda_data_type) noexcept;

// Does the same for a cublasComputeType_t. Null also for the emulated types.
[[nodiscard]] const char* compute_type_of(int cublas_compute_type) noexcept;

// Returns the function's name as in the application's source: "cublasSgemm" for cublasSgemm_v2.
[[nodiscard]] std::string source_of(const LibraryCall& call);

// Returns no operation, and warns once for each function and reason.
[[nodiscard]] record::Op left_out(const LibraryCall& call, const std::string& why);
// The reason is "`what` `value` is not supported": "data type 31 is not supported".
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

// No type of `product` is null.
[[nodiscard]] record::Op gemm_op(const LibraryCall& call, const Product& product);

}  // namespace inline_prof::libraries
