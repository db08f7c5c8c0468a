// What was said of a kernel while its launch was captured into a graph: its layer, and the vendor
// call or the label around it.  A replay launches the kernel again and says nothing.
#pragma once

#include "record/event_record.hpp"

#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

namespace inline_prof::hook {

struct Launch;

// One for all launches of one vendor call, or of one label.
struct NodeNotes {
  std::string layer;
  std::string event_name;  // of the vendor call or the label; empty: the kernel's own
  std::unique_ptr<record::Op> op;
  bool is_collective =
      false;  // NCCL waits until every graph that holds one of its launches is gone
};

using NotesByNode = std::unordered_map<CUgraphNode, std::shared_ptr<const NodeNotes>>;

// Captures of the application's that are under way.  While there is one every launch is looked at.
extern constinit std::atomic<int> open_captures;

namespace capture_notes {

void capture_begins() noexcept;
void capture_ends() noexcept;

// PROFILE_RECORD, PROFILE_OP on this thread while something is captured.
void open_label(const char* name, std::unique_ptr<record::Op> op);
void close_label(const char* name);

// The application's launch became a node of the graph that its stream is captured into.
void note_captured_launch(const Launch& launch);

// The application made `clone` of `original`: its nodes mean the same.
void copy(CUgraph original, CUgraph clone);
// Of all nodes of `graph`; empty where nothing is known.
[[nodiscard]] NotesByNode of(CUgraph graph);
void forget(CUgraph graph);

}  // namespace capture_notes
}  // namespace inline_prof::hook
