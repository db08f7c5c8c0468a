#include "sys/graph_api.hpp"

#include "sys/cuda_api.hpp"
#include "sys/original_dlsym.hpp"

#include <pthread.h>

namespace inline_prof::sys {
namespace {

constinit GraphApi graph_functions;

template <typename Function>
void find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(find_loaded(kDriverSoname, symbol));
}

void load() {
  find(graph_functions.clone, "cuGraphClone");
  find(graph_functions.destroy, "cuGraphDestroy");
  find(graph_functions.create, "cuGraphCreate");
  find(graph_functions.find_in_clone, "cuGraphNodeFindInClone");
  find(graph_functions.get_nodes, "cuGraphGetNodes");
  find(graph_functions.get_type, "cuGraphNodeGetType");
  find(graph_functions.get_kernel, "cuGraphKernelNodeGetParams_v2");
  find(graph_functions.get_child, "cuGraphChildGraphNodeGetGraph");
  find(graph_functions.get_attribute, "cuGraphKernelNodeGetAttribute");
  find(graph_functions.get_dependencies, "cuGraphNodeGetDependencies_v2");
  find(graph_functions.get_dependents, "cuGraphNodeGetDependentNodes_v2");
  find(graph_functions.add_dependencies, "cuGraphAddDependencies_v2");
  find(graph_functions.remove_dependencies, "cuGraphRemoveDependencies_v2");
  find(graph_functions.add_event_record, "cuGraphAddEventRecordNode");
  find(graph_functions.add_kernel, "cuGraphAddKernelNode_v2");
  find(graph_functions.instantiate, "cuGraphInstantiateWithFlags");
  find(graph_functions.upload, "cuGraphUpload");
  find(graph_functions.launch, "cuGraphLaunch");
  find(graph_functions.destroy_exec, "cuGraphExecDestroy");
  find(graph_functions.set_event, "cuGraphExecEventRecordNodeSetEvent");
  find(graph_functions.set_kernel, "cuGraphKernelNodeSetParams_v2");
  find(graph_functions.set_exec_kernel, "cuGraphExecKernelNodeSetParams_v2");
  find(graph_functions.set_exec_enabled, "cuGraphNodeSetEnabled");
  find(graph_functions.get_capture, "cuStreamGetCaptureInfo_v2");
  find(graph_functions.record_event_with_flags, "cuEventRecordWithFlags");
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
  return graph_functions;
}

}  // namespace inline_prof::sys
