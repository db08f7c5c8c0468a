#include "libraries/backend_plans.hpp"

#include "libraries/library_calls.hpp"
#include "sys/locked.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace inline_prof::libraries {
namespace {

// The most descriptors that are tracked. A model has some hundred plans; a program that never
// destroys any is no longer tracked beyond this.
constexpr std::size_t kMostDescriptors = 65536;
constexpr std::int64_t kMostDimensions = 8;  // CUDNN_DIM_MAX

// The contents of a convolution descriptor.
struct Settings {
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> pad;
  std::vector<std::int64_t> dilation;
  std::optional<std::int64_t> spatial_dimensions;
};

struct PlanBook {
  std::unordered_map<const void*, std::shared_ptr<const record::Op>> operations;
  // Settings by operation descriptor, which does not return all of them (kKinds).
  std::unordered_map<const void*, Settings> settings;
  // The parts of attention, by operation descriptor.
  std::unordered_map<const void*, GraphPart> parts;
};
using Plans = sys::Locked<PlanBook>;

// Functions of the same copy of cuDNN that the application has called.
struct Backend {
  explicit Backend(void* real)
      : create(function_beside<cudnn::BackendCreate>(real, "cudnnBackendCreateDescriptor")),
        destroy(function_beside<cudnn::BackendDestroy>(real, "cudnnBackendDestroyDescriptor")),
        get(function_beside<cudnn::BackendGet>(real, "cudnnBackendGetAttribute")) {}

  [[nodiscard]] bool is_complete() const {
    return create != nullptr && destroy != nullptr && get != nullptr;
  }

  cudnn::BackendCreate* create;
  cudnn::BackendDestroy* destroy;
  cudnn::BackendGet* get;
};

// A descriptor of our own, into which cuDNN copies a child descriptor.
class Child {
 public:
  Child(const Backend& backend, void* parent, int name, int type) : backend_(backend) {
    if (backend.create(type, &raw_) != cudnn::kSuccess) raw_ = nullptr;
    std::int64_t count = 0;
    is_read_ = raw_ != nullptr &&
               backend.get(parent, name, cudnn::kDescriptorAttribute, 1, &count, &raw_) ==
                   cudnn::kSuccess &&
               count == 1;
  }
  ~Child() {
    if (raw_ != nullptr) backend_.destroy(raw_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool is_read() const { return is_read_; }
  [[nodiscard]] void* raw() const { return raw_; }

 private:
  const Backend& backend_;
  void* raw_ = nullptr;
  bool is_read_ = false;
};

std::vector<std::int64_t> integers(const Backend& backend, void* descriptor, int name) {
  std::vector<std::int64_t> values(kMostDimensions);
  std::int64_t count = 0;
  if (backend.get(descriptor, name, cudnn::kInt64Attribute, kMostDimensions, &count,
                  values.data()) != cudnn::kSuccess)
    return {};
  values.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMostDimensions)));
  return values;
}

// Reads an attribute that is one value: the library refuses to be asked for more (cuDNN 9.19).
template <typename Value>
std::optional<Value> one(const Backend& backend, void* descriptor, int name, int type) {
  Value value{};
  std::int64_t count = 0;
  if (backend.get(descriptor, name, type, 1, &count, &value) != cudnn::kSuccess)
    return std::nullopt;
  return value;
}

const char* type_name(const Backend& backend, void* tensor) {
  return cudnn::type_name(
      one<int>(backend, tensor, cudnn::kTensorDataType, cudnn::kDataTypeAttribute).value_or(-1));
}

// A tensor whose attribute was never set is in memory.
GraphTensor read_tensor(const Backend& backend, void* tensor) {
  return {
      .sizes = integers(backend, tensor, cudnn::kTensorDimensions),
      .type = type_name(backend, tensor),
      .is_virtual = one<bool>(backend, tensor, cudnn::kTensorIsVirtual, cudnn::kBooleanAttribute)
                        .value_or(false)};
}

Settings read_settings(const Backend& backend, void* convolution) {
  return {.stride = integers(backend, convolution, cudnn::kConvolutionStrides),
          .pad = integers(backend, convolution, cudnn::kConvolutionPrePaddings),
          .dilation = integers(backend, convolution, cudnn::kConvolutionDilations),
          .spatial_dimensions = one<std::int64_t>(
              backend, convolution, cudnn::kConvolutionSpatialDims, cudnn::kInt64Attribute)};
}

