#include "graphs/capture_notes.hpp"

#include "labels/label.hpp"
#include "labels/layer_path.hpp"
#include "launch/launch.hpp"
#include "libraries/op_frame.hpp"
#include "session/armed_event.hpp"
#include "session/operator_calls.hpp"
#include "session/phases.hpp"
#include "session/state.hpp"
#include "sys/graph_api.hpp"
#include "timer/driver_scope.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace inline_prof::hook {

constinit std::atomic<int> open_captures{0};

namespace capture_notes {
namespace {

// Of all labels, for a capture that may be of a phase to come.
constinit std::atomic<bool> gates_are_open{false};

// Captured kernels beyond this get no notes: a program that captures anew in each iteration and
// never destroys a graph must not fill its memory with them.
constexpr std::size_t kMostNodes = 262'144;

struct CaptureNotebook {
  std::mutex mutex;
  std::unordered_map<CUgraph, NotesByNode> graphs;
  std::size_t nodes = 0;
};

// Never destroyed: the application may still capture during exit.
CaptureNotebook& capture_notebook() {
  static auto* const notebook = new CaptureNotebook;
  return *notebook;
}

// Labels that this thread has opened while something was captured.
struct OpenLabels {
  std::vector<std::pair<std::string, std::shared_ptr<NodeNotes>>> labels;
};

OpenLabels& open_labels() {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local OpenLabels* labels = nullptr;
  if (labels == nullptr)
    labels = new OpenLabels;  // never freed, so that a thread needs no clean-up
  return *labels;
}

std::shared_ptr<const NodeNotes> labels_of_op(libraries::OpFrame& op, CUstream stream) {
  libraries::OpPart& part = libraries::part_on(op, stream);
  if (!part.captured) {
    auto notes = std::make_shared<NodeNotes>();
    notes->layer = current_layer();
    notes->event_name = op.event_name;
    record::Op description = op.describe(op.call, stream);
    notes->is_collective = description.kind == op_kind_name(OpKind::kCollective);
    if (!description.kind.empty()) {
      notes->op = std::make_unique<record::Op>(std::move(description));
    }
    part.captured = std::move(notes);
  }
  return part.captured;
}

std::shared_ptr<const NodeNotes> notes_now(const Launch& launch) {
  // The operation of an enclosing label stands for the whole label.
  auto& labels = open_labels().labels;
  if (!labels.empty() && labels.back().second->op) return labels.back().second;
  if (libraries::OpFrame* op = libraries::outermost_op()) return labels_of_op(*op, launch.stream);
  if (!labels.empty()) return labels.back().second;
  if (auto of_call = operator_calls::notes_of_node(launch)) return of_call;
  auto notes = std::make_shared<NodeNotes>();
  notes->layer = current_layer();
  return notes->layer.empty() ? nullptr : std::shared_ptr<const NodeNotes>(std::move(notes));
}

}  // namespace

void capture_begins() noexcept {
  open_captures.fetch_add(1, std::memory_order_relaxed);
  look_at_every_launch();
  const State* run = state();
  if (run == nullptr || run->phase.load(std::memory_order_relaxed) != Phase::kMeasuring ||
      !may_look_for_phase(*run))
    return;
  gates_are_open.store(true, std::memory_order_relaxed);
  open_all_gates(true);
}

void capture_ends() noexcept {
  int count = open_captures.load(std::memory_order_relaxed);
  while (count > 0 && !open_captures.compare_exchange_weak(count, count - 1)) {
  }
  if (count > 1) return;
  look_at_armed_launches();
  if (!gates_are_open.exchange(false, std::memory_order_relaxed)) return;
  const State* run = state();
  // In a warm-up that has begun meanwhile they stay open.
  if (run == nullptr || run->phase.load(std::memory_order_relaxed) < Phase::kMeasuring) return;
  open_all_gates(false);
  open_gates_of_armed();
}

void open_label(const char* name, std::unique_ptr<record::Op> op) {
  auto notes = std::make_shared<NodeNotes>();
  notes->layer = current_layer();
  notes->event_name = name;
  notes->op = std::move(op);
  open_labels().labels.emplace_back(name, std::move(notes));
}

void close_label(const char* name) {
  auto& labels = open_labels().labels;
  const auto innermost = std::find_if(labels.rbegin(), labels.rend(),
                                      [&](const auto& label) { return label.first == name; });
  if (innermost != labels.rend()) labels.erase(std::next(innermost).base());
}

void note_captured_launch(const Launch& launch) {
  const auto get_capture = sys::graph_api().get_capture;
  auto notes = notes_now(launch);
  if (get_capture == nullptr || notes == nullptr) return;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  if (get_capture(launch.stream, &status, &id, &graph, &nodes, &count) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1) {
    return;  // the stream must depend on that launch's node alone
  }
  CaptureNotebook& all = capture_notebook();
  const std::lock_guard lock(all.mutex);
  if (all.nodes >= kMostNodes) return;
  if (all.graphs[graph].insert_or_assign(nodes[0], std::move(notes)).second) ++all.nodes;
}

void copy(CUgraph original, CUgraph clone) {
  const auto find = sys::graph_api().find_in_clone;
  CaptureNotebook& all = capture_notebook();
  const std::lock_guard lock(all.mutex);
  const auto known = all.graphs.find(original);
  if (find == nullptr || known == all.graphs.end()) return;
  NotesByNode copies;
  for (const auto& [node, notes] : known->second) {
    CUgraphNode clone_node = nullptr;
    if (find(&clone_node, node, clone) == CUDA_SUCCESS) copies.emplace(clone_node, notes);
  }
  all.nodes += copies.size();
  all.graphs.insert_or_assign(clone, std::move(copies));
}

NotesByNode of(CUgraph graph) {
  CaptureNotebook& all = capture_notebook();
  const std::lock_guard lock(all.mutex);
  const auto known = all.graphs.find(graph);
  return known == all.graphs.end() ? NotesByNode{} : known->second;
}

void forget(CUgraph graph) {
  CaptureNotebook& all = capture_notebook();
  const std::lock_guard lock(all.mutex);
  const auto known = all.graphs.find(graph);
  if (known == all.graphs.end()) return;
  all.nodes -= known->second.size();
  all.graphs.erase(known);
}

}  // namespace capture_notes
}  // namespace inline_prof::hook
