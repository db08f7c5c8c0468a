#include "cudnn/rnn.hpp"

#include "math/gemm.hpp"

#include <algorithm>
#include <numeric>

namespace simgpu {
namespace {

std::int64_t gates_of(const cudnnRNNStruct& rnn) {
  switch (rnn.cell) {
    case CUDNN_LSTM:
      return 4;
    case CUDNN_GRU:
      return 3;
    default:
      return 1;
  }
}

bool is_projecting(const cudnnRNNStruct& rnn) {
  return rnn.cell == CUDNN_LSTM && output_size(rnn) != rnn.hidden_size;
}

// Columns of a layer's input matrices; 0 for a first layer that has none.
std::int64_t layer_input(const cudnnRNNStruct& rnn, std::int32_t layer) {
  if (layer > 0) return std::int64_t{output_size(rnn)} * directions_of(rnn);
  return rnn.input_mode == CUDNN_SKIP_INPUT ? 0 : rnn.input_size;
}

bool has_input_bias(const cudnnRNNStruct& rnn) {
  return rnn.bias == CUDNN_RNN_SINGLE_INP_BIAS || rnn.bias == CUDNN_RNN_DOUBLE_BIAS;
}

bool has_recurrent_bias(const cudnnRNNStruct& rnn) {
  return rnn.bias == CUDNN_RNN_SINGLE_REC_BIAS || rnn.bias == CUDNN_RNN_DOUBLE_BIAS;
}

bool is_persistent(const cudnnRNNStruct& rnn) {
  return rnn.algo != CUDNN_RNN_ALGO_STANDARD;
}

std::int64_t all_steps(const cudnnRNNDataStruct& x) {
  return std::accumulate(x.lengths.begin(), x.lengths.end(), std::int64_t{0});
}

// Sequences that have a step `t`.
std::int64_t batch_at(const cudnnRNNDataStruct& x, int t) {
  return std::count_if(x.lengths.begin(), x.lengths.end(), [&](int length) { return length > t; });
}

double element_bytes(const cudnnRNNStruct& rnn) {
  return dnn_type(rnn.type).bytes;
}

cudaDataType product_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16:
      return CUDA_R_16BF;
    case CUDNN_DATA_DOUBLE:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

struct Product {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  bool adds = false;  // to what the output holds
};

// cuDNN leaves these to cuBLAS.
void add_product(const cudnnRNNStruct& rnn, const Product& p, std::vector<KernelCall>& calls) {
  if (p.m == 0 || p.n == 0 || p.k == 0) return;
  const cudaDataType type = product_type(rnn.type);
  const GemmProblem problem{.trans_a = p.trans_a,
                            .trans_b = p.trans_b,
                            .m = p.m,
                            .n = p.n,
                            .k = p.k,
                            .batch = 1,
                            .a_type = type,
                            .b_type = type,
                            .c_type = type,
                            .d_type = type,
                            .compute = type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                            .allows_tf32 = rnn.math != CUDNN_FMA_MATH,
                            .reads_c = p.adds};
  const auto kernels = gemm_kernels(problem, gemm_tile(problem), gemm_splits(problem));
  calls.insert(calls.end(), kernels.begin(), kernels.end());
}

const char* cell_name(const cudnnRNNStruct& rnn) {
  switch (rnn.cell) {
    case CUDNN_LSTM:
      return "LSTM";
    case CUDNN_GRU:
      return "GRU";
    default:
      return "RNN";
  }
}

// LSTM_elementWise_fp<float, float, float, (cudnnRNNBiasMode_t)2>(), mangled so that names demangle
// as on a GPU.
KernelCall cell_kernel(const cudnnRNNStruct& rnn, const std::string& name, double bytes) {
  const std::string type = rnn.type == CUDNN_DATA_HALF       ? "6__half"
                           : rnn.type == CUDNN_DATA_BFLOAT16 ? "13__nv_bfloat16"
                           : rnn.type == CUDNN_DATA_DOUBLE   ? "d"
                                                             : "f";
  const std::string again = type.size() > 1 ? "S0_" : type;
  KernelCall call = move_kernel({}, bytes);
  call.name = "_Z" + std::to_string(name.size()) + name + "I" + type + again +
              (rnn.type == CUDNN_DATA_DOUBLE ? "d" : "f") + "L18cudnnRNNBiasMode_t" +
              std::to_string(rnn.bias) + "EEvv";
  return call;
}

// The gates of a step: their sums are read, the states read and written.
double cell_bytes(const cudnnRNNStruct& rnn, std::int64_t vectors) {
  const auto values = 2 * gates_of(rnn) + 4;
  return static_cast<double>(values * vectors * rnn.hidden_size) * element_bytes(rnn);
}

// The steps of one layer in one direction: `before_product` says whether the gates come first.
void add_steps(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, bool is_forward,
               std::vector<KernelCall>& calls) {
  const std::int64_t rows = gates_of(rnn) * rnn.hidden_size, out = output_size(rnn);
  const std::string way = is_forward ? "fp" : "bp";
  if (is_persistent(rnn)) {
    KernelCall call =
        cell_kernel(rnn, "RNN_blockPersist_" + way + "_" + cell_name(rnn),
                    cell_bytes(rnn, all_steps(x)) +
                        static_cast<double>(rows * out) * element_bytes(rnn));  // the weights once
    call.work.flops = 2.0 * static_cast<double>(rows * out) * static_cast<double>(all_steps(x));
    return calls.push_back(std::move(call));
  }
  for (int t = 0; t < x.max_length; ++t) {
    const std::int64_t batch = batch_at(x, t);
    if (batch == 0) break;
    KernelCall gates = cell_kernel(
        rnn, std::string(cell_name(rnn)) + "_elementWise_" + way + (is_forward ? "" : "1"),
        cell_bytes(rnn, batch));
    if (is_forward) {
      add_product(rnn, {.m = rows, .n = batch, .k = out, .trans_a = true, .adds = true}, calls);
      calls.push_back(std::move(gates));
      if (is_projecting(rnn)) {
        add_product(rnn, {.m = out, .n = batch, .k = rnn.hidden_size, .trans_a = true}, calls);
      }
    } else {
      if (is_projecting(rnn)) add_product(rnn, {.m = rnn.hidden_size, .n = batch, .k = out}, calls);
      calls.push_back(std::move(gates));
      add_product(rnn, {.m = out, .n = batch, .k = rows}, calls);
    }
  }
}

// Between two layers, in training.
void add_dropout(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, const char* name,
                 std::vector<KernelCall>& calls) {
  if (rnn.dropout == nullptr || rnn.dropout->probability <= 0) return;
  const double elements = static_cast<double>(all_steps(x) * output_size(rnn)) * directions_of(rnn);
  calls.push_back(move_kernel({name}, 2 * elements * element_bytes(rnn) + elements / 8));
}

}  // namespace

std::int32_t output_size(const cudnnRNNStruct& rnn) {
  return rnn.projected_size > 0 ? rnn.projected_size : rnn.hidden_size;
}

std::vector<RnnParameter> parameters_of(const cudnnRNNStruct& rnn) {
  const auto gates = static_cast<std::int32_t>(gates_of(rnn));
  std::vector<RnnParameter> all;
  std::size_t offset = 0;
  const auto add = [&](RnnParameter parameter) {
    parameter.offset = offset;
    if (parameter.columns == 0) return;
    offset += static_cast<std::size_t>(parameter.rows * parameter.columns);
    all.push_back(parameter);
  };
  for (const bool is_bias : {false, true}) {
    for (std::int32_t pseudo = 0; pseudo < rnn.layers * directions_of(rnn); ++pseudo) {
      const std::int64_t input = layer_input(rnn, pseudo / directions_of(rnn));
      for (std::int32_t id = 0; id < 2 * gates; ++id) {
        const bool is_input = id < gates;
        const bool has_bias = is_input ? has_input_bias(rnn) : has_recurrent_bias(rnn);
        const std::int64_t columns = is_bias    ? (has_bias ? 1 : 0)
                                     : is_input ? input
                                                : output_size(rnn);
        add({pseudo, id, is_bias, rnn.hidden_size, columns, 0});
      }
      if (is_projecting(rnn) && !is_bias)
        add({pseudo, 2 * gates, false, output_size(rnn), rnn.hidden_size, 0});
    }
  }
  return all;
}

std::size_t weight_space_bytes(const cudnnRNNStruct& rnn) {
  const auto all = parameters_of(rnn);
  if (all.empty()) return 0;
  const RnnParameter& last = all.back();
  return (last.offset + static_cast<std::size_t>(last.rows * last.columns)) *
         static_cast<std::size_t>(element_bytes(rnn));
}

std::size_t workspace_bytes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const double elements =
      static_cast<double>(all_steps(x) * gates_of(rnn) * rnn.hidden_size) * directions_of(rnn);
  return static_cast<std::size_t>(elements * std::max(4.0, element_bytes(rnn)));
}

