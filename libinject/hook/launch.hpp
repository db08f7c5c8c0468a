// One launch of the application, and what the session makes of it.
#pragma once

#include "timer/context_timer.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace inline_prof::launch {
struct Copy;
}
namespace inline_prof::graphs {
struct ExecutableGraph;
}

namespace inline_prof::hook {

struct Launch {
  const char* api;
  CUfunction function;  // for a graph launch or a copy: a key that stands for it
  CUstream stream;      // never null: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD instead
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> cluster{};
  unsigned dynamic_shared_bytes = 0;
  graphs::ExecutableGraph* graph = nullptr;  // null for a kernel launch
  bool may_overlap = false;            // with the kernel before it (programmatic dependent launch)
  const launch::Copy* copy = nullptr;  // null for a launch
};

// Whether a pair was opened for what is armed in this iteration: such a pair does not outlive it.
enum class PairOf : bool { kAnyLaunch, kArmedEvent };

struct LaunchTicket {
  enum class Kind { kNothing, kMeet, kMeasured, kReplay };
  Kind kind = Kind::kNothing;
  PairOf pair_of = PairOf::kAnyLaunch;
  bool is_captured = false;  // the launch becomes a node of a graph
  timer::ContextTimer::Pair* pair = nullptr;
  CUgraphExec clone = nullptr;  // launched in place of the application's exec
  // The count that includes the launch; taken back if the driver refuses it.
  std::atomic<std::uint32_t>* counted = nullptr;

  [[nodiscard]] bool has_end() const noexcept { return kind != Kind::kNothing || is_captured; }
};

}  // namespace inline_prof::hook
