// cuDNN: the three convolution functions of the older API, and execution plans of the graph API.
#include "hook/guard.hpp"
#include "launch/launch_filter.hpp"
#include "libraries/backend_plans.hpp"
#include "libraries/call_operation.hpp"
#include "libraries/call_wrapper.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace inline_prof::libraries {
namespace {

// --- the older API: descriptors are read with the library's own getters

constexpr int kMostTensorDimensions = 8;  // CUDNN_DIM_MAX

struct Getters {
  explicit Getters(void* real)
      : tensor(find<cudnn::GetTensorNd>(real, "cudnnGetTensorNdDescriptor")),
        filter(find<cudnn::GetFilterNd>(real, "cudnnGetFilterNdDescriptor")),
        convolution(find<cudnn::GetConvolutionNd>(real, "cudnnGetConvolutionNdDescriptor")),
        groups(find<cudnn::GetGroupCount>(real, "cudnnGetConvolutionGroupCount")) {}

  template <typename Function>
  static Function* find(void* real, const char* name) {
    return reinterpret_cast<Function*>(function_beside(real, name));
  }

  cudnn::GetTensorNd* tensor;
  cudnn::GetFilterNd* filter;
  cudnn::GetConvolutionNd* convolution;
  cudnn::GetGroupCount* groups;
};

using Numbers = std::array<int, kMostTensorDimensions>;

std::vector<std::int64_t> first(const Numbers& numbers, int count) {
  return {numbers.begin(), numbers.begin() + std::clamp(count, 0, kMostTensorDimensions)};
}

struct Described {
  const char* direction;
  int algorithm;
  void* image;
  void* filter;
  void* output;
  void* convolution;
};

// Leaves vectors empty if a getter fails; then there is no operation.
Convolution read(const Getters& get, const Described& call) {
  Convolution read;
  read.direction = call.direction;
  read.algorithm = call.algorithm;
  Numbers sizes{};
  Numbers strides{};
  Numbers dilations{};
  int type = -1;
  int count = 0;
  int ignored = 0;
  if (get.tensor != nullptr && get.tensor(call.image, kMostTensorDimensions, &type, &count,
                                          sizes.data(), strides.data()) == cudnn::kSuccess) {
    read.type = cudnn::type_name(type);
    read.image = first(sizes, count);
    read.image_strides = first(strides, count);
  }
  if (get.tensor != nullptr && get.tensor(call.output, kMostTensorDimensions, &type, &count,
                                          sizes.data(), strides.data()) == cudnn::kSuccess) {
    read.output = first(sizes, count);
  }
  if (get.filter != nullptr && get.filter(call.filter, kMostTensorDimensions, &type, &ignored,
                                          &count, sizes.data()) == cudnn::kSuccess) {
    read.filter = first(sizes, count);
  }
  // Spatial dimensions only: two less than the tensor's.
  if (get.convolution != nullptr &&
      get.convolution(call.convolution, kMostTensorDimensions - 2, &count, sizes.data(),
                      strides.data(), dilations.data(), &ignored, &type) == cudnn::kSuccess) {
    read.pad = first(sizes, count);
    read.stride = first(strides, count);
    read.dilation = first(dilations, count);
  }
  int groups = 1;
  if (get.groups != nullptr && get.groups(call.convolution, &groups) == cudnn::kSuccess) {
    read.groups = groups;
  }
  return read;
}

record::Op describe_convolution(const LibraryCall& call, void* real, const Described& described) {
  auto op = conv_op(read(Getters(real), described), call.symbol);
  if (!op) return left_out(call, "its dimensions, layout or type are not supported");
  return std::move(*op);
}

struct SaidByForward {
  static constexpr const char* kEventName = "conv.forward";
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static record::Op describe(const LibraryCall& call, void* real, void*, const void*, void* x,
                             const void*, void* w, const void*, void* convolution, int algorithm,
                             void*, std::size_t, const void*, void* y, void*) {
    return describe_convolution(call, real, {"forward", algorithm, x, w, y, convolution});
  }
};

struct SaidByBackwardData {
  static constexpr const char* kEventName = "conv.backward_data";
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static record::Op describe(const LibraryCall& call, void* real, void*, const void*, void* w,
                             const void*, void* dy, const void*, void* convolution, int algorithm,
                             void*, std::size_t, const void*, void* dx, void*) {
    return describe_convolution(call, real, {"backward_data", algorithm, dx, w, dy, convolution});
  }
};

struct SaidByBackwardFilter {
  static constexpr const char* kEventName = "conv.backward_filter";
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static record::Op describe(const LibraryCall& call, void* real, void*, const void*, void* x,
                             const void*, void* dy, const void*, void* convolution, int algorithm,
                             void*, std::size_t, const void*, void* dw, void*) {
    return describe_convolution(call, real, {"backward_filter", algorithm, x, dw, dy, convolution});
  }
};

// --- the graph API (backend descriptors)

struct SaidByExecute {
  static constexpr const char* kEventName = "cudnn.execute";
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static record::Op describe(const LibraryCall& call, void*, void*, void* plan, void*) {
    auto op = operation_of_plan(plan);
    if (!op) return left_out(call, "its plan has no supported convolution or attention");
    return std::move(*op);
  }
};

// Descriptors are tracked until discovery ends; operations are not needed after that.
bool is_followed() noexcept {
  return launch::filter.has(launch::LaunchFilter::kCounting);
}

struct SetAttribute {
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static constexpr bool kOpensFrame = false;
  static int call(LibraryCall& call, Quiet<cudnn::BackendSet>::Pointer real, void* descriptor,
                  int name, int type, std::int64_t count, const void* elements) {
    const int result = real(descriptor, name, type, count, elements);
    if (result == cudnn::kSuccess && type == cudnn::kDescriptorAttribute && is_followed()) {
      fenced_apart(call.symbol, [&] {
        note_descriptors_set(reinterpret_cast<void*>(real), descriptor, name, elements, count);
      });
    }
    return result;
  }
};

struct BackendGetAttribute {
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static constexpr bool kOpensFrame = false;
  static int call(LibraryCall& call, Quiet<cudnn::BackendGet>::Pointer real, void* descriptor,
                  int name, int type, std::int64_t requested, std::int64_t* count, void* elements) {
    const int result = real(descriptor, name, type, requested, count, elements);
    if (result == cudnn::kSuccess && type == cudnn::kDescriptorAttribute && is_followed()) {
      const std::int64_t given = count == nullptr ? requested : std::min(requested, *count);
      fenced_apart(call.symbol, [&] { note_descriptors_read(descriptor, elements, given); });
    }
    return result;
  }
};

struct DestroyDescriptor {
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static constexpr bool kOpensFrame = false;
  static int call(LibraryCall& call, Quiet<cudnn::BackendDestroy>::Pointer real, void* descriptor) {
    // Done before the call: afterwards another thread may already have a new descriptor at this
    // address.
    if (is_followed()) fenced_apart(call.symbol, [&] { forget_descriptor(descriptor); });
    return real(descriptor);
  }
};

}  // namespace

INLINE_PROF_DEFINE_CALL(cudnnConvolutionForward, DescribedCall<SaidByForward>, cudnn::Forward)
INLINE_PROF_DEFINE_CALL(cudnnConvolutionBackwardData, DescribedCall<SaidByBackwardData>,
                        cudnn::BackwardData)
INLINE_PROF_DEFINE_CALL(cudnnConvolutionBackwardFilter, DescribedCall<SaidByBackwardFilter>,
                        cudnn::BackwardFilter)
INLINE_PROF_DEFINE_CALL(cudnnBackendExecute, DescribedCall<SaidByExecute>, cudnn::BackendExecute)
INLINE_PROF_DEFINE_CALL(cudnnBackendSetAttribute, SetAttribute, cudnn::BackendSet)
INLINE_PROF_DEFINE_CALL(cudnnBackendGetAttribute, BackendGetAttribute, cudnn::BackendGet)
INLINE_PROF_DEFINE_CALL(cudnnBackendDestroyDescriptor, DestroyDescriptor, cudnn::BackendDestroy)

}  // namespace inline_prof::libraries
