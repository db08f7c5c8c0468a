// Recurrent networks.
#include "cudnn/handle.hpp"
#include "cudnn/rnn.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

// The vectors of one network's input and output.
bool fits(const cudnnRNNStruct& rnn, cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y) {
  return all_given(x, y) && x->type == rnn.type && y->type == rnn.type &&
         x->vector_size == rnn.input_size &&
         y->vector_size == output_size(rnn) * directions_of(rnn) && x->lengths == y->lengths;
}

// The states: layers * directions, batch, elements, and any more dimensions are 1.  Cells keep the
// hidden size where outputs are projected.
bool fits_state(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x,
                cudnnTensorDescriptor_t state, std::int32_t elements) {
  if (state == nullptr) return true;
  std::vector<std::int64_t> expected{std::int64_t{rnn.layers} * directions_of(rnn),
                                     static_cast<std::int64_t>(x.lengths.size()), elements};
  expected.resize(std::max(expected.size(), state->dims.size()), 1);
  return state->dims == expected;
}

bool fits_states(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, cudnnTensorDescriptor_t h,
                 cudnnTensorDescriptor_t c) {
  return fits_state(rnn, x, h, output_size(rnn)) &&
         (rnn.cell != CUDNN_LSTM || fits_state(rnn, x, c, rnn.hidden_size));
}

struct Room {
  std::size_t weights;
  const void* weight_space;
  std::size_t workspace_size;
  const void* workspace;
  std::size_t reserve_size;
  const void* reserve;
};

bool has_room(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, const Room& room,
              bool is_training) {
  const auto is_enough = [](std::size_t size, const void* memory, std::size_t needed) {
    return size >= needed && (needed == 0 || memory != nullptr);
  };
  return is_enough(room.weights, room.weight_space, weight_space_bytes(rnn)) &&
         is_enough(room.workspace_size, room.workspace, workspace_bytes(rnn, x)) &&
         (!is_training || is_enough(room.reserve_size, room.reserve, reserve_bytes(rnn, x)));
}

// A parameter's place; without it a null pointer and no dimensions.  Who wants to know only of a
// matrix, or of a bias, leaves the other one's out.
void describe(const RnnParameter* parameter, cudnnDataType_t type, const void* weight_space,
              cudnnTensorDescriptor_t tensor, void** address) {
  if (!all_given(tensor, address)) return;
  tensor->type = type;
  if (parameter == nullptr) {
    tensor->dims.clear();
    tensor->strides.clear();
    *address = nullptr;
    return;
  }
  tensor->dims = {1, parameter->rows, parameter->columns};
  tensor->strides = {parameter->rows * parameter->columns, parameter->columns, 1};
  const auto bytes = parameter->offset * static_cast<std::size_t>(dnn_type(type).bytes);
  *address = const_cast<char*>(static_cast<const char*>(weight_space)) + bytes;
}

}  // namespace

SIMGPU_CALL(cudnnSetRNNDescriptor_v8, rnn, algo, cell, bias, direction, input_mode, type, compute,
            math, input_size, hidden_size, projected_size, layers, dropout, flags) {
  fail_if(rnn == nullptr || dnn_type(type).name == nullptr || input_size < 1 || hidden_size < 1 ||
          projected_size < 0 || projected_size > hidden_size || layers < 1 ||
          (cell != CUDNN_LSTM && projected_size != 0 && projected_size != hidden_size));
  *rnn = {algo, cell,       bias,        direction,      input_mode, type,    compute,
          math, input_size, hidden_size, projected_size, layers,     dropout, flags};
}

SIMGPU_CALL(cudnnSetRNNDataDescriptor, data, type, layout, max_length, batch, vector_size, lengths,
            unused) {
  fail_if(!all_given(data, lengths) || dnn_type(type).name == nullptr || max_length < 1 ||
          batch < 1 || vector_size < 1);
  const std::vector<int> all(lengths, lengths + batch);
  fail_if(std::any_of(all.begin(), all.end(), [&](int n) { return n < 0 || n > max_length; }));
  // "sequence length sorted and packed" (cudnn_adv.h)
  fail_if(layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED &&
          !std::is_sorted(all.rbegin(), all.rend()));
  *data = {type, layout, max_length, vector_size, all};
}