// The names of one kind of convolution's attributes. An operation returns its tensors by them, but
// cuDNN 9.19 returns only the convolution descriptor of a forward one: backward data has its own
// under the name of backward filter, which has an empty one. So those descriptors are read when the
// application sets them.
struct Names {
  const char* direction;
  int convolution;
  int filter;
  int image;
  int output;
};
constexpr std::array kKinds{
    Names{"forward", cudnn::kForwardConvolution, cudnn::kForwardFilter, cudnn::kForwardImage,
          cudnn::kForwardOutput},
    Names{"backward_data", cudnn::kBackwardDataConvolution, cudnn::kBackwardDataFilter,
          cudnn::kBackwardDataImage, cudnn::kBackwardDataOutput},
    Names{"backward_filter", cudnn::kBackwardFilterConvolution, cudnn::kBackwardFilterFilter,
          cudnn::kBackwardFilterImage, cudnn::kBackwardFilterOutput}};

// A finalized operation has the groups as a separate dimension: images {n, g, c / g, h, w}, filters
// {g, k / g, c / g, r, s}.
void merge_image_groups(std::vector<std::int64_t>& sizes, std::vector<std::int64_t>* strides) {
  if (sizes.size() != 5) return;
  sizes[2] *= sizes[1];
  sizes.erase(sizes.begin() + 1);
  if (strides != nullptr && strides->size() == 5) strides->erase(strides->begin() + 1);
}

std::int64_t merge_filter_groups(std::vector<std::int64_t>& sizes) {
  if (sizes.size() != 5) return 0;
  const std::int64_t groups = sizes[0];
  sizes[1] *= groups;
  sizes.erase(sizes.begin());
  return groups;
}

Settings settings_of(const void* operation) {
  const Plans plans;
  const auto known = plans->settings.find(operation);
  return known == plans->settings.end() ? Settings{} : known->second;
}

std::optional<Convolution> read_convolution(const Backend& backend, void* operation,
                                            const Names& names) {
  const Child image(backend, operation, names.image, cudnn::kTensorDescriptor);
  const Child filter(backend, operation, names.filter, cudnn::kTensorDescriptor);
  const Child output(backend, operation, names.output, cudnn::kTensorDescriptor);
  if (!image.is_read() || !filter.is_read() || !output.is_read()) return std::nullopt;
  const Settings settings = settings_of(operation);
  Convolution convolution{.direction = names.direction,
                          .type = type_name(backend, image.raw()),
                          .image = integers(backend, image.raw(), cudnn::kTensorDimensions),
                          .image_strides = integers(backend, image.raw(), cudnn::kTensorStrides),
                          .filter = integers(backend, filter.raw(), cudnn::kTensorDimensions),
                          .output = integers(backend, output.raw(), cudnn::kTensorDimensions),
                          .stride = settings.stride,
                          .pad = settings.pad,
                          .dilation = settings.dilation};
  // Five dimensions may also be three spatial ones without groups.
  if (settings.spatial_dimensions != 2) return convolution;
  merge_image_groups(convolution.image, &convolution.image_strides);
  merge_image_groups(convolution.output, nullptr);
  convolution.groups = merge_filter_groups(convolution.filter);
  if (convolution.groups == 0 && convolution.image.size() > 1 && convolution.filter.size() > 1 &&
      convolution.filter[1] > 0)
    convolution.groups = convolution.image[1] / convolution.filter[1];
  return convolution;
}

std::vector<GraphPart> parts_of(const void* const* operations, std::int64_t count) {
  const Plans plans;
  std::vector<GraphPart> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto known = plans->parts.find(operations[i]);
    if (known != plans->parts.end()) parts.push_back(known->second);
  }
  return parts;
}

// Returns the first of a graph's operations that is a convolution, with which the others are fused;
// or attention, which all of them together are.
std::shared_ptr<const record::Op> operation_of_graph(void* real, const void* elements,
                                                     std::int64_t count) {
  constexpr const char* source = "cudnnBackendExecute";
  const Backend backend(real);
  if (!backend.is_complete()) return nullptr;
  const auto* operations = static_cast<void* const*>(elements);
  const auto shared = [](std::optional<record::Op> op) {
    return op ? std::make_shared<const record::Op>(std::move(*op)) : nullptr;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Names& names : kKinds) {
      if (const auto convolution = read_convolution(backend, operations[i], names))
        return shared(conv_op(*convolution, source));
    }
  }
  return shared(attention_op(parts_of(operations, count), source));
}

