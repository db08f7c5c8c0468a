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

using Numbers = std::array<int, kMostTensorDimensions>;

std::vector<std::int64_t> first(const Numbers& numbers, int count) {
  return {numbers.begin(), numbers.begin() + std::clamp(count, 0, kMostTensorDimensions)};
}

// The three functions take the same arguments: the places of image, filter and output among their
// descriptors tell them apart.
struct Direction {
  const char* event_name;
  const char* name;
  std::size_t image;
  std::size_t filter;
  std::size_t output;
};
constexpr Direction kForward{"conv.forward", "forward", 0, 1, 2};
constexpr Direction kBackwardData{"conv.backward_data", "backward_data", 2, 0, 1};
constexpr Direction kBackwardFilter{"conv.backward_filter", "backward_filter", 0, 2, 1};

// Leaves vectors empty if a getter fails; then there is no operation.
Convolution read(void* real, const Direction& direction, const std::array<void*, 3>& descriptors,
                 void* convolution, int algorithm) {
  Convolution read;
  read.direction = direction.name;
  read.algorithm = algorithm;
  auto* const get_tensor = function_beside<cudnn::GetTensorNd>(real, "cudnnGetTensorNdDescriptor");
  auto* const get_filter = function_beside<cudnn::GetFilterNd>(real, "cudnnGetFilterNdDescriptor");
  auto* const get_convolution =
      function_beside<cudnn::GetConvolutionNd>(real, "cudnnGetConvolutionNdDescriptor");
  auto* const get_groups =
      function_beside<cudnn::GetGroupCount>(real, "cudnnGetConvolutionGroupCount");
  Numbers sizes{};
  Numbers strides{};
  Numbers dilations{};
  int type = -1;
  int count = 0;
  int ignored = 0;
  const auto is_tensor = [&](std::size_t place) {
    return get_tensor != nullptr &&
           get_tensor(descriptors[place], kMostTensorDimensions, &type, &count, sizes.data(),
                      strides.data()) == cudnn::kSuccess;
  };
  if (is_tensor(direction.image)) {
    read.type = cudnn::type_name(type);
    read.image = first(sizes, count);
    read.image_strides = first(strides, count);
  }
  if (is_tensor(direction.output)) read.output = first(sizes, count);
  if (get_filter != nullptr && get_filter(descriptors[direction.filter], kMostTensorDimensions,
                                          &type, &ignored, &count, sizes.data()) == cudnn::kSuccess)
    read.filter = first(sizes, count);
  // Spatial dimensions only: two less than the tensor's.
  if (get_convolution != nullptr &&
      get_convolution(convolution, kMostTensorDimensions - 2, &count, sizes.data(), strides.data(),
                      dilations.data(), &ignored, &type) == cudnn::kSuccess) {
    read.pad = first(sizes, count);
    read.stride = first(strides, count);
    read.dilation = first(dilations, count);
  }
  int groups = 1;
  if (get_groups != nullptr && get_groups(convolution, &groups) == cudnn::kSuccess)
    read.groups = groups;
  return read;
}

template <const Direction& kDirection>
struct SaidByConvolution {
  static constexpr const char* kEventName = kDirection.event_name;
  static constexpr int kNotThere = cudnn::kNotInitialized;
  static record::Op describe(const LibraryCall& call, void* real, void*, const void*, void* first,
                             const void*, void* second, const void*, void* convolution,
                             int algorithm, void*, std::size_t, const void*, void* third, void*) {
    auto op = conv_op(read(real, kDirection, {first, second, third}, convolution, algorithm),
                      call.symbol);
    if (!op) return left_out(call, "its dimensions, layout or type are not supported");
    return std::move(*op);
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

INLINE_PROF_CUDNN_CALLS(INLINE_PROF_DEFINE_CALL)

}  // namespace inline_prof::libraries
