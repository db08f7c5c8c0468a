#include "model/calibrated/calibration_json.hpp"

#include "model/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace inline_prof::model {
namespace {

using nlohmann::json;

constexpr const char* kKind = "gp_matern32";

json rounded_list(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values)
    list.push_back(rounded(value));
  return list;
}

std::vector<double> number_list(const read::TreeNode& node) {
  std::vector<double> values;
  node.each_element([&](const read::TreeNode& value) { values.push_back(value.number()); });
  return values;
}

double positive(const read::TreeNode& node) {
  const double value = node.number();
  if (!(value > 0)) node.fail("expected a number > 0");
  return value;
}

double transfer_factor(std::string_view parameter, double launch, double clock, double units) {
  if (parameter == "launch_us") return launch;
  for (const char* own : {"epilogue_us", "tile_epilogue_us", "fill_us", "step_us", "vector_us"}) {
    if (parameter == own) return 1 / clock;
  }
  if (parameter == "shared_gb_per_s") return clock;
  return parameter == "l2_tb_per_s" ? clock * units : 1;
}

}  // namespace

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::stod(fmt::format("{:.4g}", value));
}

std::vector<double> parameter_values(const read::Parameters& parameters,
                                     std::span<const ParameterSpec> specs) {
  std::vector<double> values;
  for (const ParameterSpec& spec : specs) {
    const double value = parameters.number(spec.name);
    if (!(value > 0)) {
      throw read::InputError(fmt::format("{}: /parameters/{}: expected a number > 0, found {}",
                                         parameters.label, spec.name, value));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<double> values_on(const read::Machine& machine, const read::Parameters& parameters,
                              std::span<const ParameterSpec> specs) {
  std::vector<double> values = parameter_values(parameters, specs);
  if (parameters.machine == machine.id || !machine.boost_clock_mhz) return values;
  for (const read::Machine& trained : builtin_machines()) {
    if (trained.id != parameters.machine || !trained.boost_clock_mhz) continue;
    const double launch =
        is_timed_on_the_gpu(parameters.number("launch_us"), trained.launch_floor_us)
            ? launch_factor(trained, machine)
            : 1;
    const double clock = *machine.boost_clock_mhz / *trained.boost_clock_mhz;
    const double units =
        static_cast<double>(machine.sm_count) / static_cast<double>(trained.sm_count);
    for (std::size_t i = 0; i < specs.size(); ++i)
      values[i] *= transfer_factor(specs[i].name, launch, clock, units);
  }
  return values;
}

bool is_timed_on_the_gpu(double launch_us, double floor_us) {
  constexpr double launches_of_a_good_timer = 3.0;
  return launch_us <= launches_of_a_good_timer * floor_us;
}

const std::string& key_word(const read::Parameters& parameters, const std::string& name) {
  const auto it = parameters.key.find(name);
  if (it == parameters.key.end()) {
    throw read::InputError(fmt::format("{}: /key: missing \"{}\"", parameters.label, name));
  }
  return it->second;
}

json residual_json(const StoredResidual& residual) {
  const auto& length = residual.scales.length;
  json points = json::array();
  for (const RawPoint& point : residual.points)
    points.push_back(point);
  return {{"kind", kKind},
          {"length", rounded_list({length.data(), length.data() + length.size()})},
          {"signal", rounded(residual.scales.signal)},
          {"noise", rounded(residual.scales.noise)},
          {"points", points},
          {"targets", rounded_list(residual.targets)},
          {"noise_factors", rounded_list(residual.noise_factors)},
          {"usual_errors", rounded_list(residual.usual_errors)}};
}

json conformal_json(const ConformalTable& table) {
  json scores = json::object();
  for (const auto& [regime, values] : table.scores())
    scores[regime] = rounded_list(values);
  json conformal{{"scores", scores}};
  if (std::isfinite(table.longest_us())) conformal["longest_us"] = rounded(table.longest_us());
  return conformal;
}

MaternProcess read_residual(const read::Parameters& parameters, std::size_t point_size,
                            const FeaturesOf& features) {
  if (parameters.residual.empty()) return {};
  const base::JsonValue document = read::tree_of("residual", parameters.residual);
  const read::TreeNode node = read::TreeNode(document, parameters.label).member("residual");
  const read::TreeNode kind = node.member("kind");
  if (kind.text() != kKind) kind.fail(fmt::format("expected \"{}\"", kKind));

  MaternScales scales;
  const std::vector<double> length = number_list(node.member("length"));
  scales.length =
      Eigen::Map<const Eigen::VectorXd>(length.data(), static_cast<Eigen::Index>(length.size()));
  scales.signal = positive(node.member("signal"));
  scales.noise = positive(node.member("noise"));
  if (!(scales.length.array() > 0).all()) node.member("length").fail("expected numbers > 0");

  std::vector<Eigen::VectorXd> points;
  node.member("points").each_element([&](const read::TreeNode& point) {
    const RawPoint raw = number_list(point);
    if (raw.size() != point_size) point.fail(fmt::format("expected {} numbers", point_size));
    if (!std::all_of(raw.begin(), raw.end(), [](double value) { return value > 0; })) {
      point.fail("expected numbers > 0");
    }
    points.push_back(features(raw));
    if (points.back().size() != scales.length.size()) {
      node.member("length").fail(fmt::format("expected {} numbers", points.back().size()));
    }
  });
  const std::vector<double> targets = number_list(node.member("targets"));
  const std::vector<double> factors = number_list(node.member("noise_factors"));
  if (targets.size() != points.size() || factors.size() != points.size()) {
    node.member("targets").fail(fmt::format("expected {} numbers", points.size()));
  }
  const auto count = static_cast<Eigen::Index>(points.size());
  if (count == 0) return {};
  Eigen::MatrixXd inputs(count, scales.length.size());
  for (Eigen::Index i = 0; i < count; ++i)
    inputs.row(i) = points[static_cast<std::size_t>(i)].transpose();
  try {
    return {scales, inputs, Eigen::Map<const Eigen::VectorXd>(targets.data(), count),
            Eigen::Map<const Eigen::VectorXd>(factors.data(), count)};
  } catch (const std::invalid_argument& error) {
    node.fail(error.what());
  }
}

LocalScale read_local_scale(const read::Parameters& parameters) {
  if (!parameters.residual.contains("usual_errors")) return {};
  const base::JsonValue document = read::tree_of("residual", parameters.residual);
  const read::TreeNode residual = read::TreeNode(document, parameters.label).member("residual");
  const read::TreeNode node = residual.member("usual_errors");
  const std::vector<double> errors = number_list(node);
  const std::size_t points = number_list(residual.member("targets")).size();
  if (errors.size() != points) node.fail(fmt::format("expected {} numbers", points));
  try {
    return LocalScale(
        Eigen::Map<const Eigen::ArrayXd>(errors.data(), static_cast<Eigen::Index>(errors.size())));
  } catch (const std::invalid_argument&) {
    node.fail("expected numbers > 0");
  }
}

ConformalTable read_conformal(const read::Parameters& parameters) {
  if (parameters.conformal.empty()) return {};
  const base::JsonValue document = read::tree_of("conformal", parameters.conformal);
  std::map<std::string, std::vector<double>, std::less<>> scores;
  const read::TreeNode node = read::TreeNode(document, parameters.label).member("conformal");
  node.member("scores").each_member([&](std::string_view regime, const read::TreeNode& values) {
    scores.emplace(regime, number_list(values));
  });
  if (!node.has("longest_us")) return ConformalTable(std::move(scores));
  return ConformalTable(std::move(scores), positive(node.member("longest_us")));
}

Calibration read_calibration(const read::Parameters& parameters, std::size_t point_size,
                             const FeaturesOf& features, double unit_sigma, bool uses_mean) {
  return {read_residual(parameters, point_size, features), read_local_scale(parameters),
          read_conformal(parameters), unit_sigma, uses_mean};
}

void each_group(const read::Parameters& parameters, const char* member,
                const std::function<void(const std::string& name, const read::Parameters& own,
                                         const read::TreeNode& node)>& use) {
  const base::JsonValue document = read::tree_of("parameters", parameters.parameters);
  const read::TreeNode groups =
      read::TreeNode(document, parameters.label).member("parameters").member(member);
  groups.each_member([&](std::string_view name, const read::TreeNode& node) {
    const std::string word(name);
    const nlohmann::json& group = parameters.parameters[member][word];
    read::Parameters own;
    own.label = fmt::format("{}: {}", parameters.label, name);
    own.machine = parameters.machine;
    static_cast<void>(node.member("parameters"));
    own.parameters = group["parameters"];
    if (node.has("residual")) own.residual = group["residual"];
    if (node.has("conformal")) own.conformal = group["conformal"];
    use(word, own, node);
  });
}

}  // namespace inline_prof::model
