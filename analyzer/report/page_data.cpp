#include "report/page_data.hpp"

#include "join/columns.hpp"
#include "join/layer_sums.hpp"
#include "join/phase_words.hpp"
#include "join/timeline_layout.hpp"
#include "report/findings.hpp"
#include "report/head.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

namespace inline_prof::report {
namespace {

using Json = nlohmann::ordered_json;

// Enough iterations to see a distribution; beyond that every k-th is sent.
constexpr std::size_t kMostIterations = 4000;

// Six digits: more than any measured time has, and half the bytes of a double.
constexpr const char* kNumberFormat = "{:.6g}";

Json number(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format(fmt::runtime(kNumberFormat), value).c_str(), nullptr);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json();
}

// Each name once.
class Names {
 public:
  std::size_t operator()(const std::string& name) {
    const auto [it, is_new] = number_of_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return it->second;
  }
  [[nodiscard]] Json take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, std::size_t> number_of_;
  Json names_ = Json::array();
};

template <typename Rows, typename Value>
Json column(const Rows& rows, const Value& value) {
  Json values = Json::array();
  for (const auto& row : rows)
    values.push_back(value(row));
  return values;
}

// As it stands in the page.
struct PageValue {
  Names& names;
  Json operator()(double value) const { return number(value); }
  Json operator()(const std::string& value) const { return names(value); }
  template <typename Value>
  Json operator()(const Value& value) const {
    if constexpr (std::is_constructible_v<Json, Value>) return value;
    return {};
  }
};

// Those that the table of columns has.
template <typename Rows>
void add(Json& json, const Rows& rows, Names& names,
         std::initializer_list<std::string_view> columns) {
  using Row = typename Rows::value_type;
  for (const std::string_view name : columns) {
    const join::Column<Row>& of = join::column_of<Row>(name);
    json[std::string(name)] =
        column(rows, [&](const Row& row) { return std::visit(PageValue{names}, of.value(row)); });
  }
}

// What a verdict is drawn as.
const char* kind_of(join::Verdict verdict) {
  switch (verdict) {
    case join::Verdict::kSlower:
      return "slower";
    case join::Verdict::kFaster:
      return "faster";
    case join::Verdict::kAsPredicted:
      return "expected";
    case join::Verdict::kAboveBound:
      return "bound";
    default:
      return "unknown";
  }
}

// What a row and a merged row have in common.
template <typename Rows>
void add_comparison(Json& json, const Rows& rows, Names& names) {
  using Row = typename Rows::value_type;
  add(json, rows, names,
      {"samples", "not_tight", "raw_us", "corrected_us", "in_iteration_us", "predicted_us"});
  json["lower_us"] = column(rows, [](const Row& row) {
    return row.predicted_ci90_us ? number(row.predicted_ci90_us->lower) : Json();
  });
  json["upper_us"] = column(rows, [](const Row& row) {
    return row.predicted_ci90_us ? number(row.predicted_ci90_us->upper) : Json();
  });
  add(json, rows, names, {"ratio", "verdict"});
  json["bound"] = column(rows, [&](const Row& row) { return names(row.bound); });
  json["model"] = column(rows, [&](const Row& row) {
    return names(row.parameters.empty() ? std::string(row.model)
                                        : fmt::format("{}, {}", row.model, row.parameters));
  });
}

Json merged_json(const join::Analysis& analysis, Names& names) {
  const auto& merged = analysis.merged;
  using Row = join::MergedRow;
  const auto first = [&](const Row& row) -> const join::Row& {
    return analysis.rows[row.rows.front()];
  };
  Json json;
  add(json, merged, names, {"layer"});
  json["event"] =
      column(merged, [&](const Row& row) { return names(readable_event(row.event, row.source)); });
  json["kernel"] = column(
      merged, [&](const Row& row) { return names(readable_name(first(row).kernel_name.str())); });
  json["op"] = column(merged, [&](const Row& row) { return names(first(row).op_kind); });
  json["flops"] = column(merged, [&](const Row& row) { return number(first(row).flops); });
  json["bytes"] = column(merged, [&](const Row& row) { return number(first(row).bytes); });
  add(json, merged, names, {"occurrence", "calls", "parent", "rows", "share_percent"});
  json["kind"] = column(merged, [&](const Row& row) { return names(kind_of(row.verdict)); });
  json["slowest_us"] = column(merged, [](const Row& row) { return number(row.slowest_us); });
  add(json, merged, names, {"outliers"});
  json["ci_lower_us"] = column(merged, [](const Row& row) {
    return row.raw_ci95_us ? number(row.raw_ci95_us->lower) : Json();
  });
  json["ci_upper_us"] = column(merged, [](const Row& row) {
    return row.raw_ci95_us ? number(row.raw_ci95_us->upper) : Json();
  });
  add_comparison(json, merged, names);
  if (!analysis.vendor.empty()) add(json, merged, names, {"vendor_estimate_us"});
  return json;
}

Json rows_json(const join::Analysis& analysis, Names& names) {
  const auto& rows = analysis.rows;
  using Row = join::Row;
  std::vector<std::size_t> merged_of(rows.size());
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    for (const std::size_t row : analysis.merged[i].rows)
      merged_of[row] = i;
  }
  Json json;
  json["merged"] = merged_of;
  json["run"] = column(rows, [](const Row& row) { return row.profile; });
  json["device"] = column(rows, [](const Row& row) { return row.device_id; });
  json["stream"] = column(rows, [](const Row& row) { return row.stream_index; });
  json["offset_us"] = column(rows, [](const Row& row) { return number(row.offset_us); });
  json["mad_us"] = column(rows, [](const Row& row) {
    return row.raw_spread_us ? number(row.raw_spread_us->mad) : Json();
  });
  json["outliers"] = column(
      rows, [](const Row& row) { return row.raw_spread_us ? row.raw_spread_us->outliers : 0; });
  add_comparison(json, rows, names);
  return json;
}

