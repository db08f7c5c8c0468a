// cudnnBackend...: descriptors made, set, finalized, read.
#include "cudnn/backend_descriptor.hpp"
#include "cudnn/handle.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

BackendHandle* handle_of(cudnnBackendDescriptor_t descriptor) {
  return static_cast<BackendHandle*>(descriptor);
}

// cuDNN 9 API, at the scaling factors of operations: CUDNN_TYPE_FLOAT or CUDNN_TYPE_DOUBLE.
bool type_fits(const AttributeRule& rule, cudnnBackendAttributeType_t type) {
  const auto is_factor = [](cudnnBackendAttributeType_t t) {
    return t == CUDNN_TYPE_FLOAT || t == CUDNN_TYPE_DOUBLE;
  };
  return type == rule.type || (is_factor(type) && is_factor(rule.type));
}

// Reads children into descriptors that the caller has made: of the right type, or BAD_PARAM.
cudnnStatus_t copy_children(const BackendAttribute& attribute, std::int64_t count,
                            const cudnnBackendDescriptor_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const DescriptorPointer& child = attribute.children[static_cast<std::size_t>(i)];
    BackendHandle* target = handle_of(to[i]);
    if (target == nullptr || target->descriptor->type != child->type) return CUDNN_STATUS_BAD_PARAM;
    *target->descriptor = *child;
  }
  return CUDNN_STATUS_SUCCESS;
}

// The value of an optional attribute that nobody has set: one zero.
BackendAttribute default_of(const AttributeRule& rule) {
  return {rule.type, 1, std::vector<char>(size_of(rule.type)), {}};
}

}  // namespace

// The real library (9.19) has a failed allocation for a type that it does not know.
SIMGPU_CALL(cudnnBackendCreateDescriptor, type, descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!is_known(type)) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  auto made = std::make_shared<BackendDescriptor>();
  made->type = type;
  *descriptor = new BackendHandle{std::move(made)};
  return CUDNN_STATUS_SUCCESS;
}

SIMGPU_CALL(cudnnBackendDestroyDescriptor, descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  delete handle_of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

SIMGPU_CALL(cudnnBackendSetAttribute, descriptor, name, type, count, elements) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  BackendDescriptor& target = *handle_of(descriptor)->descriptor;
  const AttributeRule* rule = find_rule(target.type, name);
  if (target.is_finalized || rule == nullptr || rule->use == AttributeRule::kReadOnly) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (!type_fits(*rule, type)) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
  if (count < 1 || count > rule->max_count || elements == nullptr) return CUDNN_STATUS_BAD_PARAM;
  BackendAttribute attribute{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* children = static_cast<const cudnnBackendDescriptor_t*>(elements);
    for (std::int64_t i = 0; i < count; ++i) {
      if (children[i] == nullptr) return CUDNN_STATUS_BAD_PARAM;
      attribute.children.push_back(handle_of(children[i])->descriptor);
    }
  } else {
    const auto* bytes = static_cast<const char*>(elements);
    attribute.values.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  }
  target.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

SIMGPU_CALL(cudnnBackendFinalize, descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  BackendDescriptor& target = *handle_of(descriptor)->descriptor;
  if (target.is_finalized) return CUDNN_STATUS_BAD_PARAM;
  if (const auto status = check_attributes(target); status != CUDNN_STATUS_SUCCESS) return status;
  if (const auto status = finalize(target); status != CUDNN_STATUS_SUCCESS) return status;
  target.is_finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

// elementCount gives the elements there are if none are asked for, else those written.
SIMGPU_CALL(cudnnBackendGetAttribute, descriptor, name, type, requested, element_count, elements) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const BackendDescriptor& source = *handle_of(descriptor)->descriptor;
  if (!source.is_finalized) return CUDNN_STATUS_NOT_INITIALIZED;
  const AttributeRule* rule = find_rule(source.type, name);
  if (rule == nullptr) return CUDNN_STATUS_BAD_PARAM;
  // The real library (9.19) does not give the operations of a graph back.
  if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS) return CUDNN_STATUS_NOT_SUPPORTED;
  // Nor the convolution of a backward one: backward data refuses, backward filter copies nothing.
  if (name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC) return CUDNN_STATUS_BAD_PARAM;
  if (name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC) {
    if (element_count != nullptr) *element_count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  const BackendAttribute* set = source.find(name);
  // An engine without notes and knobs.
  if (set == nullptr && rule->use == AttributeRule::kReadOnly && rule->max_count > 1) {
    if (element_count != nullptr) *element_count = 0;
    return CUDNN_STATUS_SUCCESS;
  }
  if (set == nullptr && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
  const BackendAttribute attribute = set != nullptr ? *set : default_of(*rule);
  if (type != attribute.type) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
  // Nor has it room for more values than there can be (9.19).
  if (rule->max_count == 1 && requested > 1) return CUDNN_STATUS_BAD_PARAM;
  if (requested < 0 || (requested > 0 && elements == nullptr)) return CUDNN_STATUS_BAD_PARAM;
  const std::int64_t written = std::min(requested, attribute.count);
  if (element_count != nullptr) *element_count = requested == 0 ? attribute.count : written;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return copy_children(attribute, written,
                         static_cast<const cudnnBackendDescriptor_t*>(elements));
  }
  if (written > 0) {
    std::memcpy(elements, attribute.values.data(),
                static_cast<std::size_t>(written) * size_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}
