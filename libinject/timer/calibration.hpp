// Measures what an event pair costs on this device, with nothing and with an empty kernel between
// the events.
#pragma once

#include "record/run_record.hpp"
#include "sys/cuda_api.hpp"

#include <string>
#include <vector>

namespace inline_prof::timer {

struct CalibrationResult {
  std::vector<record::Calibration> states;  // idle, busy, graph; fewer where the driver refuses
  std::string note;                         // why a state or the kernel is missing; else empty
  std::string graph_note{};                 // the same for pairs in graphs
};

// Called right after the application has created `context`, when loading a module and allocating a
// stream and 64 bytes of pinned memory cannot interfere with work in flight. Releases all of it.
// Takes 5 ms as a rule, and at most 20 ms for each of six distributions; creating a context takes
// some hundred.
//
// busy: pairs queued on a stream that is held back by cuStreamWaitValue32, at most 16 a hold,
// released on every path and after 2 ms at the latest. idle: each pair alone on an empty stream.
// graph: pairs that are nodes of a graph, replayed one by one.
[[nodiscard]] CalibrationResult calibrate(CUcontext context, int device_id) noexcept;

// Sorts `values`, in us, and returns their distribution. Percentiles are interpolated linearly
// between order statistics. All are zero if there is no value.
[[nodiscard]] record::Distribution distribution_of(std::vector<double>& values);

}  // namespace inline_prof::timer
