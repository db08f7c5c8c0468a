// Every model that covers an operation, side by side, each asked as prof-model asks it.
#pragma once

#include "model/model.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace inline_prof::model {

// A user's choices for the models of a report.
struct ModelChoices {
  std::map<std::string, std::string> params = {};  // a file or a shipped set, by the model's name
  // Settings and columns that operations do not say, by NAME or MODEL.NAME.
  std::map<std::string, std::string> settings = {};
  std::string vendors_model = {};  // to be asked beside the others; empty: none
};

struct ModelAnswer {
  std::string_view model = {};  // "fc"; with its edition if it has two: "seer published"
  bool is_published = false;
  bool is_fallback = false;       // the plain roofline, which answers where no published model does
  RowPrediction prediction = {};  // its time is that of the operation, not of a part
  std::string parameters = {};    // the file or shipped set; empty: none
  bool is_covered = true;         // false: the operation is another one than the model's
};

// Several threads may ask at once.
class EachModel {
 public:
  // Throws std::invalid_argument for a model, a setting or a column that no model has.
  explicit EachModel(ModelChoices choices);

  // Returns one for each model and edition that covers the operation's kind, in the registry's
  // order, the rooflines last.  They stay valid as long as this does.
  [[nodiscard]] std::span<const ModelAnswer> answers(const Operation& operation);
  // Returns the first published model's that has a time.  Without one, `prediction.reason` says
  // what each of them lacks.
  [[nodiscard]] ModelAnswer published(const Operation& operation);
  // Returns what is wrong, a sentence for each model: why parameters of the user's choice cannot be
  // used, or know none of the operations, and that it refuses what operations say.
  [[nodiscard]] std::vector<std::string> complaints() const;

 private:
  // A model with the parameters of one machine, or why it cannot be made.
  struct Made {
    std::optional<Model> model;
    std::string params;
    std::string reason;
  };
  using MadeKey = std::tuple<const ModelEntry*, Edition, std::string, std::string, ConstantSet>;
  // A model on different operations of its own.
  struct Tally {
    std::size_t asked = 0, predicted = 0, refused = 0;
    std::string reason, refusal;  // the first ones
    bool has_params = false;      // of the user's choice
  };

  [[nodiscard]] ModelAnswer ask(const ModelEntry& entry, Edition edition,
                                const Operation& operation, ConstantSet constants);
  void count(const ModelEntry& entry, const ModelAnswer& answer);
  [[nodiscard]] const std::string* chosen_params(const ModelEntry& entry) const;
  [[nodiscard]] const Made& made(const ModelEntry& entry, Edition edition, const ParameterKey& key,
                                 const read::Machine& machine, ConstantSet constants);
  void make(Made& made, const ModelEntry& entry, ModelOptions options, const ParameterKey& key,
            const read::Machine& machine);
  [[nodiscard]] std::string check(const ModelEntry& entry, const std::string& params,
                                  const read::Machine& machine) const;
  void add_settings(OperationInputs& inputs, const ModelEntry& entry) const;

  ModelChoices choices_;
  mutable std::mutex mutex_;
  std::map<MadeKey, Made> made_;
  std::map<std::string, std::vector<ModelAnswer>, std::less<>> answers_;  // by all that they see
  std::map<std::string_view, Tally> tallies_;                             // by ModelAnswer::model
  std::map<std::string, std::string> complaints_;  // what is wrong, and the models that say so
};

}  // namespace inline_prof::model
