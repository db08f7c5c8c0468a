#include "model/copies.hpp"

#include "model/op_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace inline_prof::model {
namespace {

constexpr const char* kCopies = "copies";  // what reports call it

// The part of a data sheet's bandwidth that large copies reach, and the 90 % interval of it.  Not
// fitted: the ends are those of published runs.
struct Reached {
  double usual;
  double least;
  double most;
};

// 0.75 to 0.85 on RTX 4090 (github.com/NVIDIA/nvbandwidth, issue 15, 2024), 0.78 on A100
// (forums.developer.nvidia.com, topic 352186, 2025), 0.87 on H100 (NVIDIA, nvbandwidth's blog
// post, 2025), copy engines, pinned memory.
constexpr Reached kHostLink{.usual = 0.80, .least = 0.70, .most = 0.90};
// NVLink: 0.84 on H100 (github.com/NVIDIA/nccl, issue 1264, 2024), 0.80 on A100
// (github.com/NVIDIA/nccl-tests, issue 149, 2023); PCIe: 0.68 to 0.82 on RTX A6000
// (github.com/NVIDIA/nvbandwidth, issue 50, 2025).
constexpr Reached kPeerLink{.usual = 0.80, .least = 0.65, .most = 0.90};
// Read and written: 0.77 on H100 (github.com/NVIDIA/nccl, issue 1264, 2024: 2573 of 3350 GB/s).
constexpr Reached kMemory{.usual = 0.80, .least = 0.65, .most = 0.95};
// Where source and destination fit, they may lie in L2, which is so much faster than the memory.
constexpr double kL2Gain = 3;

// Of the least time that a kernel is predicted to take: a copy is one command to an engine of its
// own, or a kernel of the driver's.
constexpr double kLeastLatency = 0.5;
constexpr double kMostLatency = 3;

struct Way {
  std::optional<double> gb_per_s;
  const char* missing = "";  // what the machine does not say
  Reached reached{};
  Bound bound = Bound::kLink;
};

std::optional<Way> way_of(const std::string& direction, const read::Machine& machine) {
  if (direction == "host_to_device" || direction == "device_to_host")
    return Way{machine.host_link_gb_per_s, "host_link_gb_per_s", kHostLink, Bound::kLink};
  if (direction == "peer")
    return Way{machine.peer_link_gb_per_s, "peer_link_gb_per_s", kPeerLink, Bound::kLink};
  if (direction == "device_to_device" || direction == "fill" || direction == "write_value")
    return Way{machine.memory_gb_per_s, "memory_gb_per_s", kMemory, Bound::kMemory};
  return std::nullopt;
}

}  // namespace

Outcome predict_copy(const read::Op& op, const read::Machine& machine) {
  const OpWork work = work_of(op);
  if (!work.reason.empty()) return Outcome::none(work.reason);
  const std::string direction = op.get<std::string>("direction").value_or("");
  if (direction == "host_to_host") return Outcome::none("the host's memory has no model");
  const auto way = way_of(direction, machine);
  if (!way) {
    return Outcome::none(direction.empty() ? "copy without direction"
                                           : fmt::format("copy with direction {}", direction));
  }
  if (!way->gb_per_s) return Outcome::none(fmt::format("{} has no {}", machine.id, way->missing));
  const double move_us = work.traffic.value / (*way->gb_per_s * 1e3);
  const double latency_us = machine.launch_floor_us;
  Prediction prediction;
  prediction.time = microseconds(latency_us + move_us / way->reached.usual);
  prediction.bound = move_us / way->reached.usual > latency_us ? way->bound : Bound::kLaunch;
  prediction.model = kCopies;
  if (!std::isfinite(prediction.time.value) || !(prediction.time.value > 0)) {
    return Outcome::none(fmt::format("{} would take {:g} s", machine.id, prediction.time.value));
  }
  // The host's processor moves it to memory that the device can read, at a rate that nobody knows.
  if (op.get<std::string>("host_memory") == "pageable") return {prediction, ""};
  const bool may_be_in_l2 =
      way->bound == Bound::kMemory && machine.l2_mb && work.traffic.value <= *machine.l2_mb * 1e6;
  const double least_move_us = move_us / way->reached.most / (may_be_in_l2 ? kL2Gain : 1);
  prediction.interval90 = {microseconds(kLeastLatency * latency_us + least_move_us),
                           microseconds(kMostLatency * latency_us + move_us / way->reached.least)};
  return {prediction, ""};
}

}  // namespace inline_prof::model
