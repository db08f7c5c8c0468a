#include "libraries/call_operation.hpp"

#include "hook/observer.hpp"

#include <inline_prof/op_kind.hpp>

#include <cublas_api.h>

#include <algorithm>
#include <library_types.h>

namespace inline_prof::libraries {

const char* number_type_of(int cuda_data_type) noexcept {
  // Not in every toolkit's library_types.h (12.8).
  constexpr int cuda_r_4f_e2m1 = 33;
  switch (cuda_data_type) {
    case CUDA_R_64F:
      return "f64";
    case CUDA_R_32F:
      return "f32";
    case CUDA_R_16F:
      return "f16";
    case CUDA_R_16BF:
      return "bf16";
    case CUDA_R_8F_E4M3:
      return "f8e4m3";
    case CUDA_R_8F_E5M2:
      return "f8e5m2";
    case cuda_r_4f_e2m1:
      return "f4e2m1";
    case CUDA_R_8I:
      return "i8";
    case CUDA_R_32I:
      return "i32";
    case CUDA_R_64I:
      return "i64";
    default:
      return nullptr;
  }
}

const char* compute_type_of(int cublas_compute_type) noexcept {
  switch (cublas_compute_type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return "f16";
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return "bf16";
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return "tf32";
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return "f32";
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return "f64";
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return "i32";
    default:
      return nullptr;
  }
}

std::string source_of(const LibraryCall& call) {
  std::string name = call.symbol;
  if (const auto version = name.find("_v2"); version != std::string::npos) name.erase(version, 3);
  return name;
}

record::Op left_out(const LibraryCall& call, const std::string& why) {
  if (hook::Observer* session = hook::observer())
    session->warn_once(source_of(call) + ": " + why + ": its operation is not described");
  return {};
}

record::Op left_out(const LibraryCall& call, const char* what, std::int64_t value) {
  return left_out(call, std::string(what) + ' ' + std::to_string(value) + " is not supported");
}

record::Op gemm_op(const LibraryCall& call, const Product& product) {
  record::Op op{.kind = std::string(op_kind_name(OpKind::kGemm)),
                .attributes = {},
                .source = source_of(call)};
  const auto add = [&](const char* name, record::OpValue value) {
    op.attributes.emplace_back(name, std::move(value));
  };
  add("m", product.m);
  add("n", product.n);
  add("k", product.k);
  add("batch", product.batch);
  add("a_type", std::string(product.a_type));
  add("b_type", std::string(product.b_type));
  add("c_type", std::string(product.c_type));
  add("compute_type", std::string(product.compute_type));
  add("trans_a", product.trans_a);
  add("trans_b", product.trans_b);
  add("epilogue", product.epilogue);
  return op;
}

}  // namespace inline_prof::libraries
