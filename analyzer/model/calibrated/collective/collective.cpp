#include "model/calibrated/collective/collective.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/published/models.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

enum Input : std::size_t { kOp, kRanks, kBytes, kType };

constexpr std::array<Column, 4> kInputs{{
    {"op", "", ColumnKind::kText, 0, 0, true, "all_reduce, all_gather, reduce_scatter, all_to_all"},
    {"num_gpus", "", ColumnKind::kInteger, 2, 1e6, true, "ranks"},
    {"bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "message size as nccl-tests counts it"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of an element; that of the parameters"},
}};

constexpr std::array<std::string_view, 5> kParts{"analytic_us", "latency_us", "transfer_us",
                                                 "distance", "sigma"};

class CollectiveModel : public Model {
 public:
  CollectiveModel(const read::Parameters& parameters, std::string machine_id)
      : collectives_(parameters, machine_id), machine_id_(std::move(machine_id)) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const auto kind = collective_kind(row.text(kOp));
    if (!kind) {
      return RowPrediction::none("", fmt::format("unknown collective {}", row.text(kOp)));
    }
    const std::string type = row.has(kType) ? row.text(kType) : std::string();
    const auto found = collectives_.predict(*kind, type, row.number(kBytes), row.number(kRanks));
    if (!found) {
      return RowPrediction::none(
          "", fmt::format("the parameters do not hold {}", collective_kind_name(*kind)));
    }
    RowPrediction prediction;
    prediction.time_us = found->estimate.time_us;
    prediction.lower_us = found->estimate.lower_us;
    prediction.upper_us = found->estimate.upper_us;
    prediction.bound = found->analytic.bound;
    prediction.reason = found->is_other_type ? "measured with another type only"
                                             : far_away_reason(found->estimate, "size");
    prediction.parts = {found->analytic.time_us, found->analytic.latency_us,
                        found->analytic.transfer_us, found->estimate.distance,
                        found->estimate.sigma};
    return prediction;
  }

  [[nodiscard]] std::optional<Prediction> predict_operation(
      const Operation& operation) const override {
    const read::Op& op = operation.op;
    const auto name = op.get<std::string>("op");
    const auto bytes = op.get<std::int64_t>("bytes"), ranks = op.get<std::int64_t>("ranks");
    const auto kind = name ? collective_kind(*name) : std::nullopt;
    if (!kind || !bytes || !ranks || *bytes < 1 || *ranks < 2) return std::nullopt;
    const auto found =
        collectives_.predict(*kind, op.get<std::string>("type").value_or(""),
                             static_cast<double>(*bytes), static_cast<double>(*ranks));
    if (!found) return std::nullopt;
    Prediction prediction = as_prediction(found->estimate, found->analytic.bound, "collective",
                                          collectives_.trained_machine());
    if (found->is_other_type || found->is_other_rank_count) prediction.is_extrapolated = true;
    return prediction;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    return transfer_warnings(collectives_.is_transfer(), collectives_.trained_machine(),
                             machine_id_);
  }

 private:
  CalibratedCollectives collectives_;
  std::string machine_id_;
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  if (options.edition == Edition::kPublished) {
    if (options.machine) {
      throw std::invalid_argument("--machine: the published curves carry their own machine");
    }
    return collective_entry().make(options);
  }
  if (options.params.empty()) {
    throw std::invalid_argument(
        "--edition calibrated needs --params: what prof-model fit has written");
  }
  return std::make_unique<CollectiveModel>(choose_parameters(options.params, "collective"),
                                           options.machine ? options.machine->id : std::string());
}

}  // namespace

std::string collective_group(CollectiveKind kind, std::string_view type) {
  const bool is_any = type.empty() || kind != CollectiveKind::kAllReduce;
  return fmt::format("{} {}", collective_kind_name(kind), is_any ? "any" : type);
}

CalibratedCollectives::CalibratedCollectives(const read::Parameters& parameters,
                                             std::string_view machine_id)
    : trained_machine_(parameters.machine),
      is_transfer_(!machine_id.empty() && machine_id != parameters.machine) {
  const base::JsonValue document = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode groups =
      read::TreeNode(document, parameters.label).member("parameters").member(kCollectiveGroups);
  groups.each_member([&](std::string_view name, const read::TreeNode& group) {
    const auto kind = collective_kind(name.substr(0, name.find(' ')));
    if (!kind) group.fail("expected the name of a collective and a type");
    // A group has the form of a parameter file's members.
    const nlohmann::json& json = parameters.parameters[kCollectiveGroups][std::string(name)];
    read::Parameters own;
    own.label = fmt::format("{}: {}", parameters.label, name);
    static_cast<void>(group.member("parameters"));
    own.parameters = json["parameters"];
    if (group.has("residual")) own.residual = json["residual"];
    own.conformal = parameters.conformal;  // all groups share their scores
    const std::size_t blank = name.find(' ');
    const bool with_switch =
        can_switch_add(*kind, blank == name.npos ? name.substr(0, 0) : name.substr(blank + 1));
    std::vector<double> values;
    for (const ParameterSpec& spec : CollectiveAnalytic::parameters(with_switch)) {
      values.push_back(own.number(spec.name));
      if (!(values.back() > 0)) {
        group.member("parameters").member(spec.name).fail("expected a number > 0");
      }
    }
    const auto features = [](const RawPoint& point) {
      return collective_features(point[0], point[1]);
    };
    const std::vector<double> rank_counts = own.numbers("rank_counts");
    groups_.emplace(name, Group{CollectiveAnalytic(*kind, with_switch, values),
                                Calibration(read_residual(own, 2, features), read_local_scale(own),
                                            read_conformal(own),
                                            is_transfer_ ? kOtherMachineSigma : kSameMachineSigma),
                                {rank_counts.begin(), rank_counts.end()}});
  });
}

std::optional<CalibratedCollectives::Prediction> CalibratedCollectives::predict(
    CollectiveKind kind, std::string_view type, double bytes, double ranks) const {
  const std::string start = fmt::format("{} ", collective_kind_name(kind));
  auto group = groups_.find(collective_group(kind, type));
  const bool is_other_type = group == groups_.end();
  if (is_other_type) {
    group = groups_.lower_bound(start);
    if (group == groups_.end() || !group->first.starts_with(start)) return std::nullopt;
  }
  Prediction prediction;
  prediction.is_other_type = is_other_type && !type.empty();
  prediction.is_other_rank_count = !group->second.rank_counts.contains(ranks);
  prediction.analytic = group->second.analytic.predict(bytes, ranks);
  prediction.estimate = group->second.calibration.estimate(
      prediction.analytic.time_us, collective_features(bytes, ranks), prediction.analytic.bound);
  return prediction;
}

ModelEntry collective_editions_entry() {
  ModelEntry entry = collective_entry();
  entry.editions = {Edition::kPublished, Edition::kCalibrated};
  entry.machine = Need::kOptional;
  entry.has_own_machine = true;
  entry.make = make;
  return entry;
}

}  // namespace inline_prof::model
