#include "measure/cudnn_graphs.hpp"

#include "measure/case.hpp"

#include <initializer_list>

namespace inline_prof::measure {
namespace {

using Sizes = std::vector<std::int64_t>;
using Place = BackendTensor::Place;

template <std::size_t kCount>
Sizes listed(const std::array<std::int64_t, kCount>& values) {
  return {values.begin(), values.end()};
}

// What the attributes of a convolution's operation are called in each pass.
struct ConvNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};

ConvNames names_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::kForward:
      break;
    case ConvPass::kBackwardData:
      return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              .input = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              .output = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPass::kBackwardFilter:
      return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              .input = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              .output = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {.operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          .input = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          .output = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

const BackendDescriptor& conv_tensor(BackendGraph& graph, const ConvShape& shape, std::int64_t id,
                                     const std::array<std::int64_t, 4>& sizes) {
  const auto [n, c, h, w] = sizes;
  return graph.tensor({.id = id,
                       .type = shape.type,
                       .sizes = listed(sizes),
                       .strides = shape.channels_last ? Sizes{c * h * w, 1, w * c, c}
                                                      : dense_strides(listed(sizes))});
}

const BackendDescriptor& host_value(BackendGraph& graph, std::int64_t id,
                                    cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  return graph.tensor({.id = id,
                       .type = type,
                       .sizes = {1, 1, 1, 1},
                       .strides = {1, 1, 1, 1},
                       .place = Place::kHostValue});
}

BackendTensor in_memory(std::int64_t id, cudnnDataType_t type, const Sizes& sizes) {
  return {.id = id, .type = type, .sizes = sizes, .strides = dense_strides(sizes)};
}

// The same memory, with its last two sizes exchanged.
BackendTensor transposed(BackendTensor tensor) {
  std::swap(tensor.sizes[2], tensor.sizes[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

// Heads lie one after the other, each a matrix of rows of head_dim numbers.
struct AttentionSizes {
  Sizes q, kv, scores, per_row;

  explicit AttentionSizes(const AttentionShape& shape)
      : q{shape.batch, shape.heads, shape.q_len, shape.head_dim},
        kv{shape.batch, shape.kv_heads, shape.kv_len, shape.head_dim},
        scores{shape.batch, shape.heads, shape.q_len, shape.kv_len},
        per_row{shape.batch, shape.heads, shape.q_len, 1} {}
};

// Builds a chain of small operations, with results that never reach the memory.
class Parts {
 public:
  explicit Parts(BackendGraph& graph) : graph_(graph) {}

  const BackendDescriptor& result(const Sizes& sizes, cudnnDataType_t type) {
    return graph_.tensor(described(sizes, type));
  }

  // `y` is `x` read by columns.
  const BackendDescriptor& by_columns(const BackendDescriptor& x, const BackendTensor& y) {
    const BackendDescriptor& result = graph_.tensor(y);
    graph_.operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result)
        .finalize("a transposition");
    return result;
  }

  // Of a result that lies densely.
  BackendTensor described(const Sizes& sizes, cudnnDataType_t type) {
    return {.id = next_id_++,
            .type = type,
            .sizes = sizes,
            .strides = dense_strides(sizes),
            .place = Place::kVirtual};
  }

  const BackendDescriptor& scores(const BackendDescriptor& a, const BackendDescriptor& b,
                                  const Sizes& sizes) {
    const BackendDescriptor& c = result(sizes, CUDNN_DATA_FLOAT);
    product(a, b, c);
    return c;
  }

  const BackendDescriptor& with(cudnnPointwiseMode_t mode, const BackendDescriptor& x,
                                const BackendDescriptor& b, const Sizes& sizes) {
    const BackendDescriptor& y = result(sizes, CUDNN_DATA_FLOAT);
    pointwise(mode, {&x, &b}, y);
    return y;
  }

  void product(const BackendDescriptor& a, const BackendDescriptor& b, const BackendDescriptor& c) {
    BackendDescriptor& how = graph_.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .finalize("how a product adds up");
    graph_.operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how)
        .finalize("a product");
  }

  void reduction(cudnnReduceTensorOp_t what, const BackendDescriptor& x,
                 const BackendDescriptor& y) {
    BackendDescriptor& how = graph_.make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, what)
        .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .finalize("how a row is reduced");
    graph_.operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how)
        .finalize("a reduction");
  }

  // y = f(x), f(x, b), or t ? x : b.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<const BackendDescriptor*> inputs,
                 const BackendDescriptor& y, cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
    constexpr std::array input_names{CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                     CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    const BackendDescriptor& how = pointwise_settings(mode, compute, -1);
    BackendDescriptor& operation = graph_.operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    std::size_t i = 0;
    for (const BackendDescriptor* input : inputs)
      operation.set(input_names.at(i++), *input);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).finalize("a pointwise operation");
  }

