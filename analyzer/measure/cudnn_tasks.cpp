#include "measure/gpu.hpp"
#include "measure/tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cudnn.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::measure {
namespace {

constexpr float kOne = 1.0F;
constexpr float kZero = 0.0F;

// The functions of one direction.
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
  decltype(&cudnnCreate) create = library.find("cudnnCreate");
  decltype(&cudnnSetStream) set_stream = library.find("cudnnSetStream");
  decltype(&cudnnGetVersion) get_version = library.find("cudnnGetVersion");
  decltype(&cudnnGetErrorString) error_string = library.find("cudnnGetErrorString");
  decltype(&cudnnCreateTensorDescriptor) make_tensor = library.find("cudnnCreateTensorDescriptor");
  decltype(&cudnnSetTensor4dDescriptor) set_tensor = library.find("cudnnSetTensor4dDescriptor");
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor =
      library.find("cudnnDestroyTensorDescriptor");
  decltype(&cudnnCreateFilterDescriptor) make_filter = library.find("cudnnCreateFilterDescriptor");
  decltype(&cudnnSetFilter4dDescriptor) set_filter = library.find("cudnnSetFilter4dDescriptor");
  decltype(&cudnnDestroyFilterDescriptor) destroy_filter =
      library.find("cudnnDestroyFilterDescriptor");
  decltype(&cudnnCreateConvolutionDescriptor) make_convolution =
      library.find("cudnnCreateConvolutionDescriptor");
  decltype(&cudnnSetConvolution2dDescriptor) set_convolution =
      library.find("cudnnSetConvolution2dDescriptor");
  decltype(&cudnnSetConvolutionGroupCount) set_groups =
      library.find("cudnnSetConvolutionGroupCount");
  decltype(&cudnnSetConvolutionMathType) set_math = library.find("cudnnSetConvolutionMathType");
  decltype(&cudnnGetConvolution2dForwardOutputDim) output_sides =
      library.find("cudnnGetConvolution2dForwardOutputDim");
  decltype(&cudnnDestroyConvolutionDescriptor) destroy_convolution =
      library.find("cudnnDestroyConvolutionDescriptor");
  Forward forward{library.find("cudnnGetConvolutionForwardAlgorithm_v7"),
                  library.find("cudnnGetConvolutionForwardWorkspaceSize"),
                  library.find("cudnnConvolutionForward")};
  BackwardData backward_data{library.find("cudnnGetConvolutionBackwardDataAlgorithm_v7"),
                             library.find("cudnnGetConvolutionBackwardDataWorkspaceSize"),
                             library.find("cudnnConvolutionBackwardData")};
  BackwardFilter backward_filter{library.find("cudnnGetConvolutionBackwardFilterAlgorithm_v7"),
                                 library.find("cudnnGetConvolutionBackwardFilterWorkspaceSize"),
                                 library.find("cudnnConvolutionBackwardFilter")};

  void check_dnn(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw Skipped(fmt::format("{} answers {}", what, error_string(status)));
  }
};

// Reads one number for both sides, or a list of two; `name`_w is the width alone.
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

// Descriptors of one convolution.
struct Layer {
  const CudnnFunctions& dnn;
  cudnnTensorDescriptor_t input = nullptr, output = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  std::int64_t input_count = 0, filter_count = 0, output_count = 0;

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

// Prepares a convolution.  Tensors are in the order of the functions' parameters: two that are
// read, and one that is written.
template <typename Functions, typename First, typename Second, typename Result>
Work work_of(const CudnnFunctions& dnn, cudnnHandle_t handle, Gpu& gpu,
             const std::shared_ptr<Layer>& layer, const Functions& functions,
             std::pair<First, void*> first, std::pair<Second, void*> second,
             std::pair<Result, void*> result, std::int64_t algorithm) {
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
  return {.run = run, .library = version_of(dnn), .algorithm = algorithm};
}

struct Cudnn {
  CudnnFunctions functions;
  cudnnHandle_t handle = nullptr;

  explicit Cudnn(const Gpu& gpu) {
    functions.check_dnn(functions.create(&handle), "cudnnCreate");
    functions.check_dnn(functions.set_stream(handle, gpu.stream()), "cudnnSetStream");
  }
};

const Cudnn& cudnn_of(const Gpu& gpu) {
  static const auto& cudnn = *new Cudnn(gpu);
  return cudnn;
}

}  // namespace

Work convolution_work(const read::Op& op, Gpu& gpu) {
  const Cudnn& own = cudnn_of(gpu);
  const CudnnFunctions& dnn = own.functions;
  const std::string direction = text_or(op, "direction", "forward");
  const auto layer = std::make_shared<Layer>(dnn, op);
  const std::string type = text_or(op, "type", "f32");
  const std::pair in(layer->input, take_normal(gpu, layer->input_count, type, 1));
  const std::pair weights(layer->filter, take_normal(gpu, layer->filter_count, type, 2));
  const std::pair out(layer->output, take_normal(gpu, layer->output_count, type, 3));
  const auto work = [&](const auto& functions, const auto& first, const auto& second,
                        const auto& result) {
    return work_of(dnn, own.handle, gpu, layer, functions, first, second, result,
                   op.get<std::int64_t>("algo").value_or(-1));
  };
  if (direction == "forward") return work(dnn.forward, in, weights, out);
  if (direction == "backward_data") return work(dnn.backward_data, weights, out, in);
  if (direction == "backward_filter") return work(dnn.backward_filter, in, out, weights);
  throw Skipped(fmt::format("unknown direction {}", direction));
}

Work attention_work(const read::Op& op, Gpu& gpu) {
#ifdef INLINE_PROF_HAS_CUDNN_FRONTEND
  const Cudnn& own = cudnn_of(gpu);
  Work work = fused_attention(op, gpu, own.handle, own.functions.library.handle());
  work.library = version_of(own.functions);
  return work;
#else
  static_cast<void>(op);
  static_cast<void>(gpu);
  throw Skipped("built without cudnn_frontend.h");
#endif
}

}  // namespace inline_prof::measure
