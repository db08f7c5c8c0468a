#include "libraries/call_operation.hpp"

#include "hook/observer.hpp"

#include <inline_prof/op_kind.hpp>

#include <cublas_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <library_types.h>

namespace inline_prof::libraries {

namespace {

struct TypeName {
  int type;
  const char* name;
};

template <std::size_t N>
const char* name_in(const std::array<TypeName, N>& names, int type) noexcept {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const TypeName& each) { return each.type == type; });
  return found == names.end() ? nullptr : found->name;
}

constexpr int kR4fE2m1 = 33;  // CUDA_R_4F_E2M1, which library_types.h has since 12.8
constexpr std::array kNumberTypes{
    TypeName{CUDA_R_64F, "f64"},        TypeName{CUDA_R_32F, "f32"},
    TypeName{CUDA_R_16F, "f16"},        TypeName{CUDA_R_16BF, "bf16"},
    TypeName{CUDA_R_8F_E4M3, "f8e4m3"}, TypeName{CUDA_R_8F_E5M2, "f8e5m2"},
    TypeName{kR4fE2m1, "f4e2m1"},       TypeName{CUDA_R_8I, "i8"},
    TypeName{CUDA_R_32I, "i32"},        TypeName{CUDA_R_64I, "i64"}};
constexpr std::array kComputeTypes{TypeName{CUBLAS_COMPUTE_16F, "f16"},
                                   TypeName{CUBLAS_COMPUTE_16F_PEDANTIC, "f16"},
                                   TypeName{CUBLAS_COMPUTE_32F_FAST_16F, "f16"},
                                   TypeName{CUBLAS_COMPUTE_32F_FAST_16BF, "bf16"},
                                   TypeName{CUBLAS_COMPUTE_32F_FAST_TF32, "tf32"},
                                   TypeName{CUBLAS_COMPUTE_32F, "f32"},
                                   TypeName{CUBLAS_COMPUTE_32F_PEDANTIC, "f32"},
                                   TypeName{CUBLAS_COMPUTE_64F, "f64"},
                                   TypeName{CUBLAS_COMPUTE_64F_PEDANTIC, "f64"},
                                   TypeName{CUBLAS_COMPUTE_32I, "i32"},
                                   TypeName{CUBLAS_COMPUTE_32I_PEDANTIC, "i32"}};

}  // namespace

const char* number_type_of(int cuda_data_type) noexcept {
  return name_in(kNumberTypes, cuda_data_type);
}

const char* compute_type_of(int cublas_compute_type) noexcept {
  return name_in(kComputeTypes, cublas_compute_type);
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
  return {.kind = std::string(op_kind_name(OpKind::kGemm)),
          .attributes = {{"m", product.m},
                         {"n", product.n},
                         {"k", product.k},
                         {"batch", product.batch},
                         {"a_type", product.a_type},
                         {"b_type", product.b_type},
                         {"c_type", product.c_type},
                         {"compute_type", product.compute_type},
                         {"trans_a", product.trans_a},
                         {"trans_b", product.trans_b},
                         {"epilogue", product.epilogue}},
          .source = source_of(call)};
}

}  // namespace inline_prof::libraries
