// cuBLASLt: the product that its descriptors describe (cublasLt.h 13.0), read with the library's
// own getters.
#include "libraries/call_operation.hpp"
#include "libraries/call_wrapper.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <optional>

namespace inline_prof::libraries {
namespace {

using Matmul = int(void* handle, void* description, const void* alpha, const void* a,
                   void* a_layout, const void* b, void* b_layout, const void* beta, const void* c,
                   void* c_layout, void* d, void* d_layout, const void* algorithm, void* workspace,
                   std::size_t workspace_bytes, void* stream);

static_assert(kSameAbi<decltype(::cublasLtMatmul), Matmul>);

using GetAttribute = int(void* object, int attribute, void* value, std::size_t bytes,
                         std::size_t* written);

template <typename Value>
std::optional<Value> read(GetAttribute* get, void* object, int attribute) {
  Value value{};
  std::size_t written = 0;
  if (get == nullptr || get(object, attribute, &value, sizeof value, &written) != 0 ||
      written != sizeof value)
    return std::nullopt;
  return value;
}

struct Layout {
  std::uint32_t type = 0;
  std::int32_t order = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int32_t batch = 1;
};

std::optional<Layout> read_layout(GetAttribute* get, void* layout) {
  const auto type = read<std::uint32_t>(get, layout, CUBLASLT_MATRIX_LAYOUT_TYPE);
  const auto order = read<std::int32_t>(get, layout, CUBLASLT_MATRIX_LAYOUT_ORDER);
  const auto rows = read<std::uint64_t>(get, layout, CUBLASLT_MATRIX_LAYOUT_ROWS);
  const auto columns = read<std::uint64_t>(get, layout, CUBLASLT_MATRIX_LAYOUT_COLS);
  const auto batch = read<std::int32_t>(get, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  if (!type || !order || !rows || !columns || !batch) return std::nullopt;
  return Layout{*type, *order, *rows, *columns, *batch};
}

struct Description {
  std::int32_t compute = 0;
  std::int32_t trans_a = 0;
  std::int32_t trans_b = 0;
  std::int32_t trans_c = 0;
  std::uint32_t epilogue = 0;
};

std::optional<Description> read_description(GetAttribute* get, void* description) {
  const auto compute = read<std::int32_t>(get, description, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  const auto trans_a = read<std::int32_t>(get, description, CUBLASLT_MATMUL_DESC_TRANSA);
  const auto trans_b = read<std::int32_t>(get, description, CUBLASLT_MATMUL_DESC_TRANSB);
  const auto trans_c = read<std::int32_t>(get, description, CUBLASLT_MATMUL_DESC_TRANSC);
  const auto epilogue = read<std::uint32_t>(get, description, CUBLASLT_MATMUL_DESC_EPILOGUE);
  if (!compute || !trans_a || !trans_b || !trans_c || !epilogue) return std::nullopt;
  return Description{*compute, *trans_a, *trans_b, *trans_c, *epilogue};
}

struct Epilogue {
  std::uint32_t value;
  const char* name;
  const char* swapped;  // its name where the call's A is our B
};
constexpr std::array kEpilogues{
    Epilogue{CUBLASLT_EPILOGUE_DEFAULT, "none", "none"},
    Epilogue{CUBLASLT_EPILOGUE_RELU, "relu", "relu"},
    Epilogue{CUBLASLT_EPILOGUE_RELU_AUX, "relu_aux", "relu_aux"},
    Epilogue{CUBLASLT_EPILOGUE_BIAS, "bias", "bias"},
    Epilogue{CUBLASLT_EPILOGUE_RELU_BIAS, "relu_bias", "relu_bias"},
    Epilogue{CUBLASLT_EPILOGUE_RELU_AUX_BIAS, "relu_aux_bias", "relu_aux_bias"},
    Epilogue{CUBLASLT_EPILOGUE_DRELU, "drelu", "drelu"},
    Epilogue{CUBLASLT_EPILOGUE_DRELU_BGRAD, "drelu_bgrad", "drelu_bgrad"},
    Epilogue{CUBLASLT_EPILOGUE_GELU, "gelu", "gelu"},
    Epilogue{CUBLASLT_EPILOGUE_GELU_AUX, "gelu_aux", "gelu_aux"},
    Epilogue{CUBLASLT_EPILOGUE_GELU_BIAS, "gelu_bias", "gelu_bias"},
    Epilogue{CUBLASLT_EPILOGUE_GELU_AUX_BIAS, "gelu_aux_bias", "gelu_aux_bias"},
    Epilogue{CUBLASLT_EPILOGUE_DGELU, "dgelu", "dgelu"},
    Epilogue{CUBLASLT_EPILOGUE_DGELU_BGRAD, "dgelu_bgrad", "dgelu_bgrad"},
    Epilogue{CUBLASLT_EPILOGUE_BGRADA, "bgrad_a", "bgrad_b"},
    Epilogue{CUBLASLT_EPILOGUE_BGRADB, "bgrad_b", "bgrad_a"}};

// Null for an epilogue that this library does not know.
const char* epilogue_name(std::uint32_t value, bool swapped) {
  const auto* const known = std::ranges::find(kEpilogues, value, &Epilogue::value);
  if (known == kEpilogues.end()) return nullptr;
  return swapped ? known->swapped : known->name;
}

bool is_plain(std::int32_t order) {
  return order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW;
}

// D = op(A) op(B).  Where D is column-major, row-major memory holds D' = op(B)' op(A)', and what
// the call names A is our B.
Product product_of(const Description& said, const Layout& a, const Layout& b, const Layout& d) {
  const bool swapped = d.order == CUBLASLT_ORDER_COL;
  const bool op_a = said.trans_a != CUBLAS_OP_N;
  const bool op_b = said.trans_b != CUBLAS_OP_N;
  // A matrix whose order is not D's lies transposed in the memory that D's order reads.
  const bool trans_a = op_a != (a.order != d.order);
  const bool trans_b = op_b != (b.order != d.order);
  Product product{.k = static_cast<std::int64_t>(op_a ? a.rows : a.columns),
                  .batch = d.batch,
                  .c_type = number_type_of(static_cast<int>(d.type))};
  product.m = static_cast<std::int64_t>(swapped ? d.columns : d.rows);
  product.n = static_cast<std::int64_t>(swapped ? d.rows : d.columns);
  product.a_type = number_type_of(static_cast<int>(swapped ? b.type : a.type));
  product.b_type = number_type_of(static_cast<int>(swapped ? a.type : b.type));
  product.trans_a = swapped ? trans_b : trans_a;
  product.trans_b = swapped ? trans_a : trans_b;
  return product;
}

record::Op describe_matmul(const LibraryCall& call, void* real, void* description, void* a_layout,
                           void* b_layout, void* d_layout) {
  auto* const get_layout = function_beside<GetAttribute>(real, "cublasLtMatrixLayoutGetAttribute");
  auto* const get_description =
      function_beside<GetAttribute>(real, "cublasLtMatmulDescGetAttribute");
  const auto said = read_description(get_description, description);
  const auto a = read_layout(get_layout, a_layout);
  const auto b = read_layout(get_layout, b_layout);
  const auto d = read_layout(get_layout, d_layout);
  if (!said || !a || !b || !d) return left_out(call, "its descriptors cannot be read");
  if (said->trans_c != CUBLAS_OP_N) return left_out(call, "a transposed C is not supported");
  for (const Layout* layout : {&*a, &*b, &*d}) {
    if (!is_plain(layout->order)) return left_out(call, "order", layout->order);
    if (number_type_of(static_cast<int>(layout->type)) == nullptr)
      return left_out(call, "data type", layout->type);
  }
  Product product = product_of(*said, *a, *b, *d);
  product.compute_type = compute_type_of(said->compute);
  if (product.compute_type == nullptr) return left_out(call, "compute type", said->compute);
  const char* epilogue = epilogue_name(said->epilogue, d->order == CUBLASLT_ORDER_COL);
  if (epilogue == nullptr) return left_out(call, "epilogue", said->epilogue);
  product.epilogue = epilogue;
  return gemm_op(call, product);
}

struct SaidByMatmul {
  static constexpr const char* kEventName = "gemm";
  static constexpr int kNotThere = CUBLAS_STATUS_NOT_INITIALIZED;

  static record::Op describe(const LibraryCall& call, void* real, void*, void* description,
                             const void*, const void*, void* a_layout, const void*, void* b_layout,
                             const void*, const void*, void*, void*, void* d_layout, const void*,
                             void*, std::size_t, void*) {
    return describe_matmul(call, real, description, a_layout, b_layout, d_layout);
  }
};

}  // namespace

INLINE_PROF_CUBLASLT_CALLS(INLINE_PROF_DEFINE_CALL)

}  // namespace inline_prof::libraries
