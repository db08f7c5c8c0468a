// The positions of a run's devices, and what those at one position have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::join {

// How ranks are numbered: the axis that varies fastest first, as in tp=8, pp=4, dp=2.
using RankLayout = std::vector<std::pair<std::string, std::int64_t>>;

// "tp=8,pp=4,dp=2".  Throws std::invalid_argument with what was found and expected.
[[nodiscard]] RankLayout parse_rank_layout(const std::string& text);

// A device's place, as far as it is known.
struct DevicePlace {
  std::string host;
  std::optional<std::int64_t> rank;
  std::int64_t local_device = 0;  // of its host
};

// One way to group devices: by local device, host, rack or an axis of the layout.
struct Dimension {
  std::string name;
  std::vector<std::string> values;
  std::vector<std::size_t> of_device;  // index into `values`
};

// The dimensions in which `places` differ and in which some position has two devices at least; all
// others can tell nothing.  Racks only where host names have two numbers, as in r03-n12.
[[nodiscard]] std::vector<Dimension> dimensions_of(const std::vector<DevicePlace>& places,
                                                   const RankLayout& layout);

// Devices at one position that stand out together.
struct CommonOutlier {
  std::size_t dimension = 0;
  std::size_t value = 0;
  std::size_t devices = 0;
  std::size_t slow_devices = 0;  // of them
  double time = 0.0;             // median at the position
  double median = 0.0;           // of the devices at no such position
};

// A device that stands out from those it is compared with: the devices at its position where they
// have something in common, else all others.
struct SingleOutlier {
  std::size_t index = 0;
  double median = 0.0;
};

struct Outliers {
  std::vector<CommonOutlier> common;
  std::vector<SingleOutlier> single;
};

// A value stands out if it is further above the median than kOutlierMads times the median deviation
// (base/median.hpp), and by `least_ratio` at least.  Where kMostAtPosition of a position's devices
// do, with two at least, they have it in common; so do kSomeAtPosition of them, where most of these
// would not stand out among the devices at their position: all of it is slower, and the bar lies
// between its devices.  The dimension that explains most devices with fewest positions goes first.
// `devices[i]` is the device of `values[i]`.
inline constexpr double kMostAtPosition = 0.75;
inline constexpr double kSomeAtPosition = 0.1;
[[nodiscard]] Outliers find_outliers(std::span<const double> values,
                                     std::span<const std::size_t> devices,
                                     std::span<const Dimension> dimensions, double least_ratio);

}  // namespace inline_prof::join