  // The place of each element along an axis.
  void index(std::int64_t axis, const BackendDescriptor& x, const BackendDescriptor& y) {
    graph_.operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
             pointwise_settings(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y)
        .finalize("an index");
  }

 private:
  const BackendDescriptor& pointwise_settings(cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                                              std::int64_t axis) {
    BackendDescriptor& how = graph_.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
    if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
    how.finalize("a pointwise mode");
    return how;
  }

  BackendGraph& graph_;
  std::int64_t next_id_ = 1000;
};

// What a query may not see of scores becomes minus infinity.
const BackendDescriptor& masked(BackendGraph& graph, Parts& parts, const Sizes& all,
                                const BackendDescriptor& scores) {
  const BackendDescriptor* row = &parts.result(all, CUDNN_DATA_INT32);
  const BackendDescriptor& column = parts.result(all, CUDNN_DATA_INT32);
  const BackendDescriptor& is_seen = parts.result(all, CUDNN_DATA_BOOLEAN);
  const BackendDescriptor& seen = parts.result(all, CUDNN_DATA_FLOAT);
  parts.index(2, scores, *row);
  if (all[2] != all[3]) {  // the last query sees every key
    const BackendDescriptor& last_seen = parts.result(all, CUDNN_DATA_INT32);
    parts.pointwise(CUDNN_POINTWISE_ADD,
                    {row, &host_value(graph, AttentionIds::kMoreKeys, CUDNN_DATA_INT32)}, last_seen,
                    CUDNN_DATA_INT32);
    row = &last_seen;
  }
  parts.index(3, scores, column);
  parts.pointwise(CUDNN_POINTWISE_CMP_GE, {row, &column}, is_seen, CUDNN_DATA_BOOLEAN);
  parts.pointwise(CUDNN_POINTWISE_BINARY_SELECT,
                  {&scores, &host_value(graph, AttentionIds::kMinusInfinity), &is_seen}, seen);
  return seen;
}

struct NormTensors {
  Sizes rows, row, column;
  cudnnDataType_t type;

  explicit NormTensors(const NormShape& shape)
      : rows{shape.rows, shape.columns, 1, 1},
        row{1, shape.columns, 1, 1},
        column{shape.rows, 1, 1, 1},
        type(shape.type) {}

  // Columns are the channels of images of one point, the channel fastest.
  const BackendDescriptor& make(BackendGraph& graph, std::int64_t id, const Sizes& sizes,
                                cudnnDataType_t of) const {
    const std::int64_t columns = sizes[1];
    return graph.tensor(
        {.id = id, .type = of, .sizes = sizes, .strides = {columns, 1, columns, columns}});
  }
};

}  // namespace

void add_convolution(BackendGraph& graph, const ConvShape& shape) {
  const ConvNames names = names_of(shape.pass);
  const BackendDescriptor& input = conv_tensor(graph, shape, ConvIds::kInput, shape.input);
  const BackendDescriptor& filter = conv_tensor(graph, shape, ConvIds::kFilter, shape.filter);
  const BackendDescriptor& output = conv_tensor(graph, shape, ConvIds::kOutput, shape.output);
  BackendDescriptor& convolution = graph.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, listed(shape.dilation))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, listed(shape.stride))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, listed(shape.pad))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, listed(shape.pad))
      .finalize("the convolution");
  graph.operation(names.operation)
      .set(names.convolution, convolution)
      .set(names.input, input)
      .set(names.filter, filter)
      .set(names.output, output)
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(names.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .finalize("the convolution's operation");
  graph.finalize();
}

void add_attention_operation(BackendGraph& graph, const AttentionShape& shape) {
  if (shape.is_causal) throw Skipped("cuDNN's attention operation has no mask");
#if CUDNN_VERSION >= 91300
  const AttentionSizes sizes(shape);
  const auto tensor = [&](std::int64_t id, const Sizes& of) -> const BackendDescriptor& {
    return graph.tensor(in_memory(id, shape.type, of));
  };
  graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor(AttentionIds::kQ, sizes.q))
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor(AttentionIds::kK, sizes.kv))
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor(AttentionIds::kV, sizes.kv))
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor(AttentionIds::kO, sizes.q))
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, host_value(graph, AttentionIds::kScale))
      .finalize("the attention operation");
  graph.finalize();
