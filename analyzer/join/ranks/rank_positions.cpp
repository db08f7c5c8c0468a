#include "join/ranks/ranks.hpp"
#include "join/rows/row.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>

namespace inline_prof::join {
namespace {

constexpr std::string_view kDigits = "0123456789";

// "r03-n12" -> "r03"; empty where only one number is in the name.
std::string rack_of(const std::string& host) {
  const std::string name = host.substr(0, host.find('.'));  // without the domain
  const auto last = name.find_last_of(kDigits);
  if (last == std::string::npos) return {};
  const auto before = name.find_last_not_of(kDigits, last);
  if (before == std::string::npos) return {};
  const auto end = name.find_last_of(kDigits, before);
  return end == std::string::npos ? std::string() : name.substr(0, end + 1);
}

// Adds the dimension if it can tell something.  An empty value: not known, which spoils all.
template <typename ValueOf>
void add_dimension(std::string name, const std::vector<DevicePlace>& places,
                   const ValueOf& value_of, std::vector<Dimension>& dimensions) {
  Dimension dimension{.name = std::move(name), .values = {}, .of_device = {}};
  std::map<std::string, std::size_t> index_of;
  for (const DevicePlace& place : places) {
    const std::string value = value_of(place);
    if (value.empty()) return;
    const auto [it, is_new] = index_of.try_emplace(value, dimension.values.size());
    if (is_new) dimension.values.push_back(value);
    dimension.of_device.push_back(it->second);
  }
  const std::size_t positions = dimension.values.size();
  if (positions < 2 || positions == places.size()) return;
  dimensions.push_back(std::move(dimension));
}

constexpr std::size_t kRest = 0;  // the group of devices at no common position

class OutlierSearch {
 public:
  OutlierSearch(std::span<const double> values, std::span<const std::size_t> devices,
                std::span<const Dimension> dimensions, double least_ratio)
      : values_(values),
        devices_(devices),
        dimensions_(dimensions),
        least_ratio_(least_ratio),
        group_of_(values.size(), kRest),
        is_slow_(values.size()) {}

  Outliers find() {
    Outliers result;
    double of_rest = judge(members(kRest));
    for (const Evidence evidence : {Evidence::kMost, Evidence::kSome}) {
      while (split_off(result.common, evidence)) {
        // Without those that are slow together the rest has another median and a smaller spread.
        of_rest = judge(members(kRest));
      }
    }
    std::vector<std::vector<std::size_t>> groups(result.common.size() + 1);
    for (std::size_t i = 0; i < values_.size(); ++i)
      groups[group_of_[i]].push_back(i);
    std::vector<double> medians{of_rest};
    for (std::size_t i = 0; i < result.common.size(); ++i) {
      medians.push_back(judge(groups[i + 1]));
      result.common[i].time = medians.back();
      result.common[i].median = of_rest;
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_slow_[i]) result.single.push_back({i, medians[group_of_[i]]});
    }
    return result;
  }

 private:
  // Shows that a position has something in common: most of its devices stand out, or some do that
  // would not do so among themselves.
  enum class Evidence { kMost, kSome };

