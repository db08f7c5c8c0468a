#include "model/calibrated/collective/collective.hpp"

#include "model/calibrated/calibration_json.hpp"
#include "model/machines.hpp"
#include "model/published/models.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
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

RowPrediction predict_row(const CalibratedCollectives& collectives, const Row& row) {
  const auto kind = collective_kind(row.text("op"));
  if (!kind) throw NoAnswer{"", fmt::format("unknown collective {}", row.text("op"))};
  const auto found = collectives.predict(*kind, row.text("type"), row.number("bytes"),
                                         row.number("num_gpus"), row.text("stack"));
  if (!found) {
    throw NoAnswer{"", fmt::format("the parameters do not hold {}", collective_kind_name(*kind))};
  }
  const auto& [time_us, latency_us, transfer_us, piece, bound] = found->analytic;
  RowPrediction prediction =
      as_row(found->estimate, bound, "size",
             {time_us, latency_us, transfer_us, found->estimate.distance, found->estimate.sigma});
  if (found->is_other_type) prediction.reason = "measured with another type only";
  return prediction;
}

std::optional<Prediction> predict_operation(const CalibratedCollectives& collectives,
                                            const Operation& operation) {
  const read::Op& op = operation.op;
  const auto kind = collective_kind(op.get<std::string>("op").value_or(""));
  const auto bytes = op.get<std::int64_t>("bytes"), ranks = op.get<std::int64_t>("ranks");
  if (!kind || !bytes || !ranks || *bytes < 1 || *ranks < 2) return std::nullopt;
  const auto size = static_cast<double>(*bytes);
  // A link joins two, however many the communicator has.
  const double members = *kind == CollectiveKind::kSendRecv ? 2 : static_cast<double>(*ranks);
  const auto* const own = std::ranges::find_if(kOwnAllReduces, [&](const OwnKernel& known) {
    return operation.kernel.name.find(known.word) != std::string_view::npos;
  });
  const auto found =
      own == kOwnAllReduces.end()
          ? collectives.predict(*kind, op.get<std::string>("type").value_or(""), size, members)
          : collectives.predict_any_of(
                *kind, std::span(kOwnKernels).subspan(own->first, own->count), size, members);
  if (!found) return std::nullopt;
  Prediction prediction = as_prediction(found->estimate, found->analytic.bound, "collective",
                                        std::string(found->trained_machine));
  if (found->is_other_type || found->is_other_rank_count) prediction.is_extrapolated = true;
  return prediction;
}

Model make(const ModelOptions& options) {
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
  const read::Parameters parameters = choose_parameters(options.params, "collective");
  const auto collectives = std::make_shared<const CalibratedCollectives>(
      parameters, options.machine ? &*options.machine : nullptr);
  const std::string machine = options.machine ? options.machine->id : parameters.machine;
  return {kCollectiveInputs, kParts,
          [collectives](const Row& row) { return predict_row(*collectives, row); },
          transfer_warnings(parameters.machine != machine, parameters.machine, machine),
          [collectives](const Operation& op) { return predict_operation(*collectives, op); }};
}

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

std::optional<CollectiveKind> collective_kind(std::string_view name) {
  std::string letters = read::lower(name);
  std::erase_if(letters, [](char c) { return c == '_' || c == '-'; });
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

std::string collective_group(CollectiveKind kind, std::string_view type, std::string_view stack) {
  if (!stack.empty()) return fmt::format("{} of {}", collective_kind_name(kind), stack);
  const bool is_any = type.empty() || kind != CollectiveKind::kAllReduce;
  return fmt::format("{} {}", collective_kind_name(kind), is_any ? "any" : type);
}

CalibratedCollectives::CalibratedCollectives(const read::Parameters& parameters,
                                             const read::Machine* machine, bool is_one_of_several) {
  add_groups(parameters, machine, {});
  // Timed on this GPU alone.
  if (machine != nullptr && !predict(CollectiveKind::kSendRecv, "", 1, 2)) {
    add_groups(choose_parameters("collective_h100-sxm5-80gb", parameters.model), machine,
               CollectiveKind::kSendRecv);
  }
  if (machine == nullptr || machine->id == parameters.machine || is_one_of_several) return;
  std::set<std::string> generations{generation_of(parameters.machine)};
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
  each_group(parameters, kCollectiveGroups,
             [&](const std::string& name, read::Parameters own, const read::TreeNode& group) {
               const auto kind = collective_kind(name.substr(0, name.find(' ')));
               if (!kind) group.fail("expected the name of a collective and a type");
               if (only && kind != only) return;
               own.conformal = parameters.conformal;  // all groups share their scores
               const std::string type = name.substr(std::min(name.find(' '), name.size() - 1) + 1);
               const bool with_switch = !type.starts_with("of ") && can_switch_add(*kind, type);
               const auto specs = CollectiveAnalytic::parameters(with_switch);
               std::vector<double> values = parameter_values(own, specs);
               for (std::size_t i = 0; i < specs.size(); ++i)
                 if (specs[i].name.find("gb_per_s") != std::string_view::npos) values[i] *= links;
               const auto features = [](const RawPoint& point) {
                 return collective_features(point[0], point[1]);
               };
               const std::vector<double> rank_counts = own.numbers("rank_counts");
               groups_.emplace(name, Group{CollectiveAnalytic(*kind, with_switch, values),
                                           read_calibration(own, 2, features, unit_sigma),
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
