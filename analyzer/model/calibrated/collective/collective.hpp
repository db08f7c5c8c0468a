// The calibrated model of collectives, over all sizes and rank counts at once (README.md beside
// this file): one set of parameters for each operation, of an all-reduce for each type.
#pragma once

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {
struct Machine;
struct Parameters;
}  // namespace inline_prof::read

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

inline constexpr std::array<Column, 5> kCollectiveInputs{{
    {"op", "", ColumnKind::kText, 0, 0, true, "all_reduce, all_gather, reduce_scatter, all_to_all"},
    {"num_gpus", "", ColumnKind::kInteger, 2, 1e6, true, "ranks"},
    {"bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "message size as nccl-tests counts it"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of an element; that of the parameters"},
    {"stack", "", ColumnKind::kText, 0, 0, false, "whose own kernel it is; NCCL's if absent"},
}};

// Returns the model "collective" in both editions: the published curves, and ours.
[[nodiscard]] ModelEntry collective_editions_entry();

// The member of a parameter file of collectives that holds the calibrated groups, by "OPERATION
// TYPE".
inline constexpr const char* kCollectiveGroups = "improved";

// Returns the group of rows that are fitted together.  Only an all-reduce of NCCL has one for each
// type: the switch adds some of them.  What the others move takes as long in any type, within 3 %
// on H200s.  `stack`: whose own kernel it is; empty for NCCL's.
[[nodiscard]] std::string collective_group(CollectiveKind kind, std::string_view type,
                                           std::string_view stack = {});

class CalibratedCollectives {
 public:
  struct Prediction {
    CollectiveTime analytic;
    Calibration::Estimate estimate;
    bool is_other_type = false;  // measured with another type only
    bool is_other_rank_count = false;
    std::string_view trained_machine;
  };

  // Throws read::InputError.  `machine`: where the predictions are for; null is the machine of the
  // parameters.  Another one's bandwidths are those of its links to the other GPUs; one of another
  // generation has the mean of all other generations that were measured, since what a step costs
  // follows from no data sheet.  Sends and receives that the parameters do not hold are those of
  // the H100.
  CalibratedCollectives(const read::Parameters& parameters, const read::Machine* machine,
                        bool is_one_of_several = false);

  // `type` may be empty.  Empty where the operation was not measured.
  [[nodiscard]] std::optional<Prediction> predict(CollectiveKind kind, std::string_view type,
                                                  double bytes, double ranks,
                                                  std::string_view stack = {}) const;
  // Returns the mean of what these stacks' own kernels take, in an interval that holds all of
  // theirs.  Empty where none of them was measured.
  [[nodiscard]] std::optional<Prediction> predict_any_of(CollectiveKind kind,
                                                         std::span<const std::string_view> stacks,
                                                         double bytes, double ranks) const;

 private:
  struct Group {
    CollectiveAnalytic analytic;
    Calibration calibration;
    std::set<double> rank_counts;
    std::string trained_machine;
  };
  [[nodiscard]] std::optional<Prediction> predict_alone(CollectiveKind kind, std::string_view type,
                                                        double bytes, double ranks,
                                                        std::string_view stack) const;
  // Adds the groups that are not there yet, of one kind or of all.
  void add_groups(const read::Parameters& parameters, const read::Machine* machine,
                  std::optional<CollectiveKind> only);

  std::map<std::string, Group, std::less<>> groups_;
  std::vector<CalibratedCollectives> other_generations_;
};

}  // namespace inline_prof::model
