// Streams, events, capture, graphs: what the driver has under the same name.
#include "runtime/call.hpp"

using namespace inline_prof::simgpu;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_create(stream, CU_STREAM_DEFAULT);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_create(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_create_with_priority(stream, flags, priority);
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_destroy(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_query(stream); });
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_query_ptsz(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_synchronize(stream); });
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_synchronize_ptsz(stream);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_wait_event(stream, event, flags);
  });
}

cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_wait_event_ptsz(stream, event, flags);
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_priority(stream, priority);
  });
}

cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_priority_ptsz(stream, priority);
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_flags(stream, flags);
  });
}

cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned int* flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_flags_ptsz(stream, flags);
  });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_get_id(stream, id); });
}

cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.stream_get_id_ptsz(stream, id); });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_device(stream, device);
  });
}

cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_get_device_ptsz(stream, device);
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_begin_capture(stream, static_cast<CUstreamCaptureMode>(mode));
  });
}

cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_begin_capture_ptsz(stream, static_cast<CUstreamCaptureMode>(mode));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_end_capture(stream, graph);
  });
}

cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.stream_end_capture_ptsz(stream, graph);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // The two enumerations are equal, value for value.
    return driver.stream_is_capturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
  });
}

cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // The two enumerations are equal, value for value.
    return driver.stream_is_capturing_ptsz(stream,
                                           reinterpret_cast<CUstreamCaptureStatus*>(status));
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    cuuint64_t capture_id = 0;
    const CUresult result = driver.stream_get_capture_info(
        stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &capture_id, graph, dependencies,
        reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    if (result == CUDA_SUCCESS && id != nullptr) *id = capture_id;
    return result;
  });
}

cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                          unsigned long long* id, cudaGraph_t* graph,
                                          const cudaGraphNode_t** dependencies,
                                          const cudaGraphEdgeData** edges, size_t* count) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    cuuint64_t capture_id = 0;
    const CUresult result = driver.stream_get_capture_info_ptsz(
        stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &capture_id, graph, dependencies,
        reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    if (result == CUDA_SUCCESS && id != nullptr) *id = capture_id;
    return result;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDriver, [&](const DriverFunctions& driver) {
    return driver.thread_exchange_stream_capture_mode(reinterpret_cast<CUstreamCaptureMode*>(mode));
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.event_create(event, CU_EVENT_DEFAULT);
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.event_create(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.event_record(event, stream); });
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.event_record_ptsz(event, stream);
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.event_record_with_flags(event, stream, flags);
  });
}

cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                          unsigned int flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.event_record_with_flags_ptsz(event, stream, flags);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.event_query(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.event_synchronize(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.event_destroy(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // Drivers before 12.8 have the first one alone.
    return driver.event_elapsed_time != nullptr
               ? driver.event_elapsed_time(milliseconds, start, end)
               : driver.event_elapsed_time_v1(milliseconds, start, end);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.graph_instantiate_with_flags(exec, graph, flags);
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.graph_instantiate_with_flags(exec, graph, flags);
  });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
    return driver.graph_instantiate_with_params(
        exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
  });
}

cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                cudaGraphInstantiateParams* parameters) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
    return driver.graph_instantiate_with_params_ptsz(
        exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.graph_upload(exec, stream); });
}

cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.graph_upload_ptsz(exec, stream);
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.graph_launch(exec, stream); });
}

cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.graph_launch_ptsz(exec, stream);
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
    return driver.graph_exec_update(exec, graph,
                                    reinterpret_cast<CUgraphExecUpdateResultInfo*>(info));
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    cuuint64_t value = 0;
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = driver.graph_exec_get_flags(exec, &value);
    *flags = value;
    return result;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.graph_exec_destroy(exec); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice,
              [&](const DriverFunctions& driver) { return driver.graph_destroy(graph); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    return driver.graph_get_nodes(graph, nodes, count);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  static const RuntimeEntry entry{__func__};
  return call(entry, Needs::kDevice, [&](const DriverFunctions& driver) {
    // The two enumerations are equal, value for value.
    return driver.graph_node_get_type(node, reinterpret_cast<CUgraphNodeType*>(type));
  });
}

}  // extern "C"
