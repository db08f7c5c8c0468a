// Calibrated models of operations that several libraries have kernels for: attention, mixtures of
// experts, quantisation.  A parameter file holds a group of parameters for each source of kernels
// and each set of number types; where nothing tells the source, all of them answer, and the
// interval covers how far they differ (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"
#include "model/calibrated/calibration.hpp"
#include "model/model.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {
struct Parameters;
}

namespace inline_prof::model {

// Returns a parameter of a form.  One source's kernels may need 30 times another's.
[[nodiscard]] constexpr ParameterSpec source_parameter(std::string_view name, double start,
                                                       std::string_view meaning) {
  return {
      .name = name, .start = start, .weight = 0.1, .least = 0.03, .most = 33, .meaning = meaning};
}

// A GPU as the forms see it.  The peak is that of 16-bit numbers, whatever a kernel multiplies.
struct SourceGpu {
  explicit SourceGpu(const read::Machine& machine);

  double units;  // multiprocessors
  // Cycles of all multiprocessors together; by a usual clock where the data sheet has none.
  double clocks_per_us;
  double bytes_per_us;
  double l2_bytes = 0;
  double flops_per_us = 0;
};

// Returns by what a share of the memory's bandwidth changes with the GPU if it goes by the clock,
// as L2 does.
[[nodiscard]] inline double share_by_clock(const SourceGpu& from, const SourceGpu& to) {
  return to.clocks_per_us / from.clocks_per_us * from.bytes_per_us / to.bytes_per_us;
}

// The numbers of one row, in the order of SourceForm::inputs behind its texts; all > 0.
using Sizes = std::vector<double>;

struct SourceTime {
  double time_us = 0;
  std::string_view bound;
};

// An operation in the words of a form.
struct SourceQuery {
  std::string types;  // as in the names of groups: "bf16 bf16"
  std::function<bool(std::string_view source)>
      may_be;  // by the kernel's name; empty: nothing tells
  Sizes sizes;
  double work = 1;  // times that of a measured operation, 2.5 for a backward pass
};

// Describes kernels of one kind, and how their time follows.  A source works in one of `variants`
// ways; the fit takes the one that is nearest.
struct SourceForm {
  std::string_view model;
  std::string_view summary;
  std::span<const Column> inputs;  // "source", the number types, then the sizes
  std::size_t texts = 2;           // how many of them are words: they name the group
  std::size_t derived = 0;         // numbers that complete() puts behind the sizes
  std::span<const ParameterSpec> specs;
  std::size_t variants = 1;
  // Puts what follows from the others in the place of sizes that a row does not have, which are 0.
  void (*complete)(Sizes& sizes) = nullptr;
  SourceTime (*time)(const Sizes& sizes, const read::Machine& machine,
                     std::span<const double> values, std::size_t variant) = nullptr;
  Eigen::VectorXd (*features)(const Sizes& sizes) = nullptr;
  std::vector<std::size_t> fold_sizes = {};  // by which whole groups of rows are held out
  // Makes a source's parameters those of another GPU than the one that was measured.
  void (*transfer)(std::string_view source, const read::Machine& trained,
                   const read::Machine& machine, std::span<double> values) = nullptr;
  TransferSigmas transfer_sigmas = {};
  // Whether a source is as slow as this on another generation too, else the others answer for it.
  bool (*carries)(std::span<const double> values) = nullptr;
  OpKind kind = OpKind::kOperator;
  // Empty where the operation is none of the form's, or no source has such a kernel.
  std::optional<SourceQuery> (*query)(const Operation& operation) = nullptr;
};

// The forms.  Attention of prompts: queries see the keys up to their own place.
[[nodiscard]] const SourceForm& attention_prompts_form();
// Every query sees every key.
[[nodiscard]] const SourceForm& attention_encoders_form();
// One query for each sequence, against the cache of those before it.
[[nodiscard]] const SourceForm& attention_decoding_form();
// Mixtures of experts: a layer's grouped products, and grouped products alone.
[[nodiscard]] const SourceForm& experts_form();
// 16-bit numbers become 8-bit ones with a scale.
[[nodiscard]] const SourceForm& quantise_form();

// How many of the experts of one GPU get rows, and how many.
struct ExpertLoads {
  double active = 0;
  double rows = 0;
  double tiles = 0;  // of `tile` rows, over all experts
  double tile = 0;
};

// The loads that AIConfigurator's benchmarks give to the GPU with most rows among `ranks`.
// `power`: exponent of the power law, or 0 for even loads.
[[nodiscard]] ExpertLoads expert_loads(double tokens, double chosen, double experts, double ranks,
                                       double power);

// The member of a parameter file that holds the groups, by "SOURCE TYPE...".
inline constexpr const char* kSourceGroups = "groups";
inline constexpr const char* kSourceVariant = "variant";

class BySource {
 public:
  struct Answer {
    Calibration::Estimate estimate;
    std::string_view bound;
    double analytic_us = 0;
    std::size_t sources = 0;  // that answered
    double weight = 0;        // among them: the rows that were fitted
  };

  // Throws read::InputError.
  BySource(const SourceForm& form, const read::Parameters& parameters,
           const read::Machine& machine);

  // Asks one group, by its whole name.  Empty if there is none.
  [[nodiscard]] std::optional<Answer> of_group(std::string_view group, const Sizes& sizes) const;
  // Asks all sources that may be meant.
  [[nodiscard]] std::optional<Answer> of_query(const SourceQuery& query) const;

 private:
  struct Group {
    std::vector<double> values;
    std::size_t variant = 0;
    double rows = 0;
    Calibration calibration;
  };
  [[nodiscard]] Answer answer(const Group& group, const Sizes& sizes) const;

  const SourceForm* form_;
  read::Machine machine_;
  std::map<std::string, Group, std::less<>> groups_;
  std::set<std::string, std::less<>> left_out_;  // of another generation, see carries()
};

// Return the group's name in the words of a row, and its sizes.
[[nodiscard]] std::string source_group(const SourceForm& form, const Row& row);
[[nodiscard]] Sizes source_sizes(const SourceForm& form, const Row& row);

// Returns the entry of the registry for a form.
[[nodiscard]] ModelEntry source_model_entry(const SourceForm& form);

}  // namespace inline_prof::model
