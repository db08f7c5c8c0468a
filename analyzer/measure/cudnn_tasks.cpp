#include "measure/cudnn_engines.hpp"
#include "measure/cudnn_graphs.hpp"
#include "measure/dynamic_library.hpp"
#include "measure/tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cudnn.h>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::measure {
namespace {

constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

// What the three directions have of their own, under one name.
template <typename Algorithm, typename Choose, typename Workspace, typename Run>
struct DirectionFunctions {
  using Algorithms = Algorithm;
  Choose* choose = nullptr;
  Workspace* workspace = nullptr;
  Run* run = nullptr;
};
using Forward = DirectionFunctions<
    cudnnConvolutionFwdAlgoPerf_t, decltype(cudnnGetConvolutionForwardAlgorithm_v7),
    decltype(cudnnGetConvolutionForwardWorkspaceSize), decltype(cudnnConvolutionForward)>;
using BackwardData = DirectionFunctions<
    cudnnConvolutionBwdDataAlgoPerf_t, decltype(cudnnGetConvolutionBackwardDataAlgorithm_v7),
    decltype(cudnnGetConvolutionBackwardDataWorkspaceSize), decltype(cudnnConvolutionBackwardData)>;
using BackwardFilter = DirectionFunctions<cudnnConvolutionBwdFilterAlgoPerf_t,
                                          decltype(cudnnGetConvolutionBackwardFilterAlgorithm_v7),
                                          decltype(cudnnGetConvolutionBackwardFilterWorkspaceSize),
                                          decltype(cudnnConvolutionBackwardFilter)>;

struct CudnnFunctions {
  DynamicLibrary library{"libcudnn.so.9", "libcudnn.so.8"};
  decltype(cudnnCreate)* create = nullptr;
  decltype(cudnnDestroy)* destroy = nullptr;
  decltype(cudnnSetStream)* set_stream = nullptr;
  decltype(cudnnGetVersion)* get_version = nullptr;
  decltype(cudnnGetErrorString)* error_string = nullptr;
  decltype(cudnnCreateTensorDescriptor)* make_tensor = nullptr;
  decltype(cudnnSetTensor4dDescriptor)* set_tensor = nullptr;
  decltype(cudnnDestroyTensorDescriptor)* destroy_tensor = nullptr;
  decltype(cudnnCreateFilterDescriptor)* make_filter = nullptr;
  decltype(cudnnSetFilter4dDescriptor)* set_filter = nullptr;
  decltype(cudnnDestroyFilterDescriptor)* destroy_filter = nullptr;
  decltype(cudnnCreateConvolutionDescriptor)* make_convolution = nullptr;
  decltype(cudnnSetConvolution2dDescriptor)* set_convolution = nullptr;
  decltype(cudnnSetConvolutionGroupCount)* set_groups = nullptr;
  decltype(cudnnSetConvolutionMathType)* set_math = nullptr;
  decltype(cudnnGetConvolution2dForwardOutputDim)* output_sides = nullptr;
  decltype(cudnnDestroyConvolutionDescriptor)* destroy_convolution = nullptr;
  Forward forward;
  BackwardData backward_data;
  BackwardFilter backward_filter;

