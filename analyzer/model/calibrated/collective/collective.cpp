#include "model/calibrated/collective/collective.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/machines.hpp"
#include "model/published/models.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace inline_prof::model {
namespace {

enum Input : std::size_t { kOp, kRanks, kBytes, kType, kStack };

constexpr std::array<Column, 5> kInputs{{
    {"op", "", ColumnKind::kText, 0, 0, true, "all_reduce, all_gather, reduce_scatter, all_to_all"},
    {"num_gpus", "", ColumnKind::kInteger, 2, 1e6, true, "ranks"},
    {"bytes", "bytes", ColumnKind::kNumber, 1, 1e15, true, "message size as nccl-tests counts it"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of an element; that of the parameters"},
    {"stack", "", ColumnKind::kText, 0, 0, false, "whose own kernel it is; NCCL's if absent"},
}};

constexpr std::array<std::string_view, 5> kParts{"analytic_us", "latency_us", "transfer_us",
                                                 "distance", "sigma"};

// All-reduces that serving stacks do with kernels of their own, by a word of the kernel's name, and
// the stacks whose measured kernels are of the kind.
constexpr std::array<std::string_view, 3> kOwnKernels{"VLLM", "SGLang", "TRTLLM"};
struct OwnKernel {
  std::string_view word;
  std::size_t first, count;  // of kOwnKernels
};
constexpr std::array<OwnKernel, 8> kOwnAllReduces{{{"cross_device_reduce", 0, 2},
                                                   {"allreduce_fusion", 2, 1},
                                                   {"ShotAllReduce", 2, 1},
                                                   {"lamport", 2, 1},
                                                   {"userbuffers_", 2, 1},
                                                   {"multimem_all_reduce", 0, 3},
                                                   {"one_shot_all_reduce", 0, 3},
                                                   {"two_shot_all_reduce", 0, 3}}};

class CollectiveModel : public Model {
 public:
  CollectiveModel(const read::Parameters& parameters, const std::optional<read::Machine>& machine)
      : collectives_(parameters, machine ? &*machine : nullptr),
        machine_id_(machine ? machine->id : "") {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const auto kind = collective_kind(row.text(kOp));
    if (!kind) {
      return RowPrediction::none("", fmt::format("unknown collective {}", row.text(kOp)));
    }
    const std::string type = row.has(kType) ? row.text(kType) : std::string();
    const std::string stack = row.has(kStack) ? row.text(kStack) : std::string();
    const auto found =
        collectives_.predict(*kind, type, row.number(kBytes), row.number(kRanks), stack);
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
    const auto size = static_cast<double>(*bytes);
    // A link joins two, however many the communicator has.
    const double members = *kind == CollectiveKind::kSendRecv ? 2 : static_cast<double>(*ranks);
    const auto* const own =
        std::find_if(kOwnAllReduces.begin(), kOwnAllReduces.end(), [&](const OwnKernel& known) {
          return operation.kernel.name.find(known.word) != std::string_view::npos;
        });
    const auto found =
        own == kOwnAllReduces.end()
            ? collectives_.predict(*kind, op.get<std::string>("type").value_or(""), size, members)
            : collectives_.predict_any_of(
                  *kind, std::span(kOwnKernels).subspan(own->first, own->count), size, members);
    if (!found) return std::nullopt;
    Prediction prediction = as_prediction(found->estimate, found->analytic.bound, "collective",
                                          std::string(found->trained_machine));
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
                                           options.machine);
}

}  // namespace

namespace {

// Returns the compute capability's first number; empty for a machine that nobody knows.
std::string generation_of(const read::Machine& machine) {
  return machine.compute_capability.substr(0, machine.compute_capability.find('.'));
}

std::string generation_of(std::string_view machine_id) {
  for (const read::Machine& machine : builtin_machines())
    if (machine.id == machine_id) return generation_of(machine);
  return "";
}

// Returns how many times faster the links between the machine's GPUs are; 1 where nobody says.
double links_over_those_of(std::string_view trained, const read::Machine& machine) {
  for (const read::Machine& other : builtin_machines()) {
    if (other.id == trained && other.peer_link_gb_per_s && machine.peer_link_gb_per_s)
      return *machine.peer_link_gb_per_s / *other.peer_link_gb_per_s;
  }
  return 1;
}

}  // namespace

std::string collective_group(CollectiveKind kind, std::string_view type, std::string_view stack) {
  if (!stack.empty()) return fmt::format("{} of {}", collective_kind_name(kind), stack);
  const bool is_any = type.empty() || kind != CollectiveKind::kAllReduce;
  return fmt::format("{} {}", collective_kind_name(kind), is_any ? "any" : type);
}

CalibratedCollectives::CalibratedCollectives(const read::Parameters& parameters,
                                             const read::Machine* machine, bool is_one_of_several)
    : trained_machine_(parameters.machine),
      is_transfer_(machine != nullptr && machine->id != parameters.machine) {
  add_groups(parameters, machine, {});
  // Timed on this GPU alone.
  if (machine != nullptr && !predict(CollectiveKind::kSendRecv, "", 1, 2)) {
    add_groups(choose_parameters("collective_h100-sxm5-80gb", parameters.model), machine,
               CollectiveKind::kSendRecv);
  }
  if (!is_transfer_ || is_one_of_several) return;
  std::set<std::string> generations{generation_of(trained_machine_)};
  const std::string own = generation_of(*machine);
  if (own.empty() || !generations.insert(own).second) return;
  for (const std::string& set : shipped_sets(parameters.model, "")) {
    const read::Parameters other = choose_parameters(set, parameters.model);
    if (generations.insert(generation_of(other.machine)).second)
      other_generations_.emplace_back(other, machine, true);
  }
}

void CalibratedCollectives::add_groups(const read::Parameters& parameters,
                                       const read::Machine* machine,
                                       std::optional<CollectiveKind> only) {
  const bool is_transfer = machine != nullptr && machine->id != parameters.machine;
  const double links = is_transfer ? links_over_those_of(parameters.machine, *machine) : 1;
  constexpr TransferSigmas sigmas{.same_units = 0.03, .from_hopper = 0.17, .before_hopper = 0.205};
  const double unit_sigma =
      is_transfer ? transfer_sigma(*machine, links == 1, sigmas) : kSameMachineSigma;
  const base::JsonValue document = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode groups =
      read::TreeNode(document, parameters.label).member("parameters").member(kCollectiveGroups);
  groups.each_member([&](std::string_view name, const read::TreeNode& group) {
    const auto kind = collective_kind(name.substr(0, name.find(' ')));
    if (!kind) group.fail("expected the name of a collective and a type");
    if (only && kind != only) return;
    // A group has the form of a parameter file's members.
    const nlohmann::json& json = parameters.parameters[kCollectiveGroups][std::string(name)];
    read::Parameters own;
    own.label = fmt::format("{}: {}", parameters.label, name);
    static_cast<void>(group.member("parameters"));
    own.parameters = json["parameters"];
    if (group.has("residual")) own.residual = json["residual"];
    own.conformal = parameters.conformal;  // all groups share their scores
    const std::size_t blank = name.find(' ');
    const std::string_view type = blank == name.npos ? name.substr(0, 0) : name.substr(blank + 1);
    const bool with_switch = !type.starts_with("of ") && can_switch_add(*kind, type);
    std::vector<double> values;
    for (const ParameterSpec& spec : CollectiveAnalytic::parameters(with_switch)) {
      const bool is_bandwidth = spec.name.find("gb_per_s") != std::string_view::npos;
      values.push_back(own.number(spec.name) * (is_bandwidth ? links : 1));
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
                                            read_conformal(own), unit_sigma),
                                {rank_counts.begin(), rank_counts.end()},
                                parameters.machine});
  });
}

