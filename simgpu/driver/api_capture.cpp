// Stream capture.
#include "driver/call.hpp"
#include "driver/graph_build.hpp"

#include <algorithm>

using namespace simgpu;

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
      !std::ranges::all_of(front.data, is_default)) {
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

SIMGPU_CALL(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode_v10010, kNone,
            mode) {
  require(mode);
  require_mode(*mode);
  *mode = exchange_thread_capture_mode(*mode);
}

SIMGPU_STREAM_CALL(cuStreamBeginCapture, cuStreamBeginCapture_v10000, kOther, stream) {
  begin(s, s.stream(stream, which), CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SIMGPU_STREAM_CALL(cuStreamBeginCapture_v2, cuStreamBeginCapture_v10010, kOther, stream, mode) {
  begin(s, s.stream(stream, which), mode);
}

SIMGPU_STREAM_CALL(cuStreamEndCapture, cuStreamEndCapture_v10000, kOther, stream, graph) {
  end(s, s.stream(stream, which), graph);
}

SIMGPU_STREAM_GET(cuStreamIsCapturing, cuStreamIsCapturing_v10000, kNone,
                  status_of(s, s.stream(stream, which)))

SIMGPU_STREAM_CALL(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v10010, kNone, stream, status,
                   id) {
  get_info(s, s.stream(stream, which), {.status = status, .id = id});
}

SIMGPU_STREAM_CALL(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v11030, kNone, stream, status,
                   id, graph, dependencies, count) {
  get_info(
      s, s.stream(stream, which),
      {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .count = count});
}

SIMGPU_STREAM_CALL(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v12030, kNone, stream, status,
                   id, graph, dependencies, edges, count) {
  get_info(s, s.stream(stream, which),
           {.status = status,
            .id = id,
            .graph = graph,
            .dependencies = dependencies,
            .edges = edges,
            .count = count});
}

SIMGPU_STREAM_CALL(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_v12030, kOther, stream,
                   graph, nodes, data, count, mode) {
  begin_in_graph(s, s.stream(stream, which), graph, nodes, data, count, mode);
}

SIMGPU_STREAM_CALL(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v11030,
                   kOther, stream, nodes, count, flags) {
  update_dependencies(s, s.stream(stream, which), nodes, nullptr, count, flags);
}

SIMGPU_STREAM_CALL(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v12030,
                   kOther, stream, nodes, data, count, flags) {
  update_dependencies(s, s.stream(stream, which), nodes, data, count, flags);
}
