#pragma once

#include <atomic>

namespace inline_prof::hook {

enum class Phase : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kOverheadMeasurement,  // all samples are recorded; what measuring costs is measured
  kDraining,             // all is recorded, not all is read
  kUnitTests,            // mode unit_test: no iterations, each test has its own iterations
  kDone,
};

// True from start-up until the plan is made: every launch is counted.
extern constinit std::atomic<bool> counting;

}  // namespace inline_prof::hook
