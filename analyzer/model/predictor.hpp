// Which model predicts an operation: the best one that parameters are at hand for.
#pragma once

#include "model/families/families.hpp"
#include "model/model.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace inline_prof::model {

// Families that a user has fitted, by machine.
using OwnFamilies = std::map<std::string, Families>;

// The time that a kernel is expected to take longer beside such neighbours.
[[nodiscard]] double usual_delay_us(const read::Neighbours& neighbours);

class Predictor {
 public:
  // kCalibrated: the models of the registry that answer the operation's kind, with the shipped
  // parameters of the machine or, with wider intervals, of one like it; the roofline where they
  // have no answer.  Where the kernel's name tells its family, what such a kernel takes.
  // `own` take the place of the shipped families; null: none.
  explicit Predictor(Models models, std::shared_ptr<const OwnFamilies> own = nullptr)
      : chosen_(models), own_(std::move(own)) {}

  [[nodiscard]] Outcome predict(const read::Op& op, const read::Machine& machine,
                                const LaunchedKernel& kernel = {}) const;

  // Predicts a kernel that moves data by the sizes that its name and grid tell: for operators whose
  // own were not recorded.
  [[nodiscard]] std::optional<Prediction> predict_by_name(const read::Machine& machine,
                                                          const LaunchedKernel& kernel) const;

 private:
  // Predicts the kernel as if no other stream did anything.
  [[nodiscard]] Outcome predict_alone(const read::Op& op, const read::Machine& machine,
                                      const LaunchedKernel& kernel) const;
  // Predicts the operation, whichever kernel computes it.
  [[nodiscard]] Outcome predict_any_kernel(const read::Op& op, const read::Machine& machine,
                                           const LaunchedKernel& kernel) const;
  [[nodiscard]] const Families& families_of(const read::Machine& machine) const;
  [[nodiscard]] std::optional<Prediction> predict_with(const ModelEntry& entry,
                                                       const Operation& operation) const;
  // Returns null where no parameters are shipped, or the machine lacks what the model has to know
  // of it.
  [[nodiscard]] const Model* model_for(const ModelEntry& entry, const ParameterKey& key,
                                       const read::Machine& machine) const;

  Models chosen_;
  std::shared_ptr<const OwnFamilies> own_;
  // The models asked for so far, by model, machine and key.
  mutable std::map<std::tuple<const ModelEntry*, std::string, std::string>, std::optional<Model>>
      models_;
  mutable std::map<std::string, Families> families_;  // by machine
};

}  // namespace inline_prof::model
