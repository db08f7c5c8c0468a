// Stream capture.  Where cuda.h says only which error exists, the rule is that of the CUDA C++
// Programming Guide 13.0, "Creating a Graph Using Stream Capture": "When an invalid operation is
// attempted during stream capture, any associated capture graphs are invalidated."
#include "driver/graph_build.hpp"
#include "driver/simulator.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace simgpu {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

}  // namespace

CUstreamCaptureMode exchange_thread_capture_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

void Simulator::invalidate(Capture& capture) {
  capture.invalidated = true;
}

bool Simulator::capturing(Stream& stream) {
  if (stream.capture) {
    if (stream.capture->invalidated) throw Failure{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
    return true;
  }
  if (captures.empty() || stream.kind != StreamKind::kLegacy) return false;
  // cuda.h, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: "a disallowed implicit dependency on a current
  // capture sequence from cudaStreamLegacy".
  bool implicit = false;
  stream.context->for_each_stream([&](Stream& other) {
    if (other.is_blocking() && other.capture) {
      invalidate(*other.capture);
      implicit = true;
    }
  });
  if (implicit) throw Failure{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
  return false;
}

void Simulator::refuse_stream_query(Stream& capturing_stream) {
  invalidate(*capturing_stream.capture);
  throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

void Simulator::refuse_isolation(Stream& capturing_stream) {
  invalidate(*capturing_stream.capture);
  throw Failure{CUDA_ERROR_STREAM_CAPTURE_ISOLATION};
}

// cuda.h, cuStreamIsCapturing: on the legacy stream "while a blocking stream in the same context is
// capturing, it will return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT [...]. The blocking stream capture
// is not invalidated."
void Simulator::refuse_legacy_query(Stream& stream) {
  if (captures.empty() || stream.kind != StreamKind::kLegacy) return;
  stream.context->for_each_stream([](const Stream& other) {
    if (other.is_blocking() && other.capture) throw Failure{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
  });
}

// A kernel that may overlap with the one before it, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_-
// SERIALIZATION, is captured with programmatic edges (CUDA C++ Programming Guide 13.0,
// "Programmatic Dependent Launch", "Use in CUDA Graphs").
CUgraphEdgeData Simulator::captured_edge(const Node& from, const CUgraphEdgeData& asked,
                                         const Work& to) {
  const auto* kernel = std::get_if<KernelWork>(&to);
  if (kernel == nullptr || !std::holds_alternative<KernelWork>(from.work)) return asked;
  const auto at = kernel->attributes.find(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  const bool overlaps =
      at != kernel->attributes.end() && at->second.programmaticStreamSerializationAllowed != 0;
  if (!overlaps || !is_default(asked)) return asked;
  CUgraphEdgeData programmatic{};
  programmatic.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  programmatic.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return programmatic;
}

std::vector<Edge> Simulator::captured_edges(const Stream& stream, const Work& to) const {
  const CaptureFront& front = stream.capture_front;
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < front.nodes.size(); ++i)
    edges.push_back({front.nodes[i], captured_edge(*front.nodes[i], front.data[i], to)});
  return edges;
}

Node& Simulator::capture_node(Stream& stream, Work work) {
  std::vector<Edge> edges = captured_edges(stream, work);
  Node& node = add_node(*this, *stream.capture->graph, std::move(work), std::move(edges));
  stream.capture_front.set(node);
  return node;
}

// cuda.h, cuThreadExchangeStreamCaptureMode: which captures forbid "potentially unsafe" calls to a
// thread, by the mode of the thread.
void Simulator::refuse_if_unsafe() {
  if (captures.empty() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  const auto self = std::this_thread::get_id();
  bool refused = false;
  for (const auto& capture : captures) {
    const bool mine = capture->owner == self && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool global = thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->owner != self &&
                        capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (mine || global) {
      invalidate(*capture);
      refused = true;
    }
  }
  if (refused) throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

void Simulator::refuse_if_captured(const Event& event) {
  if (!event.capture) return;
  invalidate(*event.capture);
  throw Failure{CUDA_ERROR_CAPTURED_EVENT};
}

// Programming Guide, "Prohibited and Unhandled Operations": "It is also invalid to query or
// synchronize the execution status of a broader handle which encompasses active stream capture,
// such as a device or context handle when any associated stream is in capture mode."
void Simulator::refuse_if_context_captures(const Context& context) {
  bool refused = false;
  for (const auto& capture : captures) {
    for (const Stream* stream : capture->streams) {
      if (stream->context == &context) {
        invalidate(*capture);
        refused = true;
      }
    }
  }
  if (refused) throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

void Simulator::end_capture(Capture& capture, bool keep_graph) {
  for (Stream* stream : capture.streams) {
    stream->capture = nullptr;
    stream->capture_front.clear();
  }
  capture.ended = true;
  capture.graph->capture = nullptr;
  if (!keep_graph) {
    if (!capture.fills_given_graph) destroy_graph(*this, *capture.graph);
    capture.graph = nullptr;
  }
  std::erase_if(captures, [&](const auto& active) { return active.get() == &capture; });
}

void Simulator::begin_capture(Stream& stream, CUstreamCaptureMode mode, Graph* graph,
                              CaptureFront front) {
  // cuda.h, cuStreamBeginCapture: "Capture may not be initiated if stream is CU_STREAM_LEGACY [...]
  // it may only be initiated if the stream is not already in capture mode."
  if (stream.kind == StreamKind::kLegacy) throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  if (stream.capture) throw Failure{CUDA_ERROR_ILLEGAL_STATE};
  auto capture = std::make_shared<Capture>();
  capture->id = next_id++;
  capture->mode = mode;
  capture->origin = &stream;
  capture->owner = std::this_thread::get_id();
  capture->fills_given_graph = graph != nullptr;
  capture->graph = graph != nullptr ? graph : &create_graph(*this);
  capture->graph->capture = capture;
  capture->streams.push_back(&stream);
  captures.push_back(capture);
  stream.capture = std::move(capture);
  stream.capture_front = std::move(front);
}

// A capturing stream records: the event stands for what the stream holds.  A stream that waits for
// such an event joins the capture.
void Simulator::capture_record(Stream& stream, Event& event) {
  event.record = nullptr;
  event.capture = stream.capture;
  event.captured = stream.capture_front;
}

void Simulator::capture_wait(Stream& stream, const Event& event) {
  if (event.capture->ended) throw Failure{CUDA_ERROR_CAPTURED_EVENT};
  if (event.capture->invalidated) throw Failure{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  if (stream.capture && stream.capture != event.capture) {
    invalidate(*stream.capture);
    invalidate(*event.capture);
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_MERGE};
  }
  if (!stream.capture) {
    if (stream.kind == StreamKind::kLegacy) {
      invalidate(*event.capture);
      throw Failure{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
    }
    stream.capture = event.capture;
    stream.capture->streams.push_back(&stream);
  }
  for (std::size_t i = 0; i < event.captured.nodes.size(); ++i)
    stream.capture_front.add(*event.captured.nodes[i], event.captured.data[i]);
}

Graph* Simulator::finish_capture(Stream& stream) {
  if (!stream.capture) throw Failure{CUDA_ERROR_ILLEGAL_STATE};
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != &stream) throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED};
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->owner != std::this_thread::get_id()) {
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD};
  }
  if (capture->invalidated) {
    end_capture(*capture, false);
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  }

  // cuda.h, CUDA_ERROR_STREAM_CAPTURE_UNJOINED: "a fork that was not joined to the primary stream":
  // what another stream ends with must be reachable from what the origin ends with.
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open(stream.capture_front.nodes.begin(),
                                stream.capture_front.nodes.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    for (const Edge& edge : node->dependencies)
      open.push_back(edge.from);
  }
  for (const Stream* other : capture->streams) {
    for (const Node* node : other->capture_front.nodes) {
      if (!reached.contains(node)) {
        end_capture(*capture, false);
        throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNJOINED};
      }
    }
  }
  Graph* graph = capture->graph;
  end_capture(*capture, true);
  return graph;
}

}  // namespace simgpu
