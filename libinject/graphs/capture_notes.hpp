// Notes of a kernel from the capture of its launch into a graph: its layer, and the library call or
// label around it.  A replay launches the kernel without any of this.
#pragma once

#include "hook/launch.hpp"
#include "record/event_record.hpp"

#include <cuda.h>

#include <memory>
#include <string>
#include <unordered_map>

namespace inline_prof::graphs {

// Description of one launch of an operator's call, given when the call ends.
struct CallNotes {
  record::Op op;      // without a kind until then
  std::string layer;  // of a launch that has none by itself
};

// Shared by all launches of one library call or label.
struct NodeNotes {
  std::string layer;
  std::string event_name;  // of the library call or label; empty: the kernel's own
  std::shared_ptr<record::Op> op;
  std::shared_ptr<CallNotes> of_call;
  bool is_collective =
      false;  // NCCL waits until every graph that holds one of its launches is gone
};

using NotesByNode = std::unordered_map<CUgraphNode, std::shared_ptr<const NodeNotes>>;

namespace capture_notes {

// PROFILE_RECORD, PROFILE_OP on this thread while something is captured.
void open_label(const char* name, std::unique_ptr<record::Op> op);
void close_label(const char* name);

// The application's launch has become a node of the graph that its stream is captured into.
// `notes_of_call`: returns the notes of an operator's call, or null where none is open.
using NotesOfCall = std::shared_ptr<NodeNotes> (*)(const hook::Launch& launch);
void note_captured_launch(const hook::Launch& launch, NotesOfCall notes_of_call);

// The application has cloned `original`: the notes hold for the nodes of `clone` as well.
void copy(CUgraph original, CUgraph clone);
// The notes of all nodes of `graph`; empty if there are none.
[[nodiscard]] NotesByNode of(CUgraph graph);
void forget(CUgraph graph);

}  // namespace capture_notes
}  // namespace inline_prof::graphs