Json layers_json(const join::Analysis& analysis, Names& names) {
  const std::vector<join::LayerSum> sums = join::layer_sums(analysis);
  Json json;
  json["name"] = column(sums, [&](const join::LayerSum& sum) { return names(sum.layer); });
  json["rows"] = column(sums, [](const join::LayerSum& sum) { return sum.rows; });
  json["outer_rows"] = column(sums, [](const join::LayerSum& sum) { return sum.outer_rows; });
  json["time_us"] = column(sums, [](const join::LayerSum& sum) { return number(sum.time_us); });
  json["share_percent"] =
      column(sums, [](const join::LayerSum& sum) { return number(sum.share_percent); });
  json["compared_us"] =
      column(sums, [](const join::LayerSum& sum) { return number(sum.compared_us); });
  json["predicted_us"] =
      column(sums, [](const join::LayerSum& sum) { return number(sum.predicted_us); });
  json["ratio"] = column(sums, [](const join::LayerSum& sum) { return number(sum.ratio); });
  return json;
}

Json tracks_json(const join::Analysis& analysis) {
  Json json = Json::array();
  for (const join::TimelineTrack& track : join::timeline_layout(analysis)) {
    Json one;
    one["run"] = track.run;
    one["device"] = track.device_id;
    one["stream"] = track.stream_index;
    one["lanes"] = track.lanes;
    one["row"] = column(track.bars, [](const join::TimelineBar& bar) { return bar.row; });
    one["start_us"] =
        column(track.bars, [](const join::TimelineBar& bar) { return number(bar.start_us); });
    one["length_us"] =
        column(track.bars, [](const join::TimelineBar& bar) { return number(bar.length_us); });
    one["lane"] = column(track.bars, [](const join::TimelineBar& bar) { return bar.lane; });
    one["has_place"] =
        column(track.bars, [](const join::TimelineBar& bar) { return bar.has_place; });
    json.push_back(std::move(one));
  }
  return json;
}

Json run_json(const join::Run& run) {
  const read::Profile& profile = run.profile;
  Json json;
  json["file"] = profile.file;
  json["host"] = profile.host_name;
  json["rank"] = profile.rank ? Json(*profile.rank) : Json();
  json["iteration_us"] = number(run.iteration_us);
  const std::size_t step = profile.iter_time_ms.size() / kMostIterations + 1;
  json["every"] = step;
  json["iterations_us"] = Json::array();
  for (std::size_t i = 0; i < profile.iter_time_ms.size(); i += step)
    json["iterations_us"].push_back(number(profile.iter_time_ms[i] * 1e3));
  return json;
}