#else
  static_cast<void>(graph);
  throw Skipped("built with a cuDNN that has no attention operation: expected 9.13 or newer");
#endif
}

void add_attention_parts(BackendGraph& graph, const AttentionShape& shape) {
  const AttentionSizes sizes(shape);
  const BackendDescriptor& q = graph.tensor(in_memory(AttentionIds::kQ, shape.type, sizes.q));
  const BackendDescriptor& k_by_columns =
      graph.tensor(transposed(in_memory(AttentionIds::kK, shape.type, sizes.kv)));
  const BackendDescriptor& v = graph.tensor(in_memory(AttentionIds::kV, shape.type, sizes.kv));
  const BackendDescriptor& o = graph.tensor(in_memory(AttentionIds::kO, shape.type, sizes.q));
  Parts parts(graph);
  const BackendDescriptor* last =
      &parts.with(CUDNN_POINTWISE_MUL, parts.scores(q, k_by_columns, sizes.scores),
                  host_value(graph, AttentionIds::kScale), sizes.scores);
  if (shape.is_causal) last = &masked(graph, parts, sizes.scores, *last);
  const BackendDescriptor& largest = parts.result(sizes.per_row, CUDNN_DATA_FLOAT);
  parts.reduction(CUDNN_REDUCE_TENSOR_MAX, *last, largest);
  last = &parts.with(CUDNN_POINTWISE_SUB, *last, largest, sizes.scores);
  const BackendDescriptor& powers = parts.result(sizes.scores, CUDNN_DATA_FLOAT);
  parts.pointwise(CUDNN_POINTWISE_EXP, {last}, powers);
  const BackendDescriptor& sum = parts.result(sizes.per_row, CUDNN_DATA_FLOAT);
  parts.reduction(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  // The logarithm that a backward pass reads: engines know the graph only with it.
  const BackendDescriptor& log_of_sum = parts.result(sizes.per_row, CUDNN_DATA_FLOAT);
  parts.pointwise(CUDNN_POINTWISE_LOG, {&sum}, log_of_sum);
  parts.with(CUDNN_POINTWISE_ADD, largest, log_of_sum, sizes.per_row);
  // The second product reads what it multiplies in the type of the tensors.
  const BackendDescriptor& shares = parts.result(sizes.scores, shape.type);
  parts.pointwise(CUDNN_POINTWISE_DIV, {&powers, &sum}, shares);
  parts.product(shares, v, o);
  graph.finalize();
}

// With P the softmax of the scores, dP = dO V^T and D the rows' sums of dO O:
// dV = P^T dO, dS = P (dP - D), dQ = dS K, dK = dS^T Q, the last two times the scale (T. Dao,
// FlashAttention-2, arXiv:2307.08691, 2.2 and algorithm 2).
void add_attention_backward_parts(BackendGraph& graph, const AttentionShape& shape) {
  const AttentionSizes sizes(shape);
  const auto like_q = [&](std::int64_t id) -> const BackendDescriptor& {
    return graph.tensor(in_memory(id, shape.type, sizes.q));
  };
  const auto like_kv_by_columns = [&](std::int64_t id) -> const BackendDescriptor& {
    return graph.tensor(transposed(in_memory(id, shape.type, sizes.kv)));
  };
  const auto per_row = [&](std::int64_t id) -> const BackendDescriptor& {
    return graph.tensor(in_memory(id, CUDNN_DATA_FLOAT, sizes.per_row));
  };
  const BackendDescriptor& q = like_q(AttentionIds::kQ);
  const BackendDescriptor& k_by_columns = like_kv_by_columns(AttentionIds::kK);
  const BackendDescriptor& v_by_columns = like_kv_by_columns(AttentionIds::kV);
  const BackendDescriptor& o = like_q(AttentionIds::kO);
  const BackendDescriptor& d_o = like_q(AttentionIds::kDo);
  const BackendDescriptor& scale = host_value(graph, AttentionIds::kScale);
  Parts parts(graph);
  // The gradient of keys or values: that of scores by columns times queries or their gradients.
  // Heads that share keys add up.
  const auto gradient = [&](std::int64_t id, const BackendDescriptor& of_scores,
                            const BackendDescriptor& times) {
    const BackendDescriptor& result = graph.tensor(in_memory(id, shape.type, sizes.kv));
    const BackendDescriptor& columns =
        parts.by_columns(of_scores, transposed(parts.described(sizes.scores, shape.type)));
    if (shape.kv_heads == shape.heads) return parts.product(columns, times, result);
    const BackendDescriptor& of_each_head =
        parts.result({shape.batch, shape.heads, shape.kv_len, shape.head_dim}, shape.type);
    parts.product(columns, times, of_each_head);
    parts.reduction(CUDNN_REDUCE_TENSOR_ADD, of_each_head, result);
  };

  const BackendDescriptor& row_sums = per_row(AttentionIds::kRowSums);
  parts.reduction(CUDNN_REDUCE_TENSOR_ADD, parts.with(CUDNN_POINTWISE_MUL, d_o, o, sizes.q),
                  row_sums);

  const BackendDescriptor* exponents = &parts.with(
      CUDNN_POINTWISE_MUL, parts.scores(q, k_by_columns, sizes.scores), scale, sizes.scores);
  exponents = &parts.with(CUDNN_POINTWISE_SUB, *exponents, per_row(AttentionIds::kStatistics),
                          sizes.scores);
  if (shape.is_causal) exponents = &masked(graph, parts, sizes.scores, *exponents);
  const BackendDescriptor& shares = parts.result(sizes.scores, CUDNN_DATA_FLOAT);
  parts.pointwise(CUDNN_POINTWISE_EXP, {exponents}, shares);
  gradient(AttentionIds::kDv, shares, d_o);

  const BackendDescriptor* d_scores = &parts.scores(d_o, v_by_columns, sizes.scores);
  for (const auto& [mode, by] :
       {std::pair{CUDNN_POINTWISE_SUB, &row_sums}, std::pair{CUDNN_POINTWISE_MUL, &shares},
        std::pair{CUDNN_POINTWISE_MUL, &scale}}) {
    d_scores = &parts.with(mode, *d_scores, *by, sizes.scores);
  }
  gradient(AttentionIds::kDk, *d_scores, q);

  // Blocks of keys add to the rows of dQ, in f32.
  const BackendDescriptor& sum_of_dq =
      graph.tensor(in_memory(AttentionIds::kDqSum, CUDNN_DATA_FLOAT, sizes.q));
  parts.product(*d_scores, parts.by_columns(k_by_columns, parts.described(sizes.kv, shape.type)),
                sum_of_dq);
  parts.pointwise(CUDNN_POINTWISE_IDENTITY, {&sum_of_dq}, like_q(AttentionIds::kDq));
  graph.finalize();
}

void add_norm_forward(BackendGraph& graph, const NormShape& shape) {
  const NormTensors tensors(shape);
  const bool is_layer_norm = shape.mode == CUDNN_LAYER_NORM;
  BackendDescriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, shape.mode)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC,
           tensors.make(graph, NormIds::kX, tensors.rows, tensors.type))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,
           tensors.make(graph, NormIds::kScale, tensors.row, CUDNN_DATA_FLOAT))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, host_value(graph, NormIds::kEpsilon))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
           tensors.make(graph, NormIds::kInverseDeviation, tensors.column, CUDNN_DATA_FLOAT))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC,
           tensors.make(graph, NormIds::kY, tensors.rows, tensors.type));
  if (is_layer_norm) {
    operation
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC,
             tensors.make(graph, NormIds::kBias, tensors.row, CUDNN_DATA_FLOAT))
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC,
             tensors.make(graph, NormIds::kMean, tensors.column, CUDNN_DATA_FLOAT));
  }
  operation.finalize("the norm's operation");
  graph.finalize();
}

void add_norm_backward(BackendGraph& graph, const NormShape& shape) {
  const NormTensors tensors(shape);
  const bool is_layer_norm = shape.mode == CUDNN_LAYER_NORM;
  BackendDescriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, shape.mode)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC,
           tensors.make(graph, NormIds::kX, tensors.rows, tensors.type))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC,
           tensors.make(graph, NormIds::kDy, tensors.rows, tensors.type))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC,
           tensors.make(graph, NormIds::kScale, tensors.row, CUDNN_DATA_FLOAT))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
           tensors.make(graph, NormIds::kInverseDeviation, tensors.column, CUDNN_DATA_FLOAT))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
           tensors.make(graph, NormIds::kDscale, tensors.row, CUDNN_DATA_FLOAT))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
           tensors.make(graph, NormIds::kDx, tensors.rows, tensors.type));
  if (is_layer_norm) {
    operation
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC,
             tensors.make(graph, NormIds::kMean, tensors.column, CUDNN_DATA_FLOAT))
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
             tensors.make(graph, NormIds::kDbias, tensors.row, CUDNN_DATA_FLOAT));
  }
  operation.finalize("the norm's operation");
  graph.finalize();
}

}  // namespace inline_prof::measure
