// Streams, events, capture, graphs: what the driver has under the same name.
#include "runtime/call.hpp"

using namespace simgpu;

SIMGPU_CALL(cudaStreamCreate, kDevice, stream) {
  return driver.stream_create(stream, CU_STREAM_DEFAULT);
}

SIMGPU_FORWARD(cudaStreamCreateWithFlags, kDevice, stream_create, a, b)
SIMGPU_FORWARD(cudaStreamCreateWithPriority, kDevice, stream_create_with_priority, a, b, c)
SIMGPU_FORWARD(cudaStreamDestroy, kDevice, stream_destroy, a)
SIMGPU_STREAM_FORWARD(cudaStreamQuery, kDevice, stream_query, a)
SIMGPU_STREAM_FORWARD(cudaStreamSynchronize, kDevice, stream_synchronize, a)
SIMGPU_STREAM_FORWARD(cudaStreamWaitEvent, kDevice, stream_wait_event, a, b, c)
SIMGPU_STREAM_FORWARD(cudaStreamGetPriority, kDevice, stream_get_priority, a, b)
SIMGPU_STREAM_FORWARD(cudaStreamGetFlags, kDevice, stream_get_flags, a, b)
SIMGPU_STREAM_FORWARD(cudaStreamGetId, kDevice, stream_get_id, a, b)
SIMGPU_STREAM_FORWARD(cudaStreamGetDevice, kDevice, stream_get_device, a, b)

SIMGPU_STREAM_CALL(cudaStreamBeginCapture, kDevice, stream, mode) {
  return driver.stream_begin_capture[which](stream, static_cast<CUstreamCaptureMode>(mode));
}

SIMGPU_STREAM_FORWARD(cudaStreamEndCapture, kDevice, stream_end_capture, a, b)

SIMGPU_STREAM_CALL(cudaStreamIsCapturing, kDevice, stream, status) {
  // The two enumerations are equal, value for value.
  return driver.stream_is_capturing[which](stream,
                                           reinterpret_cast<CUstreamCaptureStatus*>(status));
}

SIMGPU_STREAM_CALL(cudaStreamGetCaptureInfo, kDevice, stream, status, id, graph, dependencies,
                   edges, count) {
  cuuint64_t capture_id = 0;
  const CUresult result = driver.stream_get_capture_info[which](
      stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &capture_id, graph, dependencies,
      reinterpret_cast<const CUgraphEdgeData**>(edges), count);
  if (result == CUDA_SUCCESS && id != nullptr) *id = capture_id;
  return result;
}

SIMGPU_CALL(cudaThreadExchangeStreamCaptureMode, kDriver, mode) {
  return driver.thread_exchange_stream_capture_mode(reinterpret_cast<CUstreamCaptureMode*>(mode));
}

SIMGPU_CALL(cudaEventCreate, kDevice, event) {
  return driver.event_create(event, CU_EVENT_DEFAULT);
}

SIMGPU_FORWARD(cudaEventCreateWithFlags, kDevice, event_create, a, b)
SIMGPU_STREAM_FORWARD(cudaEventRecord, kDevice, event_record, a, b)
SIMGPU_STREAM_FORWARD(cudaEventRecordWithFlags, kDevice, event_record_with_flags, a, b, c)
SIMGPU_FORWARD(cudaEventQuery, kDevice, event_query, a)
SIMGPU_FORWARD(cudaEventSynchronize, kDevice, event_synchronize, a)
SIMGPU_FORWARD(cudaEventDestroy, kDevice, event_destroy, a)

SIMGPU_CALL(cudaEventElapsedTime, kDevice, milliseconds, start, end) {
  // Drivers before 12.8 have the first one alone.
  return driver.event_elapsed_time != nullptr
             ? driver.event_elapsed_time(milliseconds, start, end)
             : driver.event_elapsed_time_v1(milliseconds, start, end);
}

SIMGPU_FORWARD(cudaGraphInstantiate, kDevice, graph_instantiate_with_flags, a, b, c)
SIMGPU_FORWARD(cudaGraphInstantiateWithFlags, kDevice, graph_instantiate_with_flags, a, b, c)

SIMGPU_STREAM_CALL(cudaGraphInstantiateWithParams, kDevice, exec, graph, parameters) {
  static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
  return driver.graph_instantiate_with_params[which](
      exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
}

SIMGPU_STREAM_FORWARD(cudaGraphUpload, kDevice, graph_upload, a, b)
SIMGPU_STREAM_FORWARD(cudaGraphLaunch, kDevice, graph_launch, a, b)

SIMGPU_CALL(cudaGraphExecUpdate, kDevice, exec, graph, info) {
  static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
  return driver.graph_exec_update(exec, graph,
                                  reinterpret_cast<CUgraphExecUpdateResultInfo*>(info));
}

SIMGPU_CALL(cudaGraphExecGetFlags, kDevice, exec, flags) {
  cuuint64_t value = 0;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = driver.graph_exec_get_flags(exec, &value);
  *flags = value;
  return result;
}

SIMGPU_FORWARD(cudaGraphExecDestroy, kDevice, graph_exec_destroy, a)
SIMGPU_FORWARD(cudaGraphDestroy, kDevice, graph_destroy, a)
SIMGPU_FORWARD(cudaGraphGetNodes, kDevice, graph_get_nodes, a, b, c)

SIMGPU_CALL(cudaGraphNodeGetType, kDevice, node, type) {
  // The two enumerations are equal, value for value.
  return driver.graph_node_get_type(node, reinterpret_cast<CUgraphNodeType*>(type));
}
