#pragma once

namespace inline_prof::session {

// How far the run is.
enum class RunState : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kOverheadMeasurement,  // all samples are recorded; what measuring costs is measured
  kDraining,             // all is recorded, not all is read
  kUnitTests,            // mode unit_test: no iterations, each test has its own iterations
  kDone,
};

}  // namespace inline_prof::session