  [[nodiscard]] std::vector<std::size_t> members(std::size_t group) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (group_of_[i] == group) result.push_back(i);
    }
    return result;
  }

  // A value of a group stands out in it if it is above this.
  struct Bar {
    double median = 0.0;
    double above = std::numeric_limits<double>::infinity();
  };
  [[nodiscard]] Bar bar_of(const std::vector<std::size_t>& group) const {
    std::vector<double> own;
    own.reserve(group.size());
    for (const std::size_t i : group)
      own.push_back(values_[i]);
    const auto spread = median_spread(own);
    Bar bar;
    bar.median = median(std::move(own));
    if (spread)
      bar.above = std::max(bar.median * least_ratio_, bar.median + kOutlierMads * spread->mad);
    return bar;
  }

  // Marks those that stand out among `group`, and returns its median.
  double judge(const std::vector<std::size_t>& group) {
    const Bar bar = bar_of(group);
    has_slow_ = false;
    for (const std::size_t i : group) {
      is_slow_[i] = values_[i] > bar.above;
      has_slow_ = has_slow_ || is_slow_[i];
    }
    return bar.median;
  }

  [[nodiscard]] std::size_t count_slow(const std::vector<std::size_t>& group, double above) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        group, [&](std::size_t i) { return is_slow_[i] && values_[i] > above; }));
  }

  static bool is_part(std::size_t some, double part, std::size_t all) {
    return static_cast<double>(some) >= part * static_cast<double>(all);
  }

  // The positions of a dimension at which devices of the rest are slow in common.
  [[nodiscard]] std::vector<CommonOutlier> common_in(std::size_t number, Evidence evidence) const {
    const Dimension& dimension = dimensions_[number];
    std::vector<std::vector<std::size_t>> all(dimension.values.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (group_of_[i] == kRest) all[dimension.of_device[devices_[i]]].push_back(i);
    }
    std::vector<CommonOutlier> result;
    for (std::size_t value = 0; value < all.size(); ++value) {
      CommonOutlier common;
      common.devices = all[value].size();
      common.slow_devices = count_slow(all[value], 0.0);
      if (common.slow_devices < 2) continue;
      if (evidence == Evidence::kMost) {
        if (!is_part(common.slow_devices, kMostAtPosition, common.devices)) continue;
      } else {
        // Devices that stand out at their position, too, are slow by themselves.
        const std::size_t alone = count_slow(all[value], bar_of(all[value]).above);
        if (!is_part(common.slow_devices, kSomeAtPosition, common.devices) ||
            !is_part(common.slow_devices - alone, kMostAtPosition, common.slow_devices))
          continue;
      }
      common.dimension = number;
      common.value = value;
      result.push_back(common);
    }
    return result;
  }

  // False where nothing in common is left.
  bool split_off(std::vector<CommonOutlier>& found, Evidence evidence) {
    if (!has_slow_) return false;
    std::vector<CommonOutlier> best;
    std::size_t explained_by_best = 0;
    for (std::size_t number = 0; number < dimensions_.size(); ++number) {
      std::vector<CommonOutlier> common = common_in(number, evidence);
      std::size_t explained = 0;
      for (const CommonOutlier& one : common)
        explained += one.slow_devices;
      if (explained > explained_by_best ||
          (explained == explained_by_best && common.size() < best.size())) {
        explained_by_best = explained;
        best = std::move(common);
      }
    }
    if (best.empty()) return false;
    const Dimension& dimension = dimensions_[best.front().dimension];
    std::vector<std::size_t> group_of_value(dimension.values.size(), kRest);
    for (const CommonOutlier& common : best) {
      found.push_back(common);
      group_of_value[common.value] = found.size();
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (group_of_[i] == kRest) group_of_[i] = group_of_value[dimension.of_device[devices_[i]]];
    }
    return true;
  }

  std::span<const double> values_;
  std::span<const std::size_t> devices_;
  std::span<const Dimension> dimensions_;
  double least_ratio_;
  std::vector<std::size_t> group_of_;
  std::vector<bool> is_slow_;
  bool has_slow_ = false;
};

}  // namespace

RankLayout parse_rank_layout(const std::string& text) {
  RankLayout layout;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto equals = part.find('=');
    const auto size = equals == std::string_view::npos
                          ? std::nullopt
                          : read::number_of<std::int64_t>(part.substr(equals + 1));
    if (equals == 0 || !size || *size < 1 || *size > 1'000'000)
      throw std::invalid_argument(
          fmt::format("\"{}\": expected NAME=SIZE with a size of 1 to 1000000", part));
    const std::string name(part.substr(0, equals));
    if (std::ranges::find(layout, name, &RankLayout::value_type::first) != layout.end())
      throw std::invalid_argument(fmt::format("\"{}\" is there twice", name));
    layout.emplace_back(name, *size);
  }
  if (layout.empty() || text.ends_with(','))
    throw std::invalid_argument(
        fmt::format("\"{}\": expected NAME=SIZE,..., the axis that varies fastest first, such as "
                    "tp=8,pp=4,dp=2",
                    text));
  return layout;
}

std::vector<Dimension> dimensions_of(const std::vector<DevicePlace>& places,
                                     const RankLayout& layout) {
  std::vector<Dimension> result;
  add_dimension(
      "local device", places,
      [](const DevicePlace& place) { return fmt::to_string(place.local_device); }, result);
  std::int64_t stride = 1;
  for (const auto& [name, size] : layout) {
    const auto index = [stride, size = size](const DevicePlace& place) {
      return place.rank ? fmt::to_string(*place.rank / stride % size) : std::string();
    };
    add_dimension(name, places, index, result);
    stride *= size;
  }
  add_dimension(
      "host", places, [](const DevicePlace& place) { return place.host; }, result);
  add_dimension(
      "rack", places, [](const DevicePlace& place) { return rack_of(place.host); }, result);
  return result;
}

Outliers find_outliers(std::span<const double> values, std::span<const std::size_t> devices,
                       std::span<const Dimension> dimensions, double least_ratio) {
  return OutlierSearch(values, devices, dimensions, least_ratio).find();
}

}  // namespace inline_prof::join
