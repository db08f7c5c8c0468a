#include "sys/graph_api.hpp"

#include "sys/cuda_api.hpp"
#include "sys/real_dlsym.hpp"

#include <pthread.h>

namespace inline_prof::sys {
namespace {

constinit GraphApi api;

template <typename Function>
void find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(find_loaded(kDriverSoname, symbol));
}

void load() {
  find(api.clone, "cuGraphClone");
  find(api.destroy, "cuGraphDestroy");
  find(api.create, "cuGraphCreate");
  find(api.find_in_clone, "cuGraphNodeFindInClone");
  find(api.get_nodes, "cuGraphGetNodes");
  find(api.get_type, "cuGraphNodeGetType");
  find(api.get_kernel, "cuGraphKernelNodeGetParams_v2");
  find(api.get_child, "cuGraphChildGraphNodeGetGraph");
  find(api.get_attribute, "cuGraphKernelNodeGetAttribute");
  find(api.get_dependencies, "cuGraphNodeGetDependencies_v2");
  find(api.get_dependents, "cuGraphNodeGetDependentNodes_v2");
  find(api.add_dependencies, "cuGraphAddDependencies_v2");
  find(api.remove_dependencies, "cuGraphRemoveDependencies_v2");
  find(api.add_event_record, "cuGraphAddEventRecordNode");
  find(api.add_kernel, "cuGraphAddKernelNode_v2");
  find(api.instantiate, "cuGraphInstantiateWithFlags");
  find(api.upload, "cuGraphUpload");
  find(api.launch, "cuGraphLaunch");
  find(api.destroy_exec, "cuGraphExecDestroy");
  find(api.set_event, "cuGraphExecEventRecordNodeSetEvent");
  find(api.set_kernel, "cuGraphKernelNodeSetParams_v2");
  find(api.set_exec_kernel, "cuGraphExecKernelNodeSetParams_v2");
  find(api.set_exec_enabled, "cuGraphNodeSetEnabled");
  find(api.get_capture, "cuStreamGetCaptureInfo_v2");
  find(api.record_event_with_flags, "cuEventRecordWithFlags");
}

}  // namespace

bool GraphApi::can_time_nodes() const noexcept {
  return clone != nullptr && destroy != nullptr && find_in_clone != nullptr &&
         get_nodes != nullptr && get_type != nullptr && get_kernel != nullptr &&
         get_dependencies != nullptr && get_dependents != nullptr && add_dependencies != nullptr &&
         remove_dependencies != nullptr && add_event_record != nullptr && instantiate != nullptr &&
         upload != nullptr && launch != nullptr && destroy_exec != nullptr && set_event != nullptr;
}

const GraphApi& graph_api() noexcept {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return api;
}

}  // namespace inline_prof::sys
