// The time of a collective, over all sizes and rank counts at once (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inline_prof::model {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendRecv
};

// "all_reduce", "all-reduce", "AllReduce", "alltoall" ...; empty for a word that is none.
[[nodiscard]] std::optional<CollectiveKind> collective_kind(std::string_view name);
[[nodiscard]] std::string_view collective_kind_name(CollectiveKind kind);

// Returns whether NVLink SHARP adds numbers of this type (NCCL, ncclNvlsSupported); `type` may be
// empty.
[[nodiscard]] bool can_switch_add(CollectiveKind kind, std::string_view type);

// The parameter that only CollectiveAnalytic::parameters(true) has.
inline constexpr const char* kSwitchParameter = "switch_gb_per_s";

struct CollectiveTime {
  double time_us = 0;
  double latency_us = 0;  // of the piece that is fastest
  double transfer_us = 0;
  std::size_t piece = 0;   // 0: low latency ... 2: full bandwidth
  std::string_view bound;  // "latency" or "bandwidth"
};

// NCCL moves small messages with protocols that start fast and large ones with protocols that move
// much: the time is the least of three straight lines in the size,
//
//   T(S, n) = min_j  start_j + step_j * steps(n) + S * ratio(n) / B_j(n),
//
// where steps(n) hops follow one another, ratio(n) of the size goes through each link, and B_j(n)
// rises with n towards a limit.  The minimum is a soft one (power 20): NCCL picks by a model of its
// own, so real curves turn gently.  After NCCL 2.28, src/graph/tuning.cc (ncclTopoTuneModel,
// ncclTopoGetAlgoTime): its form, with its constants left to the fit.
//
// If the NVLink switch can add (an all-reduce of a type that it knows), the last piece moves by
// it or around the ring, whichever takes less: a GPU sends all of its data and an n-th of the sum.
class CollectiveAnalytic {
 public:
  static constexpr std::size_t kPieces = 3;

  [[nodiscard]] static std::span<const ParameterSpec> parameters(bool can_switch_add);

  // `values`: one for each of parameters(can_switch_add).
  CollectiveAnalytic(CollectiveKind kind, bool can_switch_add, std::span<const double> values);

  // `bytes` > 0 is the message's size as nccl-tests counts it, `ranks` >= 2.
  [[nodiscard]] CollectiveTime predict(double bytes, double ranks) const;

 private:
  CollectiveKind kind_;
  bool can_switch_add_;
  std::array<double, 4 * kPieces + 1> values_{};
};

// Returns the features of the residual: the logarithms of size and ranks.
[[nodiscard]] Eigen::VectorXd collective_features(double bytes, double ranks);

}  // namespace inline_prof::model