// Number, words and whether it is this one, of the measured phases; none where there is one.
Json phases_json(const join::Analysis& analysis) {
  Json json = Json::array();
  for (const join::Run& run : analysis.runs) {
    const auto& phases = run.profile.phases;
    if (phases.size() < 2) continue;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      if (!phases[i].measured) continue;
      json.push_back(Json::array({i + 1, join::phase_words(phases[i]), i == run.profile.phase}));
    }
    break;
  }
  return json;
}

Json machine_json(const read::Machine& machine) {
  Json json;
  json["id"] = machine.id;
  json["gb_per_s"] = number(machine.reached_gb_per_s());
  json["tflops"] = Json::object();
  for (const auto& [type, peak] : machine.peak_tflops)
    json["tflops"][type] = number(machine.reached_tflops(type));
  return json;
}

Json worth_fixing_json(const join::Analysis& analysis) {
  Json json = Json::array();
  for (const std::size_t row : analysis.worth_fixing)
    json.push_back(Json::array({row, number(analysis.merged[row].saved_us_if_predicted)}));
  return json;
}

// The machines that the analysis names, comma-separated.
Json machines_json(const join::Analysis& analysis, std::span<const read::Machine> machines) {
  Json json = Json::array();
  std::string_view rest = analysis.machine;
  while (!rest.empty()) {
    const std::string_view id = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), id.size() + 1));
    const auto it = std::ranges::find(machines, id, &read::Machine::id);
    if (it != machines.end()) json.push_back(machine_json(*it));
  }
  return json;
}

Json shares_json(const std::optional<join::Shares>& shares) {
  if (!shares) return {};
  return Json::array({number(shares->predicted), number(shares->measured), number(shares->seen),
                      number(shares->idle)});
}

// A '<' stands in strings only, and there it may be written as its number.
std::string without_tags(const std::string& text) {
  std::string clean;
  clean.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      clean += "\\u003c";
    } else {
      clean += c;
    }
  }
  return clean;
}

std::string samples_text(const join::Analysis& analysis) {
  std::string text = "[";
  const auto out = std::back_inserter(text);
  for (const auto& samples : analysis.samples_us) {
    if (text.size() > 1) text += ',';
    text += '[';
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (i > 0) text += ',';
      fmt::format_to(out, fmt::runtime(kNumberFormat), samples[i]);
    }
    text += ']';
  }
  return text + "]";
}

}  // namespace

PageData page_data(const join::Analysis& analysis, std::span<const read::Machine> machines) {
  Names names;
  Json json;
  const Findings found = findings(analysis);
  json["findings"] = {{"what", found.what}, {"why", found.why}, {"next", found.next}};
  json["head"] = Json::array();
  for (const HeadLine& line : head_lines(analysis))
    json["head"].push_back(Json::array({line.label, line.text}));
  json["phases"] = phases_json(analysis);
  json["iteration_us"] = number(analysis.iteration_us);
  json["shares_percent"] = shares_json(analysis.shares_percent);
  json["shares_us"] = shares_json(analysis.shares_us);
  json["shares_reason"] = analysis.shares_reason;
  json["machines"] = machines_json(analysis, machines);
  json["runs"] = column(analysis.runs, [](const join::Run& run) { return run_json(run); });
  json["layers"] = layers_json(analysis, names);
  json["merged"] = merged_json(analysis, names);
  json["rows"] = rows_json(analysis, names);
  json["vendor"] = analysis.vendor;
  json["worth_fixing"] = worth_fixing_json(analysis);
  json["tracks"] = tracks_json(analysis);
  json["names"] = names.take();
  // Names come from a file: bytes that are no UTF-8 are replaced.
  return {without_tags(json.dump(-1, ' ', false, Json::error_handler_t::replace)),
          samples_text(analysis)};
}

}  // namespace inline_prof::report
