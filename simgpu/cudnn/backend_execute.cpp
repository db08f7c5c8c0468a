// A plan runs.
#include "cudnn/backend_graph.hpp"
#include "cudnn/handle.hpp"

#include <algorithm>

using namespace simgpu;

namespace {

// Of this type and finalized, else null.
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
  if (!all_given(handle, plan, pack)) return CUDNN_STATUS_BAD_PARAM;
  const BackendDescriptor& engine =
      plan->child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).child(CUDNN_ATTR_ENGINECFG_ENGINE);
  GraphWork work;
  if (const auto status = describe_graph(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH), work);
      status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (!has_tensors(*pack, work)) return CUDNN_STATUS_BAD_PARAM;
  const bool has_workspace = pack->find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) != nullptr &&
                             pack->value<const void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) != nullptr;
  if (plan->value<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > 0 && !has_workspace) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return handle->run(
      engine_kernels(work, engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
}
