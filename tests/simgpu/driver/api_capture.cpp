// Stream capture.
#include "driver/call.hpp"

using namespace inline_prof::simgpu;

namespace {

constexpr auto kLegacy = DefaultStream::kLegacy;
constexpr auto kPerThread = DefaultStream::kPerThread;

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
  // Valid until the next call that operates on the stream, as the vendor's array is.
  if (out.dependencies != nullptr) {
    *out.dependencies = reinterpret_cast<const CUgraphNode*>(stream.capture_dependencies.data());
  }
  // No edge carries data here; the array still parallels the dependencies.
  static const CUgraphEdgeData no_data[64] = {};
  if (out.edges != nullptr) {
    if (stream.capture_dependencies.size() > std::size(no_data)) {
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};
    }
    *out.edges = no_data;
  }
  if (out.count != nullptr) *out.count = stream.capture_dependencies.size();
}

void begin(Simulator& s, Stream& stream, CUstreamCaptureMode mode) {
  require_value(mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                mode == CU_STREAM_CAPTURE_MODE_RELAXED);
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
    require_value(*mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                  *mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                  *mode == CU_STREAM_CAPTURE_MODE_RELAXED);
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
