// Attention in one kernel, by the graph interface of cuDNN through NVIDIA's C++ front end.
#include "measure/tasks.hpp"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cudnn_frontend.h>
#include <memory>
#include <unordered_map>

// Declared by the front end, which looks cuDNN's functions up in it.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace inline_prof::measure {
namespace {

namespace graph = cudnn_frontend::graph;
using cudnn_frontend::DataType_t;
using Tensor = std::shared_ptr<graph::Tensor_attributes>;

void require(cudnn_frontend::error_t error) {
  if (error.is_good()) return;
  std::string words = error.get_message();
  while (!words.empty() && (words.back() == '\n' || words.back() == ' '))
    words.pop_back();
  throw Skipped(fmt::format("cuDNN's attention: {}", words));
}

DataType_t graph_type(const std::string& type) {
  if (type == "bf16") return DataType_t::BFLOAT16;
  if (type == "f16") return DataType_t::HALF;
  throw Skipped(fmt::format("attention of {} is not measured with cuDNN", type));
}

// A graph under construction, with memory for each of its tensors that is not virtual.
class AttentionGraph {
 public:
  AttentionGraph(const read::Op& op, Gpu& gpu)
      : gpu_(gpu),
        batch_(integer(op, "batch")),
        heads_(integer(op, "heads")),
        kv_heads_(integer_or(op, "kv_heads", heads_)),
        q_len_(integer(op, "q_len")),
        kv_len_(integer(op, "kv_len")),
        head_dim_(integer(op, "head_dim")),
        is_causal_(is_set(op, "causal")),
        type_(text_or(op, "type", "bf16")) {
    if (is_causal_ && q_len_ > kv_len_)
      throw Skipped("causal attention of more queries than keys is not measured");
    graph_->set_io_data_type(graph_type(type_))
        .set_intermediate_data_type(DataType_t::FLOAT)
        .set_compute_data_type(DataType_t::FLOAT);
  }

  // Adds the forward pass, with the statistics that the backward pass reads.
  void add_forward() {
    const Tensor q = like_q(), k = like_kv(), v = like_kv();
    auto [o, statistics] =
        graph_->sdpa(q, k, v, described(graph::SDPA_attributes().set_generate_stats(true)));
    describe_q(*o).set_output(true);
    describe_row(*statistics).set_output(true);
  }
  void add_backward() {
    const Tensor q = like_q(), k = like_kv(), v = like_kv(), o = like_q(), gradient = like_q();
    Attributes row;
    const Tensor statistics = graph_->tensor(describe_row(row));
    auto [dq, dk, dv] = graph_->sdpa_backward(q, k, v, o, gradient, statistics,
                                              described(graph::SDPA_backward_attributes()));
    describe_q(*dq).set_output(true);
    describe_kv(*dk).set_output(true);
    describe_kv(*dv).set_output(true);
  }

  [[nodiscard]] Work work(cudnnHandle_t handle) {
    require(graph_->build(handle,
                          {cudnn_frontend::HeurMode_t::A, cudnn_frontend::HeurMode_t::FALLBACK}));
    std::int64_t workspace_bytes = 0;
    require(graph_->get_workspace_size(workspace_bytes));
    void* workspace = gpu_.take(static_cast<std::size_t>(workspace_bytes));
    return {
        .run = [graph = graph_, memory = memory_, handle, workspace](
                   cudaStream_t) mutable { require(graph->execute(handle, memory, workspace)); },
        .library = {},
        .stand_in = true};
  }

 private:
  using Attributes = graph::Tensor_attributes;

  // Heads lie one after the other, each a matrix of `length` rows.
  Attributes& describe(Attributes& tensor, std::int64_t heads, std::int64_t length,
                       std::int64_t columns, const std::string& type) {
    const std::int64_t id = static_cast<std::int64_t>(memory_.size()) + 1;
    memory_[id] =
        take_normal(gpu_, batch_ * heads * length * columns, type, static_cast<std::uint64_t>(id));
    return tensor.set_uid(id)
        .set_dim({batch_, heads, length, columns})
        .set_stride({heads * length * columns, length * columns, columns, 1});
  }
  Attributes& describe_q(Attributes& tensor) {
    return describe(tensor, heads_, q_len_, head_dim_, type_);
  }
  Attributes& describe_kv(Attributes& tensor) {
    return describe(tensor, kv_heads_, kv_len_, head_dim_, type_);
  }
  Attributes& describe_row(Attributes& tensor) {
    return describe(tensor, heads_, q_len_, 1, "f32").set_data_type(DataType_t::FLOAT);
  }
  Tensor like_q() {
    Attributes tensor;
    return graph_->tensor(describe_q(tensor));
  }
  Tensor like_kv() {
    Attributes tensor;
    return graph_->tensor(describe_kv(tensor));
  }

  template <typename Operation>
  Operation described(Operation operation) const {
    operation.set_name("attention").set_attn_scale(1.0F / std::sqrt(static_cast<float>(head_dim_)));
    // The last query sees all keys.
    if (is_causal_ && q_len_ == kv_len_) operation.set_causal_mask(true);
    if (is_causal_ && q_len_ != kv_len_) operation.set_causal_mask_bottom_right(true);
    return operation;
  }

  Gpu& gpu_;
  std::int64_t batch_, heads_, kv_heads_, q_len_, kv_len_, head_dim_;
  bool is_causal_;
  std::string type_;
  std::shared_ptr<graph::Graph> graph_ = std::make_shared<graph::Graph>();
  std::unordered_map<std::int64_t, void*> memory_;
};

}  // namespace

Work fused_attention(const read::Op& op, Gpu& gpu, cudnnHandle_t handle, void* library) {
  cudnn_frontend::cudnn_dlhandle = library;
  // Left alone, the front end would load libcudart.so.12 beside the runtime of this program.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread of ours reads the environment
  setenv("CUDNN_FRONTEND_CUDART_LIB_NAME",
         fmt::format("libcudart.so.{}", CUDART_VERSION / 1000).c_str(), 0);
  const std::string pass = text_or(op, "pass", "forward");
  AttentionGraph attention(op, gpu);
  if (pass == "forward") {
    attention.add_forward();
  } else if (pass == "backward") {
    attention.add_backward();
  } else {
    throw Skipped(fmt::format("unknown pass {}", pass));
  }
  return attention.work(handle);
}

}  // namespace inline_prof::measure