std::optional<CalibratedCollectives::Prediction> CalibratedCollectives::predict(
    CollectiveKind kind, std::string_view type, double bytes, double ranks,
    std::string_view stack) const {
  auto all = predict_alone(kind, type, bytes, ranks, stack);
  if (!all) return all;
  Calibration::Estimate& mean = all->estimate;
  double count = 1;
  for (const CalibratedCollectives& other : other_generations_) {
    const auto one = other.predict_alone(kind, type, bytes, ranks, stack);
    if (!one) continue;
    count += 1;
    const auto add = [&](double& time_us, double other_us) {
      time_us = std::exp(std::lerp(std::log(time_us), std::log(other_us), 1 / count));
    };
    add(mean.time_us, one->estimate.time_us);
    add(mean.lower_us, one->estimate.lower_us);
    add(mean.upper_us, one->estimate.upper_us);
  }
  return all;
}

std::optional<CalibratedCollectives::Prediction> CalibratedCollectives::predict_alone(
    CollectiveKind kind, std::string_view type, double bytes, double ranks,
    std::string_view stack) const {
  const std::string start = fmt::format("{} ", collective_kind_name(kind));
  auto group = groups_.find(collective_group(kind, type, stack));
  bool is_other_type = false;
  if (group == groups_.end()) {
    if (!stack.empty()) return std::nullopt;
    // Types that the switch adds take as long as each other, and so do those that it does not.
    for (auto other = groups_.lower_bound(start);
         other != groups_.end() && other->first.starts_with(start); ++other) {
      const std::string_view other_type = std::string_view(other->first).substr(start.size());
      if (other_type.starts_with("of ")) continue;
      const bool is_alike = can_switch_add(kind, other_type) == can_switch_add(kind, type);
      if (group != groups_.end() && !(is_other_type && is_alike)) continue;
      group = other;
      is_other_type = !is_alike;
    }
    if (group == groups_.end()) return std::nullopt;
  }
  Prediction prediction;
  prediction.is_other_type = is_other_type;
  prediction.is_other_rank_count = !group->second.rank_counts.contains(ranks);
  prediction.trained_machine = group->second.trained_machine;
  prediction.analytic = group->second.analytic.predict(bytes, ranks);
  Calibration::Estimate& estimate = prediction.estimate;
  estimate = group->second.calibration.estimate(
      prediction.analytic.time_us, collective_features(bytes, ranks), prediction.analytic.bound);
  // Only long messages were timed: short ones start no sooner than an exchange between two.
  if (kind != CollectiveKind::kSendRecv) return prediction;
  constexpr double least_bytes = 256;
  const auto exchange = predict(CollectiveKind::kAllToAll, type, least_bytes, 2);
  if (exchange && exchange->estimate.time_us > estimate.time_us) {
    estimate.upper_us = std::max(estimate.upper_us, exchange->estimate.upper_us);
    estimate.time_us = exchange->estimate.time_us;
  }
  return prediction;
}

std::optional<CalibratedCollectives::Prediction> CalibratedCollectives::predict_any_of(
    CollectiveKind kind, std::span<const std::string_view> stacks, double bytes,
    double ranks) const {
  std::optional<Prediction> all;
  double log_sum = 0, count = 0;
  for (const std::string_view stack : stacks) {
    const auto own = predict(kind, "", bytes, ranks, stack);
    if (!own) continue;
    log_sum += std::log(own->estimate.time_us);
    count += 1;
    if (!all) all = own;
    all->estimate.lower_us = std::min(all->estimate.lower_us, own->estimate.lower_us);
    all->estimate.upper_us = std::max(all->estimate.upper_us, own->estimate.upper_us);
  }
  if (all) all->estimate.time_us = std::exp(log_sum / count);
  return all;
}

ModelEntry collective_editions_entry() {
  ModelEntry entry = collective_entry();
  entry.editions = {Edition::kPublished, Edition::kCalibrated};
  entry.machine = Need::kOptional;
  entry.has_own_machine = true;
  entry.make = make;
  entry.parameter_keys = [](const Operation&) {
    return std::vector<ParameterKey>{{.key = "", .type_of_relatives = "f16"}};
  };
  return entry;
}

}  // namespace inline_prof::model
