// The events of a trace that torch.profiler (Kineto) writes in Chrome's JSON form, before operators
// are linked with the kernels that they launch.
#pragma once

#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace inline_prof::read::torch_trace {

// Each name once: a trace repeats a kernel's name of 300 characters for each of its launches.
class Names {
 public:
  std::uint32_t id_of(std::string_view name);
  [[nodiscard]] const std::string& text(std::uint32_t id) const { return *texts_[id]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<const std::string*> texts_;
};

enum class HostKind : std::uint8_t { kOperator, kAnnotation, kModule };

// A part of the host's time: an operator, an annotation, or the call of a module.
struct HostEvent {
  double start_us = 0;
  double end_us = 0;
  HostKind kind = HostKind::kOperator;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::int64_t sequence = -1;       // autograd's number of the operator's node; -1 if it has none
  std::int64_t forward_thread = 0;  // of the forward pass; 0 for an operator that is part of it
  std::int64_t external_id = -1;    // by which newer traces name the operator of a kernel
  std::string_view args;            // as written, inside the trace's text; empty if it has none
};

// A call of the runtime or the driver.
struct HostCall {
  double start_us = 0;
  double end_us = 0;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
};

enum class WorkKind : std::uint8_t { kKernel, kCopy, kFill };

// A kernel, a copy or a fill.
struct GpuWork {
  double start_us = 0;
  double duration_us = 0;
  WorkKind kind = WorkKind::kKernel;
  std::uint32_t name = 0;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t correlation = -1;  // equal for a launch and what it started
  std::int64_t external_id = -1;  // of the operator, in older traces a copy of `correlation`
  std::int64_t bytes = 0;         // of a copy or fill
  std::string_view args;
};

// An arrow from an operator to the one that computes its gradient.
struct BackwardFlow {
  std::uint32_t forward_thread = 0;
  std::uint32_t backward_thread = 0;
  double forward_us = -1;
  double backward_us = -1;
};

struct TraceEvents {
  std::string text;  // everything that is called `args` lies in it
  Names names;
  std::vector<HostEvent> host;                       // by thread, then start, the longer one first
  std::unordered_map<std::int64_t, HostCall> calls;  // by correlation
  std::vector<GpuWork> works;                        // by start
  std::vector<BackwardFlow> flows;
  std::vector<Device> devices;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  bool is_amd = false;
  bool is_whole = true;  // false: cut off or damaged
  std::vector<std::string> warnings;
};

// Throws InputError: the text is no trace.  Of a trace that is cut off the whole events are read,
// and a warning says so.  `label` is what messages call the file.
[[nodiscard]] TraceEvents parse_events(std::string text, const std::string& label);

// Tells where in the program a piece of GPU work comes from: the operator that launched it, and the
// layer.

struct Place {
  std::int32_t operation = -1;   // index into TraceEvents::host of the innermost operator; -1: none
  std::int32_t annotation = -1;  // the innermost annotation around it, as of a collective
  std::uint32_t layer = 0;       // in Places::layers
  double launched_us = -1;       // by the host's clock; -1: the trace has no record of the launch
  Tight tight = Tight::kUnknown;  // kYes: the stream still had other work when this was launched
  // From when the launching thread had last waited for the GPU; NaN: it has not.
  double after_wait_us = std::numeric_limits<double>::quiet_NaN();
};

struct Places {
  Names layers;
  std::vector<Place> of_work;  // one for each of TraceEvents::works
  bool has_modules = false;
};

// Layers are paths of modules ("Model_0/Block_3/Linear_7"), else of annotations, else the outermost
// operator.  The backward pass of a layer has the layer's path and ".backward".
[[nodiscard]] Places find_places(const TraceEvents& trace);

// The number in the annotation of one step of torch.profiler's schedule; nothing for other names.
[[nodiscard]] std::optional<std::int64_t> profiler_step(std::string_view name);
[[nodiscard]] bool is_of_collective(std::string_view name);

// Sizes of the matrix products inside compiled functions (AOTAutograd), whose operator has the
// sizes of all weights together, but none for each kernel.

// Returns the products by their index in TraceEvents::works.  A product's tiles and grid tell two
// of its sides, to within a tile, and its name whether it is a linear layer's result (tn), the
// gradient of its input (nn) or that of its weights (nt); the weights that fit tell the third.
// Where several fit, the order decides: layers run in the order of the arguments, the backward pass
// in the reverse one.  Where it does not, and products of those that fit would differ by more than
// a factor of two, the kernel is left out.
[[nodiscard]] std::unordered_map<std::size_t, Op> compiled_products(const TraceEvents& trace,
                                                                    const Places& places);

}  // namespace inline_prof::read::torch_trace
