// Stream capture.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"

#include <algorithm>

using namespace inline_prof::simgpu;

namespace {

CUstreamCaptureStatus status_of(Simulator& s, Stream& stream) {
  s.refuse_legacy_query(stream);
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

struct CaptureInfo {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  size_t* count = nullptr;
};

void get_info(Simulator& s, Stream& stream, const CaptureInfo& out) {
  require(out.status);
  // cuda.h: "If edgeData_out is non-NULL then dependencies_out must be as well."
  require_value(out.edges == nullptr || out.dependencies != nullptr);
  *out.status = status_of(s, stream);
  if (*out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  if (out.id != nullptr) *out.id = stream.capture->id;
  if (out.graph != nullptr) *out.graph = reinterpret_cast<CUgraph>(stream.capture->graph);
  const CaptureFront& front = stream.capture_front;
  // "If dependencies_out is non-NULL and edgeData_out is NULL, but there is non-zero edge data for
  // one or more of the current stream dependencies, the call will return
  // ::CUDA_ERROR_LOSSY_QUERY."
  if (out.dependencies != nullptr && out.edges == nullptr &&
      !std::all_of(front.data.begin(), front.data.end(), is_default)) {
    throw Failure{CUDA_ERROR_LOSSY_QUERY};
  }
  // Valid until the next call that operates on the stream, as the vendor's arrays are.
  if (out.dependencies != nullptr) {
    *out.dependencies = reinterpret_cast<const CUgraphNode*>(front.nodes.data());
  }
  if (out.edges != nullptr) *out.edges = front.data.data();
  if (out.count != nullptr) *out.count = front.nodes.size();
}

void require_mode(CUstreamCaptureMode mode) {
  require_value(mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

// The nodes and edge data that a host gives as where to go on.
CaptureFront front_of(Simulator& s, const Graph& graph, const CUgraphNode* nodes,
                      const CUgraphEdgeData* data, size_t count) {
  CaptureFront front;
  for (const Edge& edge : edges_to(s, nodes, data, count)) {
    require_value(edge.from->graph == &graph);
    front.add(*edge.from, edge.data);
  }
  return front;
}

void begin_in_graph(Simulator& s, Stream& stream, CUgraph handle, const CUgraphNode* nodes,
                    const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  require_mode(mode);
  Graph& graph = s.graph(handle);
  require_value(!graph.capture);
  s.begin_capture(stream, mode, &graph, front_of(s, graph, nodes, data, count));
}

void update_dependencies(Simulator& s, Stream& stream, const CUgraphNode* nodes,
                         const CUgraphEdgeData* data, size_t count, unsigned flags) {
  require_value(flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES ||
                flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  // "Returns ::CUDA_ERROR_ILLEGAL_STATE if the stream is not capturing."
  if (!s.capturing(stream)) throw Failure{CUDA_ERROR_ILLEGAL_STATE};
  const CaptureFront given = front_of(s, *stream.capture->graph, nodes, data, count);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream.capture_front.clear();
  for (size_t i = 0; i < given.nodes.size(); ++i)
    stream.capture_front.add(*given.nodes[i], given.data[i]);
}

void begin(Simulator& s, Stream& stream, CUstreamCaptureMode mode) {
  require_mode(mode);
  s.begin_capture(stream, mode);
}

void end(Simulator& s, Stream& stream, CUgraph* graph) {
  require(graph);
  *graph = nullptr;
  *graph = reinterpret_cast<CUgraph>(s.finish_capture(stream));
}

}  // namespace

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator&) {
    require(mode);
    require_mode(*mode);
    *mode = exchange_thread_capture_mode(*mode);
  });
}

CUresult cuStreamBeginCapture(CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    begin(s, s.stream(stream, kLegacy), CU_STREAM_CAPTURE_MODE_GLOBAL);
  });
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    begin(s, s.stream(stream, kPerThread), CU_STREAM_CAPTURE_MODE_GLOBAL);
  });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { begin(s, s.stream(stream, kLegacy), mode); });
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { begin(s, s.stream(stream, kPerThread), mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { end(s, s.stream(stream, kLegacy), graph); });
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther,
                 [&](Simulator& s) { end(s, s.stream(stream, kPerThread), graph); });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(status);
    *status = status_of(s, s.stream(stream, kLegacy));
  });
}

CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(status);
    *status = status_of(s, s.stream(stream, kPerThread));
  });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(s, s.stream(stream, kLegacy), {.status = status, .id = id});
  });
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                     cuuint64_t* id) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(s, s.stream(stream, kPerThread), {.status = status, .id = id});
  });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(
        s, s.stream(stream, kLegacy),
        {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .count = count});
  });
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                        cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies, size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(
        s, s.stream(stream, kPerThread),
        {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .count = count});
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(s, s.stream(stream, kLegacy),
             {.status = status,
              .id = id,
              .graph = graph,
              .dependencies = dependencies,
              .edges = edges,
              .count = count});
  });
}

CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                        cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies,
                                        const CUgraphEdgeData** edges, size_t* count) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    get_info(s, s.stream(stream, kPerThread),
             {.status = status,
              .id = id,
              .graph = graph,
              .dependencies = dependencies,
              .edges = edges,
              .count = count});
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                     const CUgraphEdgeData* data, size_t count,
                                     CUstreamCaptureMode mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    begin_in_graph(s, s.stream(stream, kLegacy), graph, nodes, data, count, mode);
  });
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                          const CUgraphEdgeData* data, size_t count,
                                          CUstreamCaptureMode mode) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    begin_in_graph(s, s.stream(stream, kPerThread), graph, nodes, data, count, mode);
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count,
                                           unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    update_dependencies(s, s.stream(stream, kLegacy), nodes, nullptr, count, flags);
  });
}

CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode* nodes, size_t count,
                                                unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    update_dependencies(s, s.stream(stream, kPerThread), nodes, nullptr, count, flags);
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes,
                                              const CUgraphEdgeData* data, size_t count,
                                              unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    update_dependencies(s, s.stream(stream, kLegacy), nodes, data, count, flags);
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode* nodes,
                                                   const CUgraphEdgeData* data, size_t count,
                                                   unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kOther, [&](Simulator& s) {
    update_dependencies(s, s.stream(stream, kPerThread), nodes, data, count, flags);
  });
}
