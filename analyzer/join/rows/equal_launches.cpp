#include "join/rows/equal_launches.hpp"

#include "join/rows/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

namespace inline_prof::join {
namespace {

constexpr double kLeastFreedom = 8;    // degrees of it: a variance is known within a factor of two
constexpr double kLeastSigma = 0.005;  // clocks differ by that much between runs
constexpr double k95 = 1.96;           // standard deviations of a normal distribution

struct Variance {
  double squares = 0;
  double freedom = 0;

  void add(const std::vector<double>& logarithms) {
    double mean = 0;
    for (const double each : logarithms)
      mean += each / static_cast<double>(logarithms.size());
    for (const double each : logarithms)
      squares += (each - mean) * (each - mean);
    freedom += static_cast<double>(logarithms.size()) - 1;
  }
  [[nodiscard]] std::optional<double> sigma() const {
    if (freedom < kLeastFreedom) return std::nullopt;
    return std::max(std::sqrt(squares / freedom), kLeastSigma);
  }
};

// Copies through the host and collectives wait for others.
bool waits_for_nobody(const read::Event& event) {
  return !event.kernel_name.empty() && !is_collective(event);
}

}  // namespace

void set_intervals_of_few_samples(std::vector<Row>& rows, const std::vector<read::Event>& events) {
  std::map<std::string, std::pair<const read::Event*, std::vector<double>>> equal;
  for (const read::Event& event : events) {
    auto& [first, logarithms] =
        equal[fmt::format("{} {} {}", event.name, fmt::join(event.launch.grid, ","),
                          event.op ? read::op_text(*event.op) : "")];
    first = &event;
    for (const double ms : event.measured_ms)
      if (ms > 0) logarithms.push_back(std::log(ms));
  }
  Variance all;
  std::map<std::string, Variance> by_name;
  for (const auto& [key, launches] : equal) {
    const auto& [event, logarithms] = launches;
    if (logarithms.size() < 2) continue;
    by_name[event->name].add(logarithms);
    if (waits_for_nobody(*event)) all.add(logarithms);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (!row.raw_us || row.raw_ci95_us || row.samples == 0) continue;
    std::optional<double> sigma = by_name[events[i].name].sigma();
    if (!sigma && waits_for_nobody(events[i])) sigma = all.sigma();
    if (!sigma) continue;
    const double factor = std::exp(k95 * *sigma / std::sqrt(static_cast<double>(row.samples)));
    row.raw_ci95_us = Interval{*row.raw_us / factor, *row.raw_us * factor};
  }
}

}  // namespace inline_prof::join
