// The convolutions that are older than the backend API, and the choice of their algorithms.
#include "cudnn/convolution.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

template <typename Algo>
struct Direction;
template <>
struct Direction<cudnnConvolutionFwdAlgo_t> {
  static constexpr int count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
};
template <>
struct Direction<cudnnConvolutionBwdDataAlgo_t> {
  static constexpr int count = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
};
template <>
struct Direction<cudnnConvolutionBwdFilterAlgo_t> {
  static constexpr int count = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
};

// The largest count that a program may ask for; each algorithm with and without tensor cores.
template <typename Algo>
void max_count(cudnnHandle_t handle, int* count) {
  require(handle, count);
  *count = Direction<Algo>::count;
}

// How the heuristic orders methods: what is usually fastest first.
int rank_of(ConvMethod method) {
  switch (method) {
    case ConvMethod::kImplicitGemm:
      return 0;
    case ConvMethod::kWinogradNonfused:
      return 1;
    case ConvMethod::kWinograd:
      return 2;
    case ConvMethod::kSplitFilter:
      return 3;
    case ConvMethod::kDirect:
      return 4;
    case ConvMethod::kGemm:
      return 5;
    case ConvMethod::kFftTiling:
      return 6;
    case ConvMethod::kFft:
      return 7;
  }
  return 8;
}

// Fills the results: those that work in the heuristic's order, then those that do not.  `measure`
// gives a method's time in ms, -1 where nobody measured.
template <typename Algo, typename Perf, typename Measure>
void list_algorithms(const Convolution& c, int requested, int* returned, Perf* results,
                     Measure&& measure) {
  fail_if(requested < 1 || returned == nullptr || results == nullptr);
  std::vector<Perf> all;
  for (int i = 0; i < Direction<Algo>::count; ++i) {
    const auto algo = static_cast<Algo>(i);
    const auto method = method_of(algo);
    Perf perf{};
    perf.algo = algo;
    perf.time = -1;
    perf.mathType = CUDNN_DEFAULT_MATH;
    if (!method || !is_supported(c, *method)) {
      perf.status = CUDNN_STATUS_NOT_SUPPORTED;
    } else {
      perf.status = measure(*method, perf.time);
      perf.memory = workspace_bytes(c, *method);
      perf.determinism =
          is_deterministic(c, *method) ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    }
    all.push_back(perf);
  }
  std::stable_sort(all.begin(), all.end(), [](const Perf& a, const Perf& b) {
    const bool a_works = a.status == CUDNN_STATUS_SUCCESS,
               b_works = b.status == CUDNN_STATUS_SUCCESS;
    if (a_works != b_works) return a_works;
    if (!a_works) return false;
    if (a.time >= 0 && b.time >= 0) return a.time < b.time;
    return rank_of(*method_of(a.algo)) < rank_of(*method_of(b.algo));
  });
  const auto count = std::min(all.size(), static_cast<std::size_t>(requested));
  std::copy_n(all.begin(), count, results);
  *returned = static_cast<int>(count);
}

// cudnnGet...Algorithm_v7: from a heuristic, nothing runs.
template <typename Algo, typename Perf>
void get_algorithms(cudnnHandle_t handle, const ConvolutionDescriptors& descriptors, int requested,
                    int* returned, Perf* results) {
  require(handle);
  const Convolution c = describe(descriptors);
  list_algorithms<Algo>(c, requested, returned, results,
                        [](ConvMethod, float&) { return CUDNN_STATUS_SUCCESS; });
}

// cudnnFind...Algorithm: each algorithm runs once on the handle's stream, and is timed.
template <typename Algo, typename Perf>
void find_algorithms(cudnnHandle_t handle, const ConvolutionDescriptors& descriptors, int requested,
                     int* returned, Perf* results) {
  require(handle);
  const Convolution c = describe(descriptors);
  list_algorithms<Algo>(
      c, requested, returned, results, [&](ConvMethod method, float& milliseconds) {
        return handle->time(handle->stream, convolution_kernels(c, method), milliseconds) ==
                       CUDA_SUCCESS
                   ? CUDNN_STATUS_SUCCESS
                   : CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
      });
}

template <typename Algo>
void workspace_size(cudnnHandle_t handle, const ConvolutionDescriptors& descriptors, Algo algo,
                    size_t* size) {
  require(handle, size);
  const Convolution c = describe(descriptors);
  const auto method = method_of(algo);
  fail_if(!method || !is_supported(c, *method), CUDNN_STATUS_NOT_SUPPORTED);
  *size = workspace_bytes(c, *method);
}

struct ConvolutionCall {
  const void *alpha, *beta;
  const void *image, *filter, *output;
  const void* workspace;
  std::size_t workspace_bytes;
  const char* epilogue = "";
  double extra_bytes = 0;
};

template <typename Algo>
void convolve(cudnnHandle_t handle, const ConvolutionDescriptors& descriptors, Algo algo,
              const ConvolutionCall& call) {
  require(handle, call.alpha, call.beta, call.image, call.filter, call.output);
  Convolution c = describe(descriptors);
  const auto method = method_of(algo);
  fail_if(!method || !is_supported(c, *method), CUDNN_STATUS_NOT_SUPPORTED);
  const std::size_t needed = workspace_bytes(c, *method);
  fail_if(needed > call.workspace_bytes || (needed > 0 && call.workspace == nullptr));
  c.reads_output = is_not_zero(call.beta, c.type);
  handle->run(convolution_kernels(c, *method, call.epilogue, call.extra_bytes));
}

