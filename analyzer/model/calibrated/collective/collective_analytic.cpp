#include "model/calibrated/collective/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kSoftness = 20;

// Starts: between NCCL's own constants for NVLink and the H200 tables of NVIDIA's AIConfigurator.
constexpr std::array<ParameterSpec, 4 * CollectiveAnalytic::kPieces + 1> kParameters{{
    {"start0_us", 4, 0.05, 0.05, 20, "of the protocol for small messages"},
    {"step0_us", 0.7, 0.05, 0.05, 20, "a hop"},
    {"bandwidth0_gb_per_s", 30, 0.05, 0.05, 20, "of a GPU, on 4 GPUs"},
    {"growth0", 1, 0.3, 0.3, 10, "bandwidth on 8 GPUs over that on 2"},
    {"start1_us", 8, 0.05, 0.05, 20, "of the protocol for middle sizes"},
    {"step1_us", 1.5, 0.05, 0.05, 20, "a hop"},
    {"bandwidth1_gb_per_s", 120, 0.05, 0.05, 20, "of a GPU, on 4 GPUs"},
    {"growth1", 1, 0.3, 0.3, 10, "bandwidth on 8 GPUs over that on 2"},
    {"start2_us", 20, 0.05, 0.05, 20, "of the protocol for large messages"},
    {"step2_us", 3, 0.05, 0.05, 20, "a hop"},
    {"bandwidth2_gb_per_s", 300, 0.05, 0.05, 20, "of a GPU, on 4 GPUs"},
    {"growth2", 1, 0.3, 0.3, 10, "bandwidth on 8 GPUs over that on 2"},
    {kSwitchParameter, 300, 0.05, 0.05, 20, "of a GPU, to a switch that adds"},
}};
constexpr std::size_t kWithoutSwitch = 4 * CollectiveAnalytic::kPieces;

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 9> kNames{{
    {"allreduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"alltoall", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"sendrecv", CollectiveKind::kSendRecv},
    {"send", CollectiveKind::kSendRecv},
    {"recv", CollectiveKind::kSendRecv},
    {"collectivepermute", CollectiveKind::kSendRecv},
}};

double steps_of(CollectiveKind kind, double ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (ranks - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return ranks - 1;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
      return ranks;
    case CollectiveKind::kSendRecv:
      return 1;
  }
  return 1;
}

double ratio_of(CollectiveKind kind, double ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (ranks - 1) / ranks;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv:
      return 1;
  }
  return 1;
}

// The bandwidth on `ranks` GPUs over that on 4, where that on 8 is `growth` times that on 2.  It is
// 1 - own/n but for a factor: a rank's own part of the data, S/n, is copied or reduced too, and
// takes `own` of what a part from another rank would take.  So it has a limit for many ranks.
double growth_to(double growth, double ranks) {
  const double own = (growth - 1) / (growth / 2 - 1.0 / 8);
  return (1 - own / ranks) / (1 - own / 4);
}

double soft_minimum(double a, double b) {
  const double least = std::min(a, b);
  return least * std::pow(1 + std::pow(least / std::max(a, b), kSoftness), -1 / kSoftness);
}

}  // namespace

std::optional<CollectiveKind> collective_kind(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const auto& [known, kind] : kNames) {
    if (letters == known) return kind;
  }
  return std::nullopt;
}

std::string_view collective_kind_name(CollectiveKind kind) {
  constexpr std::array<std::string_view, 6> names{"all_reduce", "all_gather", "reduce_scatter",
                                                  "all_to_all", "broadcast",  "send_recv"};
  return names.at(static_cast<std::size_t>(kind));
}

bool can_switch_add(CollectiveKind kind, std::string_view type) {
  constexpr std::array<std::string_view, 4> never_added{"i8", "u8", "f8e4m3", "f8e5m2"};
  return kind == CollectiveKind::kAllReduce &&
         std::find(never_added.begin(), never_added.end(), type) == never_added.end();
}

std::span<const ParameterSpec> CollectiveAnalytic::parameters(bool can_switch_add) {
  return std::span(kParameters).first(can_switch_add ? kParameters.size() : kWithoutSwitch);
}

CollectiveAnalytic::CollectiveAnalytic(CollectiveKind kind, bool can_switch_add,
                                       std::span<const double> values)
    : kind_(kind), can_switch_add_(can_switch_add) {
  const std::size_t expected = parameters(can_switch_add).size();
  if (values.size() != expected) {
    throw std::invalid_argument(
        fmt::format("collective: {} parameters, expected {}", values.size(), expected));
  }
  std::copy(values.begin(), values.end(), values_.begin());
}

CollectiveTime CollectiveAnalytic::predict(double bytes, double ranks) const {
  const double steps = steps_of(kind_, ranks);
  const double kilobytes = bytes * ratio_of(kind_, ranks) / 1e3;
  std::array<CollectiveTime, kPieces> pieces;
  CollectiveTime best;
  for (std::size_t j = 0; j < kPieces; ++j) {
    const double* value = &values_[4 * j];
    CollectiveTime& piece = pieces[j];
    piece.piece = j;
    piece.latency_us = value[0] + value[1] * steps;
    piece.transfer_us = kilobytes / (value[2] * growth_to(value[3], ranks));
    if (can_switch_add_ && j + 1 == kPieces) {
      const double by_switch_us = bytes / 1e3 * (1 + 1 / ranks) / values_[kWithoutSwitch];
      piece.transfer_us = soft_minimum(piece.transfer_us, by_switch_us);
    }
    piece.time_us = piece.latency_us + piece.transfer_us;
    if (j == 0 || piece.time_us < best.time_us) best = piece;
  }
  double sum = 0;
  for (const CollectiveTime& piece : pieces)
    sum += std::pow(best.time_us / piece.time_us, kSoftness);
  best.time_us *= std::pow(sum, -1 / kSoftness);
  best.bound = best.latency_us > best.transfer_us ? "latency" : "bandwidth";
  return best;
}

Eigen::VectorXd collective_features(double bytes, double ranks) {
  return Eigen::Vector2d(std::log2(bytes), std::log2(ranks));
}

}  // namespace inline_prof::model
