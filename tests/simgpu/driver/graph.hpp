// Graphs as the host builds them, and executable snapshots of them.
#pragma once

#include "driver/context.hpp"
#include "simgpu.h"

#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

namespace inline_prof::simgpu {

struct KernelWork {
  Kernel* kernel = nullptr;
  Context* context = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  simgpu_work work{0, 0};
  std::uint32_t correlation_id = 0;  // of the launch, for the observer
};

// `rows` rows of `width` bytes; a plain copy has one row.
struct CopyWork {
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t destination_pitch = 0, source_pitch = 0;
  std::size_t width = 0, rows = 1;
};

// `rows` rows of `width` elements of 1, 2 or 4 bytes.
struct FillWork {
  void* destination = nullptr;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element_bytes = 1;
  std::size_t width = 0, rows = 1;
};

struct RecordWork {
  std::shared_ptr<Event> event;
};

struct WaitWork {
  std::shared_ptr<Event> event;
};

struct EmptyWork {};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, RecordWork, WaitWork>;

struct Graph;

struct Node {
  Graph* graph = nullptr;
  Work work;
  std::vector<Node*> dependencies;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in order of creation
  std::shared_ptr<Capture> capture;          // set while a capture fills it: not destroyable

  Node& add(Work work, std::vector<Node*> dependencies);
};

// One capture sequence, from cuStreamBeginCapture to cuStreamEndCapture.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stream* origin = nullptr;
  std::thread::id owner;
  Graph* graph = nullptr;
  bool invalidated = false;
  bool ended = false;
  std::vector<Stream*> streams;  // origin first
};

// What cuGraphInstantiate makes: nodes in an order in which they can run.  Never changed, so that a
// launch that still waits in a stream keeps the version it was launched with.
struct ExecNode {
  Work work;
  std::vector<std::size_t> dependencies;  // indices into the same body
};
using ExecBody = std::vector<ExecNode>;

struct GraphExec {
  std::shared_ptr<const ExecBody> body;
  unsigned long long flags = 0;
};

}  // namespace inline_prof::simgpu
