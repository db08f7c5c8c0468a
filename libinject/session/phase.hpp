#pragma once

namespace inline_prof::hook {

enum class Phase : int {
  kBeforeIterations,   // launches are counted, no iteration has begun
  kWithoutIterations,  // none will: launches of every kernel are sampled in turn
  kDiscovering,        // warm-up
  kMeasuring,
  kOverheadMeasurement,  // all samples are recorded; what measuring costs is measured
  kDraining,             // all is recorded, not all is read
  kUnitTests,            // mode unit_test: no iterations, each test runs its own course
  kDone,
};

}  // namespace inline_prof::hook
