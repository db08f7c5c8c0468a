// cudnnBackend...: descriptors made, set, finalized, read.
#include "cudnn/backend_descriptor.hpp"
#include "cudnn/backend_graph.hpp"
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
void copy_children(const BackendAttribute& attribute, std::int64_t count,
                   const cudnnBackendDescriptor_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const DescriptorPointer& child = attribute.children[static_cast<std::size_t>(i)];
    BackendHandle* target = handle_of(to[i]);
    fail_if(target == nullptr || target->descriptor->type != child->type);
    *target->descriptor = *child;
  }
}

// The value of an optional attribute that nobody has set: one zero.
BackendAttribute default_of(const AttributeRule& rule) {
  return {rule.type, 1, std::vector<char>(size_of(rule.type)), {}};
}

}  // namespace

// The real library (9.19) has a failed allocation for a type that it does not know.
SIMGPU_CALL(cudnnBackendCreateDescriptor, type, descriptor) {
  fail_if(descriptor == nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  fail_if(!is_known(type), CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  auto made = std::make_shared<BackendDescriptor>();
  made->type = type;
  *descriptor = new BackendHandle{std::move(made)};
}

SIMGPU_CALL(cudnnBackendDestroyDescriptor, descriptor) {
  fail_if(descriptor == nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  delete handle_of(descriptor);
}

SIMGPU_CALL(cudnnBackendSetAttribute, descriptor, name, type, count, elements) {
  fail_if(descriptor == nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  BackendDescriptor& target = *handle_of(descriptor)->descriptor;
  const AttributeRule* rule = find_rule(target.type, name);
  fail_if(target.is_finalized || rule == nullptr || rule->use == AttributeRule::kReadOnly);
  fail_if(!type_fits(*rule, type), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  fail_if(count < 1 || count > rule->max_count || elements == nullptr);
  BackendAttribute attribute{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* children = static_cast<const cudnnBackendDescriptor_t*>(elements);
    for (std::int64_t i = 0; i < count; ++i) {
      fail_if(children[i] == nullptr);
      attribute.children.push_back(handle_of(children[i])->descriptor);
    }
  } else {
    const auto* bytes = static_cast<const char*>(elements);
    attribute.values.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  }
  target.attributes[name] = std::move(attribute);
}

SIMGPU_CALL(cudnnBackendFinalize, descriptor) {
  fail_if(descriptor == nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  BackendDescriptor& target = *handle_of(descriptor)->descriptor;
  fail_if(target.is_finalized);
  check_attributes(target);
  finalize(target);
  target.is_finalized = true;
}

// elementCount gives the elements there are if none are asked for, else those written.
SIMGPU_CALL(cudnnBackendGetAttribute, descriptor, name, type, requested, element_count, elements) {
  fail_if(descriptor == nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const BackendDescriptor& source = *handle_of(descriptor)->descriptor;
  fail_if(!source.is_finalized, CUDNN_STATUS_NOT_INITIALIZED);
  const AttributeRule* rule = find_rule(source.type, name);
  require(rule);
  // The real library (9.19) does not give the operations of a graph back.
  fail_if(name == CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_STATUS_NOT_SUPPORTED);
  // Nor the convolution of a backward one: backward data refuses, backward filter copies nothing.
  fail_if(name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  if (name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC) {
    if (element_count != nullptr) *element_count = 1;
    return;
  }
  const BackendAttribute* set = source.find(name);
  // An engine without notes and knobs.
  if (set == nullptr && rule->use == AttributeRule::kReadOnly && rule->max_count > 1) {
    if (element_count != nullptr) *element_count = 0;
    return;
  }
  fail_if(set == nullptr && type == CUDNN_TYPE_BACKEND_DESCRIPTOR);
  const BackendAttribute attribute = set != nullptr ? *set : default_of(*rule);
  fail_if(type != attribute.type, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  // Nor has it room for more values than there can be (9.19).
  fail_if(rule->max_count == 1 && requested > 1);
  fail_if(requested < 0 || (requested > 0 && elements == nullptr));
  const std::int64_t written = std::min(requested, attribute.count);
  if (element_count != nullptr) *element_count = requested == 0 ? attribute.count : written;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    copy_children(attribute, written, static_cast<const cudnnBackendDescriptor_t*>(elements));
  } else if (written > 0) {
    std::memcpy(elements, attribute.values.data(),
                static_cast<std::size_t>(written) * size_of(type));
  }
}

namespace {

// Returns null unless the descriptor has this type and is finalized.
const BackendDescriptor* finalized(cudnnBackendDescriptor_t descriptor,
                                   cudnnBackendDescriptorType_t type) {
  if (descriptor == nullptr) return nullptr;
  const auto& found = static_cast<BackendHandle*>(descriptor)->descriptor;
  return found->type == type && found->is_finalized ? found.get() : nullptr;
}

// Each tensor in memory needs a pointer that is not null.
bool has_tensors(const BackendDescriptor& pack, const GraphWork& work) {
  const auto ids = pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.integers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  return std::all_of(work.tensor_ids.begin(), work.tensor_ids.end(), [&](std::int64_t id) {
    const auto at = std::find(ids.begin(), ids.end(), id);
    return at != ids.end() && pointers[static_cast<std::size_t>(at - ids.begin())] != 0;
  });
}

}  // namespace

SIMGPU_CALL(cudnnBackendExecute, handle, plan_descriptor, pack_descriptor) {
  const auto* plan = finalized(plan_descriptor, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  const auto* pack = finalized(pack_descriptor, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  require(handle, plan, pack);
  const BackendDescriptor& engine =
      plan->child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).child(CUDNN_ATTR_ENGINECFG_ENGINE);
  const GraphWork work = describe_graph(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  fail_if(!has_tensors(*pack, work));
  const bool has_workspace = pack->find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) != nullptr &&
                             pack->value<const void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) != nullptr;
  fail_if(plan->value<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > 0 && !has_workspace,
          CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  handle->run(engine_kernels(work, engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
}