constexpr auto kForward = ConvDirection::kForward;
constexpr auto kBackwardData = ConvDirection::kBackwardData;
constexpr auto kBackwardFilter = ConvDirection::kBackwardFilter;

}  // namespace

SIMGPU_CALL(cudnnGetConvolution2dForwardOutputDim, convolution, image, filter, n, c, h, w) {
  give(output_dims(image, filter, convolution), {n, c, h, w});
}

SIMGPU_CALL(cudnnGetConvolutionNdForwardOutputDim, convolution, image, filter, count, output) {
  require(output);
  const auto dims = output_dims(image, filter, convolution);
  fail_if(static_cast<std::size_t>(count) != dims.size());
  std::transform(dims.begin(), dims.end(), output,
                 [](std::int64_t d) { return static_cast<int>(d); });
}

// The choice of an algorithm.  a, b and c are the descriptors in the order in which the functions
// of this direction take them; the braces behind them say which is which.
#define SIMGPU_CHOICE(Name, Fwd, a, b, c, ...)                                                     \
  SIMGPU_CALL(cudnnGetConvolution##Name##AlgorithmMaxCount, handle, count) {                       \
    max_count<cudnnConvolution##Fwd##Algo_t>(handle, count);                                       \
  }                                                                                                \
  SIMGPU_CALL(cudnnGetConvolution##Name##Algorithm_v7, handle, a, b, convolution, c, requested,    \
              returned, results) {                                                                 \
    get_algorithms<cudnnConvolution##Fwd##Algo_t>(handle, __VA_ARGS__, requested, returned,        \
                                                  results);                                        \
  }                                                                                                \
  SIMGPU_CALL(cudnnFindConvolution##Name##Algorithm, handle, a, b, convolution, c, requested,      \
              returned, results) {                                                                 \
    find_algorithms<cudnnConvolution##Fwd##Algo_t>(handle, __VA_ARGS__, requested, returned,       \
                                                   results);                                       \
  }                                                                                                \
  SIMGPU_CALL(cudnnFindConvolution##Name##AlgorithmEx, handle, a, unused, b, unused2, convolution, \
              c, unused3, requested, returned, results, unused4, unused5) {                        \
    find_algorithms<cudnnConvolution##Fwd##Algo_t>(handle, __VA_ARGS__, requested, returned,       \
                                                   results);                                       \
  }                                                                                                \
  SIMGPU_CALL(cudnnGetConvolution##Name##WorkspaceSize, handle, a, b, convolution, c, algo,        \
              size) {                                                                              \
    workspace_size(handle, __VA_ARGS__, algo, size);                                               \
  }
SIMGPU_CHOICE(Forward, Fwd, x, w, y, {kForward, x, w, convolution, y})
SIMGPU_CHOICE(BackwardData, BwdData, w, dy, dx, {kBackwardData, dx, w, convolution, dy})
SIMGPU_CHOICE(BackwardFilter, BwdFilter, x, dy, dw, {kBackwardFilter, x, dw, convolution, dy})

SIMGPU_CALL(cudnnConvolutionForward, handle, alpha, x_desc, x, w_desc, w, convolution, algo,
            workspace, workspace_size_bytes, beta, y_desc, y) {
  convolve(handle, {kForward, x_desc, w_desc, convolution, y_desc}, algo,
           {alpha, beta, x, w, y, workspace, workspace_size_bytes});
}

// y = act(alpha1 * conv(x) + alpha2 * z + bias).  "Must use IMPLICIT_PRECOMP_GEMM" for the
// identity.
SIMGPU_CALL(cudnnConvolutionBiasActivationForward, handle, alpha1, x_desc, x, w_desc, w,
            convolution, algo, workspace, workspace_size_bytes, alpha2, z_desc, z, bias_desc, bias,
            activation, y_desc, y) {
  require(z_desc, z, bias_desc, bias, activation);
  const bool is_relu = activation->mode == CUDNN_ACTIVATION_RELU;
  fail_if(!is_relu && activation->mode != CUDNN_ACTIVATION_IDENTITY, CUDNN_STATUS_NOT_SUPPORTED);
  fail_if(!is_relu && algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
          CUDNN_STATUS_NOT_SUPPORTED);
  convolve(handle, {kForward, x_desc, w_desc, convolution, y_desc}, algo,
           {alpha1, alpha2, x, w, y, workspace, workspace_size_bytes,
            is_relu ? "_bias_relu" : "_bias", bias_desc->bytes()});
}

SIMGPU_CALL(cudnnConvolutionBackwardData, handle, alpha, w_desc, w, dy_desc, dy, convolution, algo,
            workspace, workspace_size_bytes, beta, dx_desc, dx) {
  convolve(handle, {kBackwardData, dx_desc, w_desc, convolution, dy_desc}, algo,
           {alpha, beta, dx, w, dy, workspace, workspace_size_bytes});
}

SIMGPU_CALL(cudnnConvolutionBackwardFilter, handle, alpha, x_desc, x, dy_desc, dy, convolution,
            algo, workspace, workspace_size_bytes, beta, dw_desc, dw) {
  convolve(handle, {kBackwardFilter, x_desc, dw_desc, convolution, dy_desc}, algo,
           {alpha, beta, x, dw, dy, workspace, workspace_size_bytes});
}