  CudnnFunctions() {
    library.find(create, "cudnnCreate");
    library.find(destroy, "cudnnDestroy");
    library.find(set_stream, "cudnnSetStream");
    library.find(get_version, "cudnnGetVersion");
    library.find(error_string, "cudnnGetErrorString");
    library.find(make_tensor, "cudnnCreateTensorDescriptor");
    library.find(set_tensor, "cudnnSetTensor4dDescriptor");
    library.find(destroy_tensor, "cudnnDestroyTensorDescriptor");
    library.find(make_filter, "cudnnCreateFilterDescriptor");
    library.find(set_filter, "cudnnSetFilter4dDescriptor");
    library.find(destroy_filter, "cudnnDestroyFilterDescriptor");
    library.find(make_convolution, "cudnnCreateConvolutionDescriptor");
    library.find(set_convolution, "cudnnSetConvolution2dDescriptor");
    library.find(set_groups, "cudnnSetConvolutionGroupCount");
    library.find(set_math, "cudnnSetConvolutionMathType");
    library.find(output_sides, "cudnnGetConvolution2dForwardOutputDim");
    library.find(destroy_convolution, "cudnnDestroyConvolutionDescriptor");
    library.find(forward.choose, "cudnnGetConvolutionForwardAlgorithm_v7");
    library.find(forward.workspace, "cudnnGetConvolutionForwardWorkspaceSize");
    library.find(forward.run, "cudnnConvolutionForward");
    library.find(backward_data.choose, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    library.find(backward_data.workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
    library.find(backward_data.run, "cudnnConvolutionBackwardData");
    library.find(backward_filter.choose, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    library.find(backward_filter.workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
    library.find(backward_filter.run, "cudnnConvolutionBackwardFilter");
  }

  void check_dnn(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw Skipped(fmt::format("{} answers {}", what, error_string(status)));
  }
};

// One number for both sides, or a list of two; `name`_w for the width alone.
std::array<int, 2> sides(const read::Op& op, const std::string& name, std::int64_t otherwise) {
  const auto list = op.get<std::vector<std::int64_t>>(name);
  if (list && list->size() != 2) {
    throw Skipped(fmt::format("convolutions of {} dimensions are not measured", list->size()));
  }
  const std::int64_t first = list ? (*list)[0] : op.get<std::int64_t>(name).value_or(otherwise);
  const std::int64_t last = list ? (*list)[1] : op.get<std::int64_t>(name + "_w").value_or(first);
  return {static_cast<int>(first), static_cast<int>(last)};
}

cudnnDataType_t dnn_type(const read::Op& op) {
  const std::string type = text_or(op, "type", "f32");
  if (type == "f32" || type == "tf32") return CUDNN_DATA_FLOAT;
  if (type == "f16") return CUDNN_DATA_HALF;
  if (type == "bf16") return CUDNN_DATA_BFLOAT16;
  throw Skipped(fmt::format("{} of {} is not measured with cuDNN", op.kind, type));
}

ConvPass pass_of(const read::Op& op) {
  const std::string direction = text_or(op, "direction", "forward");
  if (direction == "forward") return ConvPass::kForward;
  if (direction == "backward_data") return ConvPass::kBackwardData;
  if (direction == "backward_filter") return ConvPass::kBackwardFilter;
  throw Skipped(fmt::format("unknown direction {}", direction));
}

// Descriptors of one convolution.
struct Layer {
  const CudnnFunctions& dnn;
  cudnnTensorDescriptor_t input = nullptr, output = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  std::int64_t input_count = 0, filter_count = 0, output_count = 0;
  ConvShape shape;  // the same for the backend interface

  Layer(const CudnnFunctions& functions, const read::Op& op) : dnn(functions) {
    const std::string type = text_or(op, "type", "f32");
    const cudnnDataType_t data = dnn_type(op);
    const std::string layout = text_or(op, "layout", "nchw");
    const cudnnTensorFormat_t format = layout == "nhwc" ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const auto side = [&](const char* name) { return static_cast<int>(integer(op, name)); };
    const int n = side("n"), c = side("c"), h = side("h"), w = side("w"), k = side("k"),
              r = side("r"), s = side("s");
    const int groups = static_cast<int>(integer_or(op, "groups", 1));
    const auto stride = sides(op, "stride", 1), pad = sides(op, "pad", 0),
               dilation = sides(op, "dilation", 1);
    dnn.check_dnn(dnn.make_tensor(&input), "cudnnCreateTensorDescriptor");
    dnn.check_dnn(dnn.make_tensor(&output), "cudnnCreateTensorDescriptor");
    dnn.check_dnn(dnn.make_filter(&filter), "cudnnCreateFilterDescriptor");
    dnn.check_dnn(dnn.make_convolution(&convolution), "cudnnCreateConvolutionDescriptor");
    dnn.check_dnn(dnn.set_tensor(input, format, data, n, c, h, w), "cudnnSetTensor4dDescriptor");
    dnn.check_dnn(dnn.set_filter(filter, data, format, k, c / groups, r, s),
                  "cudnnSetFilter4dDescriptor");
    dnn.check_dnn(
        dnn.set_convolution(convolution, pad[0], pad[1], stride[0], stride[1], dilation[0],
                            dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
    dnn.check_dnn(dnn.set_groups(convolution, groups), "cudnnSetConvolutionGroupCount");
    dnn.check_dnn(dnn.set_math(convolution, type == "f32" ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
                  "cudnnSetConvolutionMathType");
    int images = 0, maps = 0, p = 0, q = 0;
    dnn.check_dnn(dnn.output_sides(convolution, input, filter, &images, &maps, &p, &q),
                  "cudnnGetConvolution2dForwardOutputDim");
    dnn.check_dnn(dnn.set_tensor(output, format, data, images, maps, p, q),
                  "cudnnSetTensor4dDescriptor");
    input_count = std::int64_t{n} * c * h * w;
    filter_count = std::int64_t{k} * (c / groups) * r * s;
    output_count = std::int64_t{images} * maps * p * q;
    shape = {.pass = pass_of(op),
             .type = data,
             .channels_last = format == CUDNN_TENSOR_NHWC,
             .input = {n, c, h, w},
             .filter = {k, c / groups, r, s},
             .output = {images, maps, p, q},
             .stride = {stride[0], stride[1]},
             .pad = {pad[0], pad[1]},
             .dilation = {dilation[0], dilation[1]}};
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer() {
    if (convolution != nullptr) dnn.destroy_convolution(convolution);
    if (filter != nullptr) dnn.destroy_filter(filter);
    if (output != nullptr) dnn.destroy_tensor(output);
    if (input != nullptr) dnn.destroy_tensor(input);
  }
};

std::string version_of(const CudnnFunctions& dnn) {
  const std::size_t version = dnn.get_version();
  return fmt::format("cudnn {}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

// In the order of the functions' parameters: two tensors that are read, and one that is written.
template <typename Functions, typename First, typename Second, typename Result>
Work work_of(const CudnnFunctions& dnn, cudnnHandle_t handle, Gpu& gpu,
             const std::shared_ptr<Layer>& layer, const Functions& functions,
             std::pair<First, void*> first, std::pair<Second, void*> second,
             std::pair<Result, void*> result, std::int64_t& algorithm) {
  using Perf = typename Functions::Algorithms;
  using Algorithm = decltype(Perf::algo);
  if (algorithm < 0) {
    std::array<Perf, 8> choices{};
    int count = 0;
    dnn.check_dnn(
        functions.choose(handle, first.first, second.first, layer->convolution, result.first,
                         static_cast<int>(choices.size()), &count, choices.data()),
        "cuDNN's choice of an algorithm");
    if (count < 1 || choices[0].status != CUDNN_STATUS_SUCCESS) {
      throw Skipped("cuDNN has no algorithm for this convolution");
    }
    algorithm = static_cast<std::int64_t>(choices[0].algo);
  }
  const auto algo = static_cast<Algorithm>(algorithm);
  std::size_t workspace_bytes = 0;
  dnn.check_dnn(functions.workspace(handle, first.first, second.first, layer->convolution,
                                    result.first, algo, &workspace_bytes),
                "this algorithm");
  void* workspace = gpu.take(std::max<std::size_t>(workspace_bytes, 1));
  const auto run = [&dnn, handle, layer, run = functions.run, first, second, result, algo,
                    workspace, workspace_bytes](cudaStream_t) {
    dnn.check_dnn(run(handle, &kOne, first.first, first.second, second.first, second.second,
                      layer->convolution, algo, workspace, workspace_bytes, &kZero, result.first,
                      result.second),
                  "the convolution");
  };
  return {.run = run, .library = version_of(dnn)};
}

using PlannedGraphs = std::map<std::string, std::shared_ptr<const PlannedGraph>>;

}  // namespace

struct CudnnTasks::Handles {
  CudnnFunctions functions;
  BackendFunctions backend;
  cudnnHandle_t handle = nullptr;
  PlannedGraphs planned;
  std::map<std::string, Rankings> rankings;  // of layers

  explicit Handles(const Gpu& gpu) {
    functions.check_dnn(functions.create(&handle), "cudnnCreate");
    functions.check_dnn(functions.set_stream(handle, gpu.stream()), "cudnnSetStream");
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    planned.clear();
    functions.destroy(handle);
  }

  // A graph by its best plan.  Engines that are compiled when they are planned take up to a second,
  // and the same operation comes twice, with a warm and a cold L2: plans are kept.
  [[nodiscard]] std::shared_ptr<const PlannedGraph> plan(
      const read::Op& op, const std::function<void(BackendGraph&)>& add) {
    const std::string key = read::op_text(op);
    const auto found = planned.find(key);
    if (found != planned.end()) return found->second;
    auto made = std::make_shared<PlannedGraph>(backend, BackendTarget(handle));
    add(made->graph);
    made->plan = first_plan(made->graph);
    made->proposed_by = places_of(made->plan.engine, rankings_of(made->graph));
    planned.emplace(key, made);
    return made;
  }

  // The heuristics are asked once for a layer, not for each of its engines.
  [[nodiscard]] const Rankings& rankings_of_layer(read::Op op, const PlannedGraph& one) {
    std::erase_if(op.attributes, [](const auto& attribute) {
      return attribute.first == "engine" || attribute.first == "heuristic";
    });
    const std::string key = read::op_text(op);
    auto found = rankings.find(key);
    if (found == rankings.end()) found = rankings.emplace(key, rankings_of(one.graph)).first;
    return found->second;
  }
};

CudnnTasks::CudnnTasks(Gpu& gpu) : gpu_(gpu) {}
CudnnTasks::~CudnnTasks() = default;

CudnnTasks::Handles& CudnnTasks::handles() {
  if (!handles_) handles_ = std::make_unique<Handles>(gpu_);
  return *handles_;
}

Work CudnnTasks::convolution(const read::Op& op, Choice& choice) {
  Handles& own = handles();
  const CudnnFunctions& dnn = own.functions;
  const auto layer = std::make_shared<Layer>(dnn, op);
  const auto engine = op.get<std::int64_t>("engine");
  const std::string heuristic = text_or(op, "heuristic", "");
  std::shared_ptr<PlannedGraph> planned;
  if (engine || !heuristic.empty()) {
    planned = std::make_shared<PlannedGraph>(own.backend, BackendTarget(own.handle));
    add_convolution(planned->graph, layer->shape);
    planned->plan = engine ? plan_by_number(planned->graph, *engine)
                           : plan_by_heuristic(planned->graph, heuristic);
    choice = {.number = planned->plan.engine,
              .proposed_by = places_of(planned->plan.engine, own.rankings_of_layer(op, *planned))};
  }
  const std::string type = text_or(op, "type", "f32");
  void* input = take_normal(gpu_, layer->input_count, type, 1);
  void* filter = take_normal(gpu_, layer->filter_count, type, 2);
  void* output = take_normal(gpu_, layer->output_count, type, 3);
  if (planned) {
    Work work = engine_work(
        own.handle, gpu_, planned,
        {{ConvIds::kInput, input}, {ConvIds::kFilter, filter}, {ConvIds::kOutput, output}}, {});
    work.library = version_of(dnn);
    return work;
  }
  const std::pair in(layer->input, input);
  const std::pair weights(layer->filter, filter);
  const std::pair out(layer->output, output);
  choice.number = op.get<std::int64_t>("algo").value_or(-1);
  switch (layer->shape.pass) {
    case ConvPass::kForward:
      break;
    case ConvPass::kBackwardData:
      return work_of(dnn, own.handle, gpu_, layer, dnn.backward_data, weights, out, in,
                     choice.number);
    case ConvPass::kBackwardFilter:
      return work_of(dnn, own.handle, gpu_, layer, dnn.backward_filter, in, out, weights,
                     choice.number);
  }
  return work_of(dnn, own.handle, gpu_, layer, dnn.forward, in, weights, out, choice.number);
}

Work CudnnTasks::attention(const read::Op& op, std::string_view implementation, Choice& choice) {
  const bool is_operation = implementation == "cudnn_sdpa";
  if (!is_operation && implementation != "cudnn_graph")
    throw Skipped(fmt::format("attention has no implementation {}", implementation));
  const std::string pass = text_or(op, "pass", "forward");
  const bool is_forward = pass == "forward";
  if (!is_forward && pass != "backward") throw Skipped(fmt::format("unknown pass {}", pass));
  if (!is_forward && is_operation)
    throw Skipped("cuDNN's attention operation is measured in the forward pass only");
  const std::string type = text_or(op, "type", "bf16");
  const AttentionShape shape{.type = dnn_type(op),
                             .batch = integer(op, "batch"),
                             .heads = integer(op, "heads"),
                             .kv_heads = integer_or(op, "kv_heads", integer(op, "heads")),
                             .q_len = integer(op, "q_len"),
                             .kv_len = integer(op, "kv_len"),
                             .head_dim = integer(op, "head_dim"),
                             .is_causal = is_set(op, "causal")};
  if (shape.is_causal && shape.q_len > shape.kv_len)
    throw Skipped("causal attention of more queries than keys is not measured");
  Handles& own = handles();
  read::Op named = op;  // one shape may be planned both ways
  named.attributes.emplace_back("planned", std::string(implementation));
  const auto planned = own.plan(named, [&](BackendGraph& graph) {
    if (is_operation) return add_attention_operation(graph, shape);
    if (is_forward) return add_attention_parts(graph, shape);
    add_attention_backward_parts(graph, shape);
  });
  const std::int64_t row_count = shape.batch * shape.heads * shape.q_len;
  const auto like_q = [&](std::uint64_t seed) {
    return take_normal(gpu_, row_count * shape.head_dim, type, seed);
  };
  const auto like_kv = [&](std::uint64_t seed) {
    return take_normal(gpu_, shape.batch * shape.kv_heads * shape.kv_len * shape.head_dim, type,
                       seed);
  };
  const auto per_row = [&](std::uint64_t seed) {
    return take_normal(gpu_, row_count, "f32", seed);
  };
  TensorsInMemory tensors{{AttentionIds::kQ, like_q(1)},
                          {AttentionIds::kK, like_kv(2)},
                          {AttentionIds::kV, like_kv(3)},
                          {AttentionIds::kO, like_q(4)}};
  std::vector<HostValue> values{
      {AttentionIds::kScale, 1.0F / std::sqrt(static_cast<float>(shape.head_dim))}};
  if (shape.is_causal) {
    values.push_back({AttentionIds::kMinusInfinity, -std::numeric_limits<float>::infinity()});
    if (shape.q_len != shape.kv_len)
      values.push_back(
          {AttentionIds::kMoreKeys, static_cast<std::int32_t>(shape.kv_len - shape.q_len)});
  }
  choice = {.number = planned->plan.engine, .proposed_by = planned->proposed_by};
  const auto work_on = [&] {
    Work work = engine_work(own.handle, gpu_, planned, tensors, values);
    work.library = version_of(own.functions);
    return work;
  };
  if (is_forward) return work_on();

  const std::size_t dq_bytes = static_cast<std::size_t>(row_count * shape.head_dim) * sizeof(float);
  void* const dq_sum = gpu_.take(dq_bytes);
  tensors.insert(tensors.end(), {{AttentionIds::kDo, like_q(5)},
                                 {AttentionIds::kDq, like_q(6)},
                                 {AttentionIds::kDk, like_kv(7)},
                                 {AttentionIds::kDv, like_kv(8)},
                                 {AttentionIds::kStatistics, per_row(9)},
                                 {AttentionIds::kRowSums, per_row(10)},
                                 {AttentionIds::kDqSum, dq_sum}});
  Work work = work_on();
  // Setting the sum to 0 is a part of every backward pass.
  work.run = [engine = std::move(work.run), dq_sum, dq_bytes](cudaStream_t stream) {
    check(cudaMemsetAsync(dq_sum, 0, dq_bytes, stream), "cudaMemsetAsync");
    engine(stream);
  };
  return work;
}

Work CudnnTasks::norm(const read::Op& op, std::string_view implementation, Choice& choice) {
  const bool is_layer_norm = implementation == "cudnn_layer_norm";
  if (!is_layer_norm && implementation != "cudnn_rms_norm")
    throw Skipped(fmt::format("norm has no implementation {}", implementation));
  const std::string type = text_or(op, "type", "f32");
  const NormShape shape{.mode = is_layer_norm ? CUDNN_LAYER_NORM : CUDNN_RMS_NORM,
                        .type = dnn_type(op),
                        .rows = integer(op, "rows"),
                        .columns = integer(op, "cols")};
  const std::string pass = text_or(op, "pass", "forward");
  const bool is_forward = pass == "forward";
  if (!is_forward && pass != "backward") throw Skipped(fmt::format("unknown pass {}", pass));
  Handles& own = handles();
  const auto planned = own.plan(op, [&](BackendGraph& graph) {
    if (is_forward) {
      add_norm_forward(graph, shape);
    } else {
      add_norm_backward(graph, shape);
    }
  });
  const auto rows = [&](std::uint64_t seed) {
    return take_normal(gpu_, shape.rows * shape.columns, type, seed);
  };
  const auto row = [&](std::uint64_t seed) {
    return take_normal(gpu_, shape.columns, "f32", seed);
  };
  const auto column = [&](std::uint64_t seed) {
    return take_normal(gpu_, shape.rows, "f32", seed);
  };
  TensorsInMemory tensors{
      {NormIds::kX, rows(1)}, {NormIds::kScale, row(2)}, {NormIds::kInverseDeviation, column(3)}};
  if (is_layer_norm) tensors.push_back({NormIds::kMean, column(4)});
  std::vector<HostValue> values;
  if (is_forward) {
    tensors.push_back({NormIds::kY, rows(5)});
    if (is_layer_norm) tensors.push_back({NormIds::kBias, row(6)});
    values.push_back({NormIds::kEpsilon, 1e-5F});
  } else {
    tensors.push_back({NormIds::kDy, rows(5)});
    tensors.push_back({NormIds::kDx, rows(6)});
    tensors.push_back({NormIds::kDscale, row(7)});
    if (is_layer_norm) tensors.push_back({NormIds::kDbias, row(8)});
  }
  choice = {.number = planned->plan.engine, .proposed_by = planned->proposed_by};
  Work work = engine_work(own.handle, gpu_, planned, tensors, values);
  work.library = version_of(own.functions);
  return work;
}

}  // namespace inline_prof::measure
