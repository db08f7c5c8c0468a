#include "graphs/capture_notes.hpp"

#include "labels/layer_path.hpp"
#include "libraries/op_frame.hpp"
#include "sys/cuda_api.hpp"
#include "sys/locked.hpp"
#include "timer/driver_scope.hpp"

#include <inline_prof/op_kind.hpp>

#include <algorithm>
#include <vector>

namespace inline_prof::graphs::capture_notes {
namespace {

// Captured kernels beyond this get no notes: a program that captures anew in each iteration and
// never destroys a graph must not fill its memory with them.
constexpr std::size_t kMostNodes = 262'144;

struct CaptureNotebook {
  std::unordered_map<CUgraph, NotesByNode> graphs;
  std::size_t nodes = 0;
};

// Labels that this thread has opened while something was captured.
using OpenLabels = std::vector<std::pair<std::string, std::shared_ptr<NodeNotes>>>;

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
    notes->layer = labels::current_layer();
    notes->event_name = op.event_name;
    record::Op description = op.describe(op.call, stream);
    notes->is_collective = description.kind == op_kind_name(OpKind::kCollective);
    if (!description.kind.empty()) notes->op = std::make_unique<record::Op>(std::move(description));
    part.captured = std::move(notes);
  }
  return part.captured;
}

std::shared_ptr<const NodeNotes> notes_now(const hook::Launch& launch, NotesOfCall notes_of_call) {
  // The operation of an enclosing label stands for the whole label.
  auto& labels = open_labels();
  if (!labels.empty() && labels.back().second->op) return labels.back().second;
  if (libraries::OpFrame* op = libraries::outermost_op()) return labels_of_op(*op, launch.stream);
  if (!labels.empty()) return labels.back().second;
  if (auto of_call = notes_of_call(launch)) return of_call;
  auto notes = std::make_shared<NodeNotes>();
  notes->layer = labels::current_layer();
  return notes->layer.empty() ? nullptr : std::shared_ptr<const NodeNotes>(std::move(notes));
}

}  // namespace

void open_label(const char* name, std::unique_ptr<record::Op> op) {
  auto notes = std::make_shared<NodeNotes>();
  notes->layer = labels::current_layer();
  notes->event_name = name;
  notes->op = std::move(op);
  open_labels().emplace_back(name, std::move(notes));
}

void close_label(const char* name) {
  auto& labels = open_labels();
  const auto innermost = std::find_if(labels.rbegin(), labels.rend(),
                                      [&](const auto& label) { return label.first == name; });
  if (innermost != labels.rend()) labels.erase(std::next(innermost).base());
}

void note_captured_launch(const hook::Launch& launch, NotesOfCall notes_of_call) {
  const auto get_capture = sys::graph_api().get_capture;
  auto notes = notes_now(launch, notes_of_call);
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
  const sys::Locked<CaptureNotebook> all;
  if (all->nodes >= kMostNodes) return;
  if (all->graphs[graph].insert_or_assign(nodes[0], std::move(notes)).second) ++all->nodes;
}

void copy(CUgraph original, CUgraph clone) {
  const auto find = sys::graph_api().find_in_clone;
  const sys::Locked<CaptureNotebook> all;
  const auto known = all->graphs.find(original);
  if (find == nullptr || known == all->graphs.end()) return;
  NotesByNode copies;
  for (const auto& [node, notes] : known->second) {
    CUgraphNode clone_node = nullptr;
    if (find(&clone_node, node, clone) == CUDA_SUCCESS) copies.emplace(clone_node, notes);
  }
  all->nodes += copies.size();
  all->graphs.insert_or_assign(clone, std::move(copies));
}

NotesByNode of(CUgraph graph) {
  const sys::Locked<CaptureNotebook> all;
  const auto known = all->graphs.find(graph);
  return known == all->graphs.end() ? NotesByNode{} : known->second;
}

void forget(CUgraph graph) {
  const sys::Locked<CaptureNotebook> all;
  const auto known = all->graphs.find(graph);
  if (known == all->graphs.end()) return;
  all->nodes -= known->second.size();
  all->graphs.erase(known);
}

}  // namespace inline_prof::graphs::capture_notes
