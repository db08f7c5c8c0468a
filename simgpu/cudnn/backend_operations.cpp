#include "cudnn/backend_graph.hpp"
#include "cudnn/convolution.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace simgpu {
namespace {

using Name = cudnnBackendAttributeName_t;
using Dims = std::vector<std::int64_t>;

constexpr auto kGood = CUDNN_STATUS_SUCCESS;
constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
constexpr auto kUnlike = CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;

Dims dims_of(const BackendDescriptor& tensor) {
  return tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

Dims dims_of(const BackendDescriptor& operation, Name name) {
  return dims_of(operation.child(name));
}

bool has(const BackendDescriptor& operation, Name name) {
  return operation.find(name) != nullptr;
}

cudnnDataType_t type_of(const BackendDescriptor& tensor) {
  return tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

bool flag(const BackendDescriptor& tensor, Name name) {
  return has(tensor, name) && tensor.value<bool>(name);
}

std::int64_t id_of(const BackendDescriptor& tensor) {
  return tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
}

// Returns the bytes of a tensor in the GPU's memory; other tensors cost none.
double moved_bytes(const BackendDescriptor& tensor) {
  if (flag(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL) || flag(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
    return 0;
  return count_of(dims_of(tensor)) * dnn_type(type_of(tensor)).bytes;
}

// C = A B in the last two dimensions; those before them are equal, or one is a multiple of the
// other, as with heads that share their keys.
cudnnStatus_t check_product(const BackendDescriptor& operation) {
  const Dims a = dims_of(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const Dims b = dims_of(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  const Dims c = dims_of(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (a.size() != b.size() || a.size() != c.size() || a.size() < 2)
    return CUDNN_STATUS_NOT_SUPPORTED;
  const std::size_t m = a.size() - 2, n = a.size() - 1;
  if (a[n] != b[m] || a[m] != c[m] || b[n] != c[n]) return kBad;
  for (std::size_t i = 0; i < m; ++i) {
    if ((a[i] % b[i] != 0 && b[i] % a[i] != 0) || c[i] != std::max(a[i], b[i])) return kBad;
  }
  return kGood;
}

cudnnStatus_t check_reduction(const BackendDescriptor& operation) {
  return dims_of(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC).size() ==
                 dims_of(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC).size()
             ? kGood
             : kBad;
}

cudnnStatus_t check_reshape(const BackendDescriptor& operation) {
  return count_of(dims_of(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC)) ==
                 count_of(dims_of(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC))
             ? kGood
             : kBad;
}

cudnnPointwiseMode_t mode_of(const BackendDescriptor& operation) {
  return operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
      .value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
}

bool reads_two(cudnnPointwiseMode_t mode) {
  constexpr std::array modes{CUDNN_POINTWISE_ADD,    CUDNN_POINTWISE_MUL,
                             CUDNN_POINTWISE_SUB,    CUDNN_POINTWISE_DIV,
                             CUDNN_POINTWISE_MIN,    CUDNN_POINTWISE_MAX,
                             CUDNN_POINTWISE_CMP_GE, CUDNN_POINTWISE_BINARY_SELECT};
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

// The real library does not compare sizes here: it takes any as broadcast.
cudnnStatus_t check_pointwise(const BackendDescriptor& operation) {
  const cudnnPointwiseMode_t mode = mode_of(operation);
  if (!has(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC)) return kGood;  // a backward mode
  const std::size_t rank = dims_of(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC).size();
  if (reads_two(mode) &&
      (!has(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) ||
       dims_of(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC).size() != rank)) {
    return kBad;
  }
  if (mode == CUDNN_POINTWISE_BINARY_SELECT &&
      !has(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC)) {
    return kBad;
  }
  if (mode == CUDNN_POINTWISE_GEN_INDEX) {
    const BackendDescriptor& how = operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    if (!has(how, CUDNN_ATTR_POINTWISE_AXIS)) return kBad;
    const auto axis = how.value<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return kBad;
  }
  return kGood;
}

#if CUDNN_VERSION >= 91300
cudnnStatus_t check_attention(const BackendDescriptor& operation) {
  const Dims q = dims_of(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
  const Dims k = dims_of(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
  const Dims v = dims_of(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC);
  const Dims o = dims_of(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
  for (const Dims& dims : {q, k, v, o}) {
    if (dims.size() != 4 || dims[0] != q[0]) return kBad;
  }
  // The logarithms of the sums, for the way back.
  if (constexpr auto stats = CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC;
      has(operation, stats) && dims_of(operation, stats) != Dims{q[0], q[1], q[2], 1}) {
    return kBad;
  }
  const bool good = q[1] % k[1] == 0 && q[1] % v[1] == 0 && k[3] == q[3] && v[2] == k[2] &&
                    o[1] == q[1] && o[2] == q[2] && o[3] == v[3];
  return good ? kGood : kBad;
}
#endif

bool unlike(const BackendDescriptor& operation, Name one, Name other) {
  return dims_of(operation, one) != dims_of(operation, other);
}

cudnnStatus_t check_norm_forward(const BackendDescriptor& operation) {
  constexpr auto scale = CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC;
  constexpr auto bias = CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC;
  constexpr auto mean = CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC;
  constexpr auto deviation = CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC;
  const auto phase =
      operation.value<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
  if (unlike(operation, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC))
    return kUnlike;
  if (has(operation, bias) && !has(operation, scale)) return kBad;
  constexpr auto epsilon = CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC;
  if (has(operation, epsilon) ? !flag(operation.child(epsilon), CUDNN_ATTR_TENSOR_IS_BY_VALUE)
                              : phase != CUDNN_NORM_FWD_INFERENCE) {
    return kBad;
  }
  if (has(operation, bias) && unlike(operation, scale, bias)) return kUnlike;
  if (has(operation, mean) && (!has(operation, deviation) || unlike(operation, mean, deviation)))
    return kUnlike;
  return kGood;
}

cudnnStatus_t check_norm_backward(const BackendDescriptor& operation) {
  constexpr auto x = CUDNN_ATTR_OPERATION_NORM_BWD_XDESC;
  constexpr auto scale = CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC;
  constexpr auto dscale = CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC;
  constexpr auto dbias = CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC;
  constexpr auto mean = CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC;
  constexpr auto deviation = CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC;
  const auto mode = operation.value<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
  if (has(operation, scale) != has(operation, dscale)) return kBad;
  if (mode != CUDNN_RMS_NORM && !has(operation, mean)) return kBad;
  if (unlike(operation, x, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC) ||
      unlike(operation, x, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC)) {
    return kUnlike;
  }
  if (has(operation, scale) && unlike(operation, scale, dscale)) return kUnlike;
  if (has(operation, dbias) && (!has(operation, scale) || unlike(operation, scale, dbias)))
    return kUnlike;
  if (has(operation, mean) && (!has(operation, deviation) || unlike(operation, mean, deviation)))
    return kUnlike;
  return kGood;
}

// A graph's products, reductions and pointwise operations, counted.
struct Parts {
  std::vector<const BackendDescriptor*> products;
  std::multiset<int> reductions;
  std::multiset<int> modes;
  int transpositions = 0;
  FusedWork work;
};

// Empty where another operation is among them, or where one reads what none before it has written.
std::optional<Parts> parts_of(const std::vector<DescriptorPointer>& operations) {
  Parts parts;
  std::set<std::int64_t> written;
  std::set<std::int64_t> moved;
  for (const DescriptorPointer& operation : operations) {
    Name result{};
    switch (operation->type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: {
        parts.products.push_back(operation.get());
        result = CUDNN_ATTR_OPERATION_MATMUL_CDESC;
        const Dims a = dims_of(*operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
        parts.work.flops +=
            2 * count_of(dims_of(*operation, result)) * static_cast<double>(a.back());
        break;
      }
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        result = CUDNN_ATTR_OPERATION_REDUCTION_YDESC;
        parts.reductions.insert(operation->child(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                                    .value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR));
        break;
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        result = CUDNN_ATTR_OPERATION_POINTWISE_YDESC;
        parts.modes.insert(mode_of(*operation));
        break;
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        result = CUDNN_ATTR_OPERATION_RESHAPE_YDESC;
        ++parts.transpositions;
        break;
      case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:  // the mask of a dropout
        result = CUDNN_ATTR_OPERATION_RNG_YDESC;
        break;
      default:
        return std::nullopt;
    }
    for (const DescriptorPointer& tensor : tensors_of(*operation)) {
      if (tensor.get() == &operation->child(result)) continue;
      if (flag(*tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL) && !written.contains(id_of(*tensor)))
        return std::nullopt;
    }
    written.insert(id_of(operation->child(result)));
    for (const DescriptorPointer& tensor : tensors_of(*operation)) {
      if (moved.insert(id_of(*tensor)).second) parts.work.bytes += moved_bytes(*tensor);
    }
  }
  return parts;
}

// The parts of attention, in any order that reads nothing before it is written.
std::optional<FusedWork> attention_of_parts(const std::vector<DescriptorPointer>& operations) {
  std::optional<Parts> parts = parts_of(operations);
  if (!parts) return std::nullopt;
  const bool is_causal = parts->modes.contains(CUDNN_POINTWISE_BINARY_SELECT);
  const auto& products = parts->products;
  const bool is_backward = products.size() == 5;
  // With the logarithm of the sum, as the real library's engines want it.
  std::multiset<int> wanted{CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_SUB, CUDNN_POINTWISE_EXP,
                            CUDNN_POINTWISE_LOG, CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_DIV};
  std::multiset<int> reductions{CUDNN_REDUCE_TENSOR_MAX, CUDNN_REDUCE_TENSOR_ADD};
  if (is_backward) {
    wanted = {CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_MUL,     CUDNN_POINTWISE_MUL,
              CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_SUB,     CUDNN_POINTWISE_SUB,
              CUDNN_POINTWISE_EXP, CUDNN_POINTWISE_IDENTITY};
    reductions = {CUDNN_REDUCE_TENSOR_ADD};
    // Heads that share keys and values add up the gradients of both.
    if (parts->reductions.size() == 3)
      reductions.insert({CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_ADD});
  }
  if (is_causal) {
    wanted.insert({CUDNN_POINTWISE_GEN_INDEX, CUDNN_POINTWISE_GEN_INDEX, CUDNN_POINTWISE_CMP_GE,
                   CUDNN_POINTWISE_BINARY_SELECT});
  }
  // More of these: a bias, a mask that is shifted, a factor that the program's front end writes
  // out.
  std::vector<int> more;
  std::set_difference(parts->modes.begin(), parts->modes.end(), wanted.begin(), wanted.end(),
                      std::back_inserter(more));
  const bool has_all = parts->modes.size() == wanted.size() + more.size() &&
                       std::all_of(more.begin(), more.end(), [](int mode) {
                         return mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_SUB ||
                                mode == CUDNN_POINTWISE_MUL;
                       });
  if (!has_all || parts->reductions != reductions || products.size() != (is_backward ? 5 : 2) ||
      parts->transpositions != (is_backward ? 3 : 0)) {
    return std::nullopt;
  }
  // The second product's inputs have the type of the tensors.
  const BackendDescriptor& shares = products[1]->child(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const BackendDescriptor& values = products[1]->child(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  if (type_of(shares) != type_of(values)) return std::nullopt;
  const Dims scores = dims_of(*products[0], CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (scores.size() != 4) return std::nullopt;
  FusedWork work = std::move(parts->work);
  if (is_causal) work.flops /= 2;
  work.kernel =
      "cudnn_generated_sdpa_sm90_flash_" + std::string(is_backward ? "bprop_" : "fprop_") +
      std::string(dnn_type(type_of(values)).name) + (is_causal ? "_causal" : "") + "_kernel0_0";
  work.blocks =
      blocks_for(static_cast<double>(scores[2]), 128) * static_cast<double>(scores[0] * scores[1]);
  return work;
}

#if CUDNN_VERSION >= 91300
FusedWork attention_of(const BackendDescriptor& operation) {
  const BackendDescriptor& query = operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
  const Dims q = dims_of(query);
  const Dims v = dims_of(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC);
  FusedWork work;
  work.kernel = "cudnn_generated_sdpa_sm90_flash_fprop_" +
                std::string(dnn_type(type_of(query)).name) + "_kernel0_0";
  work.blocks = blocks_for(static_cast<double>(q[2]), 128) * static_cast<double>(q[0] * q[1]);
  work.flops = 2 * static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * v[2]) *
               static_cast<double>(q[3] + v[3]);
  for (const DescriptorPointer& tensor : tensors_of(operation))
    work.bytes += moved_bytes(*tensor);
  return work;
}
#endif

FusedWork norm_of(const BackendDescriptor& operation, bool is_forward) {
  const auto mode = operation.value<cudnnBackendNormMode_t>(
      is_forward ? CUDNN_ATTR_OPERATION_NORM_FWD_MODE : CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
  FusedWork work;
  work.kernel = dnn_kernel_name({"norm", std::string(mode == CUDNN_RMS_NORM ? "rms" : "ln") +
                                             (is_forward ? "_fwd_kernel" : "_bwd_kernel")});
  for (const DescriptorPointer& tensor : tensors_of(operation))
    work.bytes += moved_bytes(*tensor);
  work.blocks =
      static_cast<double>(dims_of(operation, is_forward ? CUDNN_ATTR_OPERATION_NORM_FWD_XDESC
                                                        : CUDNN_ATTR_OPERATION_NORM_BWD_XDESC)[0]);
  return work;
}

}  // namespace

cudnnStatus_t check_operation(const BackendDescriptor& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return check_product(operation);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return check_reduction(operation);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return check_reshape(operation);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return check_pointwise(operation);
#if CUDNN_VERSION >= 91300
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return check_attention(operation);
#endif
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return check_norm_forward(operation);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return check_norm_backward(operation);
    default:
      return kGood;
  }
}

cudnnStatus_t check_in_graph(const BackendDescriptor& operation) {
  constexpr auto deviation = CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC;
  if (operation.type != CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR ||
      !has(operation, deviation)) {
    return kGood;
  }
  const auto rows = dims_of(operation, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC)[0];
  return count_of(dims_of(operation, deviation)) == static_cast<double>(rows) ? kGood : kBad;
}

std::optional<FusedWork> fused_work(const std::vector<DescriptorPointer>& operations) {
  if (operations.size() > 1) return attention_of_parts(operations);
  const BackendDescriptor& operation = *operations.front();
  switch (operation.type) {
#if CUDNN_VERSION >= 91300
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return attention_of(operation);
#endif
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return norm_of(operation, true);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return norm_of(operation, false);
    default:
      return std::nullopt;
  }
}

std::vector<DescriptorPointer> tensors_of(const BackendDescriptor& operation) {
  std::vector<DescriptorPointer> tensors;
  for (const auto& [name, attribute] : operation.attributes) {
    for (const DescriptorPointer& child : attribute.children) {
      if (child->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors.push_back(child);
    }
  }
  return tensors;
}

}  // namespace simgpu