std::size_t reserve_bytes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const double elements = static_cast<double>(all_steps(x) * (gates_of(rnn) + 2) * rnn.hidden_size);
  return static_cast<std::size_t>(elements * rnn.layers * directions_of(rnn) * element_bytes(rnn));
}

std::vector<KernelCall> rnn_forward(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x,
                                    bool is_training) {
  const std::int64_t rows = gates_of(rnn) * rnn.hidden_size;
  std::vector<KernelCall> calls;
  for (std::int32_t layer = 0; layer < rnn.layers; ++layer) {
    if (layer > 0 && is_training) add_dropout(rnn, x, "dropout_fp", calls);
    for (std::int32_t direction = 0; direction < directions_of(rnn); ++direction) {
      add_product(rnn,
                  {.m = rows, .n = all_steps(x), .k = layer_input(rnn, layer), .trans_a = true},
                  calls);
      add_steps(rnn, x, true, calls);
    }
  }
  return calls;
}

std::vector<KernelCall> rnn_backward_data(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const std::int64_t rows = gates_of(rnn) * rnn.hidden_size;
  std::vector<KernelCall> calls;
  for (std::int32_t layer = rnn.layers; layer-- > 0;) {
    for (std::int32_t direction = 0; direction < directions_of(rnn); ++direction) {
      add_steps(rnn, x, false, calls);
      add_product(
          rnn, {.m = layer_input(rnn, layer), .n = all_steps(x), .k = rows, .adds = direction > 0},
          calls);
    }
    if (layer > 0) add_dropout(rnn, x, "dropout_bp", calls);
  }
  return calls;
}

std::vector<KernelCall> rnn_backward_weights(const cudnnRNNStruct& rnn,
                                             const cudnnRNNDataStruct& x) {
  const std::int64_t rows = gates_of(rnn) * rnn.hidden_size, steps = all_steps(x);
  std::vector<KernelCall> calls;
  for (std::int32_t layer = rnn.layers; layer-- > 0;) {
    for (std::int32_t direction = 0; direction < directions_of(rnn); ++direction) {
      for (const std::int64_t columns : {layer_input(rnn, layer), std::int64_t{output_size(rnn)}}) {
        add_product(rnn, {.m = columns, .n = rows, .k = steps, .trans_b = true, .adds = true},
                    calls);
      }
      if (is_projecting(rnn)) {
        add_product(rnn,
                    {.m = rnn.hidden_size,
                     .n = output_size(rnn),
                     .k = steps,
                     .trans_b = true,
                     .adds = true},
                    calls);
      }
      if (rnn.bias != CUDNN_RNN_NO_BIAS) {
        calls.push_back(move_kernel({"rnn", "bias_gradient_kernel"},
                                    static_cast<double>(rows * steps) * element_bytes(rnn)));
      }
    }
  }
  return calls;
}

}  // namespace simgpu