// Notes an attribute of attention. Returns false if the attribute is another one.
bool note_part(void* real, const void* operation, int name, void* value) {
  using Kind = GraphPart::Kind;
  struct Meaning {
    int name;
    Kind kind;
    GraphTensor GraphPart::*tensor;
  };
  static constexpr std::array meanings{
      Meaning{cudnn::kProductFirst, Kind::kProduct, &GraphPart::first},
      Meaning{cudnn::kProductSecond, Kind::kProduct, &GraphPart::second},
      Meaning{cudnn::kProductResult, Kind::kProduct, &GraphPart::result},
      Meaning{cudnn::kPointwiseOperation, Kind::kPointwise, nullptr},
      Meaning{cudnn::kAttentionForwardQueries, Kind::kForward, &GraphPart::first},
      Meaning{cudnn::kAttentionForwardKeys, Kind::kForward, &GraphPart::second},
      Meaning{cudnn::kAttentionBackwardQueries, Kind::kBackward, &GraphPart::first},
      Meaning{cudnn::kAttentionBackwardKeys, Kind::kBackward, &GraphPart::second}};
  const auto* const meaning = std::find_if(meanings.begin(), meanings.end(),
                                           [&](const Meaning& each) { return each.name == name; });
  if (meaning == meanings.end()) return false;
  const Backend backend(real);
  if (!backend.is_complete()) return true;
  GraphTensor tensor;
  std::int64_t mode = -1;
  if (meaning->tensor != nullptr) {
    tensor = read_tensor(backend, value);
  } else {
    mode = one<int>(backend, value, cudnn::kPointwiseMode, cudnn::kPointwiseModeAttribute)
               .value_or(-1);
  }
  const Plans plans;
  if (plans->parts.size() >= kMostDescriptors) return true;
  GraphPart& part = plans->parts[operation];
  part.kind = meaning->kind;
  part.mode = mode;
  if (meaning->tensor != nullptr) part.*(meaning->tensor) = std::move(tensor);
  return true;
}

void note_settings(void* real, const void* operation, void* convolution) {
  const Backend backend(real);
  if (!backend.is_complete()) return;
  Settings settings = read_settings(backend, convolution);
  const Plans plans;
  if (plans->settings.size() < kMostDescriptors) plans->settings[operation] = std::move(settings);
}

constexpr std::size_t kDimensions = 4;

// A dimension of one element can have any stride.
const char* layout_of(const Convolution& convolution) {
  const auto& size = convolution.image;
  const auto& stride = convolution.image_strides;
  const auto is = [&](std::size_t dimension, std::int64_t expected) {
    return size[dimension] == 1 || stride[dimension] == expected;
  };
  const auto c = size[1], h = size[2], w = size[3];
  if (is(3, 1) && is(2, w) && is(1, h * w) && is(0, c * h * w)) return "nchw";
  if (is(1, 1) && is(3, c) && is(2, w * c) && is(0, h * w * c)) return "nhwc";
  return nullptr;
}

// Returns one number if the dimensions agree.
record::OpValue value_of(const std::vector<std::int64_t>& values) {
  if (values[0] == values[1]) return values[0];
  return values;
}

// Forward: queries with keys, scores with values. Backward: queries with keys again, and four
// gradients.
constexpr std::ptrdiff_t kForwardProducts = 2;
constexpr std::ptrdiff_t kBackwardProducts = 5;

std::optional<record::Op> described(const GraphTensor& queries, std::int64_t kv_heads,
                                    std::int64_t kv_length, bool is_causal, bool is_backward,
                                    const char* source) {
  if (queries.type == nullptr) return std::nullopt;
  return record::Op{.kind = std::string(op_kind_name(OpKind::kAttention)),
                    .attributes = {{"batch", queries.sizes[0]},
                                   {"heads", queries.sizes[1]},
                                   {"kv_heads", kv_heads},
                                   {"q_len", queries.sizes[2]},
                                   {"kv_len", kv_length},
                                   {"head_dim", queries.sizes[3]},
                                   {"causal", is_causal},
                                   {"type", queries.type},
                                   {"pass", is_backward ? "backward" : "forward"}},
                    .source = source};
}

}  // namespace

void note_descriptors_set(void* real, void* descriptor, int name, const void* elements,
                          std::int64_t count) {
  if (elements == nullptr || count < 1) return;
  const bool is_convolution = std::any_of(
      kKinds.begin(), kKinds.end(), [&](const Names& names) { return names.convolution == name; });
  if (is_convolution) {
    note_settings(real, descriptor, *static_cast<void* const*>(elements));
    return;
  }
  if (note_part(real, descriptor, name, *static_cast<void* const*>(elements))) return;
  std::shared_ptr<const record::Op> operation;
  if (name == cudnn::kGraphOperations) operation = operation_of_graph(real, elements, count);
  const Plans plans;
  const auto* children = static_cast<void* const*>(elements);
  for (std::int64_t i = 0; operation == nullptr && i < count; ++i) {
    const auto known = plans->operations.find(children[i]);
    if (known != plans->operations.end()) operation = known->second;
  }
  if (operation == nullptr || plans->operations.size() >= kMostDescriptors) return;
  plans->operations[descriptor] = operation;
}