SIMGPU_CALL(cudnnGetRNNWeightSpaceSize, handle, rnn, size) {
  require(handle, rnn, size);
  *size = weight_space_bytes(*rnn);
}

SIMGPU_CALL(cudnnGetRNNWeightParams, handle, rnn, pseudo_layer, weight_space_size, weight_space, id,
            matrix, matrix_address, bias, bias_address) {
  fail_if(!all_given(handle, rnn) || weight_space_size < weight_space_bytes(*rnn) || id < 0 ||
          pseudo_layer < 0 || pseudo_layer >= rnn->layers * directions_of(*rnn));
  const auto all = parameters_of(*rnn);
  const auto find = [&](bool is_bias) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const RnnParameter& p) {
      return p.pseudo_layer == pseudo_layer && p.id == id && p.is_bias == is_bias;
    });
    return found == all.end() ? nullptr : &*found;
  };
  describe(find(false), rnn->type, weight_space, matrix, matrix_address);
  describe(find(true), rnn->type, weight_space, bias, bias_address);
}

SIMGPU_CALL(cudnnGetRNNTempSpaceSizes, handle, rnn, mode, x, workspace, reserve) {
  require(handle, rnn, x);
  if (workspace != nullptr) *workspace = workspace_bytes(*rnn, *x);
  if (reserve != nullptr) *reserve = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes(*rnn, *x) : 0;
}

SIMGPU_CALL(cudnnRNNForward, handle, rnn, mode, unused, x_desc, x, y_desc, y, h_desc, unused2,
            unused3, c_desc, unused4, unused5, weight_space_size, weight_space, workspace_size,
            workspace, reserve_size, reserve) {
  fail_if(
      !all_given(handle, rnn, x, y) || !fits(*rnn, x_desc, y_desc) ||
      !fits_states(*rnn, *x_desc, h_desc, c_desc) ||
      !has_room(*rnn, *x_desc,
                {weight_space_size, weight_space, workspace_size, workspace, reserve_size, reserve},
                mode == CUDNN_FWD_MODE_TRAINING));
  handle->run(rnn_forward(*rnn, *x_desc, mode == CUDNN_FWD_MODE_TRAINING));
}

SIMGPU_CALL(cudnnRNNBackwardData_v8, handle, rnn, unused, y_desc, y, dy, x_desc, dx, h_desc,
            unused2, unused3, unused4, c_desc, unused5, unused6, unused7, weight_space_size,
            weight_space, workspace_size, workspace, reserve_size, reserve) {
  fail_if(
      !all_given(handle, rnn, y, dy, dx) || !fits(*rnn, x_desc, y_desc) ||
      !fits_states(*rnn, *x_desc, h_desc, c_desc) ||
      !has_room(*rnn, *x_desc,
                {weight_space_size, weight_space, workspace_size, workspace, reserve_size, reserve},
                true));
  handle->run(rnn_backward_data(*rnn, *x_desc));
}

// cuDNN 9 API: "currently, only CUDNN_WGRAD_MODE_ADD is supported".
SIMGPU_CALL(cudnnRNNBackwardWeights_v8, handle, rnn, mode, unused, x_desc, x, h_desc, unused2,
            y_desc, y, weight_space_size, weight_space, workspace_size, workspace, reserve_size,
            reserve) {
  fail_if(
      !all_given(handle, rnn, x, y) || !fits(*rnn, x_desc, y_desc) ||
      !fits_states(*rnn, *x_desc, h_desc, nullptr) ||
      !has_room(*rnn, *x_desc,
                {weight_space_size, weight_space, workspace_size, workspace, reserve_size, reserve},
                true));
  fail_if(mode != CUDNN_WGRAD_MODE_ADD, CUDNN_STATUS_NOT_SUPPORTED);
  handle->run(rnn_backward_weights(*rnn, *x_desc));
}
