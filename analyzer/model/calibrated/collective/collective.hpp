// The calibrated model of collectives: one set of parameters for each operation, of an all-reduce
// for each type.
#pragma once

#include "model/calibrated/calibration.hpp"
#include "model/calibrated/collective/collective_analytic.hpp"
#include "model/model.hpp"

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
  [[nodiscard]] bool is_transfer() const { return is_transfer_; }
  [[nodiscard]] const std::string& trained_machine() const { return trained_machine_; }

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
  std::string trained_machine_;
  bool is_transfer_ = false;
  std::vector<CalibratedCollectives> other_generations_;
};

}  // namespace inline_prof::model