void note_descriptors_read(void* descriptor, const void* elements, std::int64_t count) {
  if (elements == nullptr || count < 1) return;
  const Plans plans;
  const auto known = plans->operations.find(descriptor);
  if (known == plans->operations.end()) return;
  const std::shared_ptr<const record::Op> operation = known->second;
  const auto* children = static_cast<void* const*>(elements);
  for (std::int64_t i = 0; i < count && plans->operations.size() < kMostDescriptors; ++i)
    plans->operations[children[i]] = operation;
}

void forget_descriptor(const void* descriptor) {
  const Plans plans;
  plans->operations.erase(descriptor);
  plans->settings.erase(descriptor);
  plans->parts.erase(descriptor);
}

std::optional<record::Op> operation_of_plan(const void* plan) {
  const Plans plans;
  const auto known = plans->operations.find(plan);
  if (known == plans->operations.end()) return std::nullopt;
  return *known->second;
}

std::optional<record::Op> conv_op(const Convolution& convolution, const char* source) {
  for (const auto* each :
       {&convolution.image, &convolution.image_strides, &convolution.filter, &convolution.output}) {
    if (each->size() != kDimensions) return std::nullopt;
  }
  for (const auto* each : {&convolution.stride, &convolution.pad, &convolution.dilation}) {
    if (each->size() != 2) return std::nullopt;
  }
  const char* layout = layout_of(convolution);
  if (layout == nullptr || convolution.type == nullptr) return std::nullopt;
  // One after the other: as one list they take more stack than a hook may have.
  record::Op op{
      .kind = std::string(op_kind_name(OpKind::kConv)), .attributes = {}, .source = source};
  using Size = std::pair<const char*, std::int64_t>;
  for (const auto& [name, value] :
       {Size{"n", convolution.image[0]}, Size{"c", convolution.image[1]},
        Size{"h", convolution.image[2]}, Size{"w", convolution.image[3]},
        Size{"k", convolution.output[1]}, Size{"r", convolution.filter[2]},
        Size{"s", convolution.filter[3]}, Size{"p", convolution.output[2]},
        Size{"q", convolution.output[3]}})
    op.attributes.emplace_back(name, value);
  op.attributes.emplace_back("stride", value_of(convolution.stride));
  op.attributes.emplace_back("pad", value_of(convolution.pad));
  op.attributes.emplace_back("dilation", value_of(convolution.dilation));
  op.attributes.emplace_back("groups", convolution.groups);
  op.attributes.emplace_back("type", std::string(convolution.type));
  op.attributes.emplace_back("layout", std::string(layout));
  op.attributes.emplace_back("direction", std::string(convolution.direction));
  if (convolution.algorithm >= 0) op.attributes.emplace_back("algo", convolution.algorithm);
  return op;
}

std::optional<record::Op> attention_op(const std::vector<GraphPart>& parts, const char* source) {
  using Kind = GraphPart::Kind;
  const GraphPart* scores = nullptr;
  std::ptrdiff_t products = 0;
  bool has_exponents = false;
  bool compares_places = false;
  for (const GraphPart& part : parts) {
    if (part.kind == Kind::kForward || part.kind == Kind::kBackward) {
      if (part.first.sizes.size() != kDimensions || part.second.sizes.size() != kDimensions)
        return std::nullopt;
      return described(part.first, part.second.sizes[1], part.second.sizes[2], false,
                       part.kind == Kind::kBackward, source);
    }
    if (part.kind == Kind::kPointwise) {
      has_exponents = has_exponents || part.mode == cudnn::kExponent;
      compares_places = compares_places || part.mode == cudnn::kGreaterOrEqual;
    }
    if (part.kind != Kind::kProduct) continue;
    ++products;
    // Both factors come from memory only where queries meet keys.
    if (scores == nullptr && !part.first.is_virtual && part.result.is_virtual) scores = &part;
  }
  const bool is_backward = products == kBackwardProducts;
  if (scores == nullptr || !has_exponents || (products != kForwardProducts && !is_backward))
    return std::nullopt;
  for (const GraphTensor* each : {&scores->first, &scores->second, &scores->result})
    if (each->sizes.size() != kDimensions) return std::nullopt;
  return described(scores->first, scores->second.sizes[1], scores->result.sizes[3], compares_places,
                   is_backward, source);
}

}  // namespace inline_prof::libraries
