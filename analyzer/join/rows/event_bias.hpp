// The bias: the time that an event pair adds to what it encloses, and how much of it is taken off.
#pragma once

#include "join/rows/row.hpp"
#include "read/profile.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::join {

// --event-bias auto | chain | US | off
struct BiasSetting {
  enum class Kind { kAuto, kChain, kGiven, kOff };
  Kind kind = Kind::kAuto;
  double given_us = 0.0;
};

// Returns what a pair takes beyond what its kernel adds to a chain of kernels: medians of the pair
// around an empty kernel, less what each further kernel adds.  Empty if a chain was not measured,
// or makes no sense.
[[nodiscard]] std::optional<double> chain_bias_us(const read::Calibration& calibration);

// The bias of one file's samples.
class EventBias {
 public:
  // auto: the file's pairs around nothing, else from closure; with neither nothing is taken off,
  // and source() says so.  chain: as chain_bias_us() has it, for a state without a chain its pair
  // around nothing; a file without any chain is read as by auto, with a warning.  `rows` are those
  // of profile.events, one each, nested.
  EventBias(const BiasSetting& setting, const read::Profile& profile, const std::vector<Row>& rows);

  // To be taken off sample number `sample` of `event`.  From a calibration it is the pair's bias in
  // the sample's state on its device: graph for a node of a CUDA graph, else busy if the
  // sample is tight or if that is not known, else idle.  A state that was not calibrated falls back
  // to busy, then idle; a device that was not calibrated to the median over those that were.
  [[nodiscard]] double of_sample_us(const read::Event& event, std::size_t sample) const;
  // The same if it is one for all samples of `event`, of which there is one at least.
  [[nodiscard]] std::optional<double> of_all_samples_us(const read::Event& event) const;

  // One of calibration, chain, closure, given, off, none.
  [[nodiscard]] const std::string& source() const { return source_; }
  // Words about it for a person; may be empty.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  using ByState = std::array<std::optional<double>, 3>;  // indexed by read::PairState

  void use_calibration(const read::Profile& profile, bool against_chain);
  void warn_of_no_chain(const read::Profile& profile);
  void use_nested_regions(const read::Profile& profile, const std::vector<Row>& rows);

  double constant_us_ = 0.0;
  std::map<std::int64_t, ByState> by_device_;
  ByState elsewhere_;  // median over the calibrated devices
  std::string source_;
  std::string detail_;
  std::vector<std::string> warnings_;
};

// The time that an event pair adds, found from regions that were timed together with what they
// enclose.
struct NestedRegions {
  double bias_us = 0.0;
  std::size_t regions = 0;  // that it is the median of
};

// A region of n >= 2 timed children that follow each other without gaps takes T + b where they take
// T + n b together, b being what a pair adds.  So each region gives
//
//   b = (sum of its children - region) / (n - 1)
//
// on medians over the samples; the result is the median over all regions (layers, devices, forward
// and backward).  Gaps between children make it smaller, so it is a lower bound: b less the mean
// gap. Regions whose children do not cover them, which shows in a sum below the region, are left
// out.
//
// `rows` are those of `events`, one each, nested.  Empty without such a region.
[[nodiscard]] std::optional<NestedRegions> nested_region_bias(std::span<const read::Event> events,
                                                              const std::vector<Row>& rows);

}  // namespace inline_prof::join
