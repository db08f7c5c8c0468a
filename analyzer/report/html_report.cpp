
#include "join/rollups.hpp"
#include "join/timeline_layout.hpp"
#include "read/profile.hpp"
#include "report/columns.hpp"
#include "report/html_texts.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
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

// Numbers names, so that the page holds each once.
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

// A value as it stands in the page.
struct PageValue {
  Names& names;
  Json operator()(double value) const { return number(value); }
  Json operator()(const std::optional<double>& value) const { return number(value); }
  Json operator()(const std::string& value) const { return names(value); }
  Json operator()(const std::optional<join::Interval>& value) const {
    return value ? Json::array({number(value->lower), number(value->upper)}) : Json();
  }
  template <typename Other>
  Json operator()(const Other& value) const {
    if constexpr (std::is_constructible_v<Json, Other>) return value;
    return {};
  }
};

// The columns of the table that the page has.  A text that is not known is empty.
template <typename AnyRow>
Json columns_json(const std::vector<AnyRow>& rows, Names& names) {
  Json json = Json::object();
  for (const Column<AnyRow>& of : columns_of<AnyRow>()) {
    if (!of.shown.in_page) continue;
    const bool is_text = std::holds_alternative<std::string>(of.type);
    json[std::string(of.name)] = column(rows, [&](const AnyRow& row) {
      if (of.shown.cell != nullptr && is_text) return Json(names(of.shown.cell(row)));
      const Value value = of.value(row);
      const bool is_known = !std::holds_alternative<std::monostate>(value);
      return is_text && !is_known ? Json(names("")) : std::visit(PageValue{names}, value);
    });
  }
  return json;
}

// Returns the class that a verdict is drawn as.
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

Json merged_json(const join::Analysis& analysis, Names& names) {
  const auto& merged = analysis.merged;
  const auto of_first = [&](auto member) {
    return column(merged, [&, member](const join::MergedRow& row) {
      const auto& value = analysis.rows[row.rows.front()].*member;
      if constexpr (std::is_same_v<decltype(value), const std::optional<double>&>) {
        return number(value);
      } else {
        return Json(names(readable_name(value.str())));
      }
    });
  };
  Json json = columns_json(merged, names);
  json["kernel"] = of_first(&join::Row::kernel_name);
  json["op"] = of_first(&join::Row::op_kind);
  json["flops"] = of_first(&join::Row::flops);
  json["bytes"] = of_first(&join::Row::bytes);
  json["kind"] =
      column(merged, [&](const join::MergedRow& row) { return names(kind_of(row.verdict)); });
  return json;
}

Json rows_json(const join::Analysis& analysis, Names& names) {
  std::vector<std::size_t> merged_of(analysis.rows.size());
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    for (const std::size_t row : analysis.merged[i].rows)
      merged_of[row] = i;
  }
  Json json = columns_json(analysis.rows, names);
  json["merged"] = merged_of;
  return json;
}

// Adds members of each of `items`, column by column.
template <typename Item, typename... Member>
void add_members(Json& json, const std::vector<Item>& items, Names& names,
                 std::pair<const char*, Member>... members) {
  ((json[members.first] =
        column(items, [&](const Item& item) { return PageValue{names}(item.*members.second); })),
   ...);
}

Json layers_json(const join::Analysis& analysis, Names& names) {
  using Sum = join::LayerSum;
  Json json;
  add_members(json, join::layer_sums(analysis), names, std::pair("name", &Sum::layer),
              std::pair("rows", &Sum::rows), std::pair("outer_rows", &Sum::outer_rows),
              std::pair("time_us", &Sum::time_us), std::pair("share_percent", &Sum::share_percent),
              std::pair("compared_us", &Sum::compared_us),
              std::pair("predicted_us", &Sum::predicted_us), std::pair("ratio", &Sum::ratio));
  return json;
}

Json tracks_json(const join::Analysis& analysis, Names& names) {
  using Bar = join::TimelineBar;
  Json json = Json::array();
  for (const join::TimelineTrack& track : join::timeline_layout(analysis)) {
    Json one{{"run", track.run},
             {"device", track.device_id},
             {"stream", track.stream_index},
             {"lanes", track.lanes}};
    add_members(one, track.bars, names, std::pair("row", &Bar::row),
                std::pair("start_us", &Bar::start_us), std::pair("length_us", &Bar::length_us),
                std::pair("lane", &Bar::lane), std::pair("has_place", &Bar::has_place));
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
  json["iteration_us"] = number(run.iteration.us);
  const std::size_t step = profile.iter_time_ms.size() / kMostIterations + 1;
  json["every"] = step;
  json["iterations_us"] = Json::array();
  for (std::size_t i = 0; i < profile.iter_time_ms.size(); i += step)
    json["iterations_us"].push_back(number(profile.iter_time_ms[i] * 1e3));
  return json;
}

// Returns number, words and "is shown" of each measured phase; nothing if there is only one.
Json phases_json(const join::Analysis& analysis) {
  Json json = Json::array();
  for (const join::Run& run : analysis.runs) {
    const auto& phases = run.profile.phases;
    if (phases.size() < 2) continue;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      if (!phases[i].measured) continue;
      json.push_back(Json::array({i + 1, read::phase_words(phases[i]), i == run.profile.phase}));
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

Json causes_json(const std::vector<join::Cause>& causes) {
  Json json = Json::array();
  for (const join::Cause& cause : causes)
    json.push_back(
        Json::array({cause.name, number(cause.gain_us), number(cause.gain_percent),
                     number(cause.share_percent), cause.rows, cause.unit, cause.advice,
                     readable_name(cause.where), cause.row ? Json(*cause.row) : Json()}));
  return json;
}

Json totals_json(const std::vector<join::Total>& totals) {
  constexpr std::size_t most_totals = 15;
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(most_totals, totals.size()); ++i) {
    const join::Total& total = totals[i];
    json.push_back(
        Json::array({total.name, total.count, number(total.time_us), number(total.share_percent),
                     number(total.ratio), number(total.peak_part)}));
  }
  return json;
}

// Returns scores of models by kind, and a point for each of their predictions; nothing unless all
// models were asked.
Json models_json(const join::Analysis& analysis) {
  const auto scores = join::model_scores(analysis);
  if (scores.empty()) return {};
  Json table = Json::array();
  std::vector<std::string> models;
  for (const join::ModelScore& score : scores) {
    const auto percent = [&](double join::Errors::*member) {
      return score.errors ? number(100 * (*score.errors).*member) : Json();
    };
    table.push_back(Json::array({score.kind, score.model, score.rows, score.predicted,
                                 number(score.share_percent), percent(&join::Errors::gmae),
                                 percent(&join::Errors::mape), percent(&join::Errors::bias),
                                 score.inside, score.with_interval, score.reason}));
    if (score.predicted > 0 && std::ranges::find(models, score.model) == models.end())
      models.push_back(score.model);
  }
  Json points = Json::array();
  for (std::size_t i = 0; i < analysis.merged.size(); ++i) {
    const auto& times = join::by_model_of(analysis, analysis.merged[i]);
    const auto add = [&](const std::string& model, const std::optional<double>& time_us) {
      const auto place = std::ranges::find(models, model) - models.begin();
      if (time_us) points.push_back(Json::array({place, i, number(*time_us)}));
    };
    if (!times.empty()) add(join::kOwnChoice, analysis.merged[i].predicted_us);
    for (const join::ModelTime& time : times)
      add(time.model.str(), time.predicted_us);
  }
  return {{"scores", std::move(table)}, {"models", models}, {"points", std::move(points)}};
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

// Escapes '<', which JSON has in strings only.
std::string without_tags(std::string_view text) {
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

// Returns those of each row; "[]" if the analysis has kept none.
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

// Returns the data that report/html/page.js shows, as JSON without a '<', so that it can stand in a
// page.  A format between these two files only: tables are columns side by side, names are numbers
// into "names".
std::string report_text(const join::Analysis& analysis, std::span<const read::Machine> machines) {
  Names names;
  Json json;
  const Findings found = findings(analysis);
  json["findings"] = {{"what", found.what}, {"why", found.why}, {"next", found.next}};
  json["head"] = Json::array();
  json["meanings"] = Json::object();
  for (const HeadLine& line : head_lines(analysis)) {
    json["head"].push_back(Json::array({line.label, line.text}));
    if (const auto meaning = meaning_of(line.label); !meaning.empty())
      json["meanings"][line.label] = meaning;
  }
  json["phases"] = phases_json(analysis);
  json["iteration_us"] = number(analysis.iteration.us);
  json["shares_percent"] = shares_json(analysis.shares_percent);
  json["shares_us"] = shares_json(analysis.shares_us);
  json["shares_reason"] = analysis.shares_reason;
  json["machines"] = machines_json(analysis, machines);
  json["runs"] = column(analysis.runs, [](const join::Run& run) { return run_json(run); });
  json["layers"] = layers_json(analysis, names);
  json["merged"] = merged_json(analysis, names);
  json["rows"] = rows_json(analysis, names);
  json["causes"] = causes_json(join::find_causes(analysis));
  json["totals"] =
      Json::array({Json::array({"Layers", totals_json(join::totals_by_layer_pattern(analysis))}),
                   Json::array({"Operators", totals_json(join::totals_by_operator(analysis))})});
  json["models"] = models_json(analysis);
  json["tracks"] = tracks_json(analysis, names);
  json["names"] = names.take();
  // Names come from a file: bytes that are no UTF-8 are replaced.
  return without_tags(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns `page` with every {{name}} replaced, in one pass.
std::string filled(std::string_view page,
                   const std::map<std::string_view, std::string_view>& parts) {
  std::string text;
  while (true) {
    const std::size_t open = page.find("{{");
    const std::size_t close = page.find("}}", open);
    text += page.substr(0, open);
    if (open == std::string_view::npos || close == std::string_view::npos) return text;
    text += parts.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
}

std::string script(std::string_view id, std::size_t phase, std::string_view json) {
  return fmt::format("<script type=\"application/json\" id=\"{}-phase-{}\">{}</script>\n", id,
                     phase, json);
}

}  // namespace

std::string html_report(const join::Analysis& analysis, std::span<const read::Machine> machines,
                        std::span<const join::Analysis> other_phases) {
  const HtmlTexts texts = html_texts();
  const std::string data = report_text(analysis, machines), samples = samples_text(analysis);
  std::string others;
  for (const join::Analysis& phase : other_phases) {
    const std::size_t number = phase.runs.front().profile.phase + 1;
    others += script("report-data", number, report_text(phase, machines));
    others += script("sample-data", number, samples_text(phase));
  }
  return filled(texts.page, {{"style", texts.style},
                             {"charts_license", texts.charts_license},
                             {"charts", texts.charts},
                             {"data", data},
                             {"samples", samples},
                             {"other_phases", others},
                             {"common", texts.common},
                             {"program", texts.program}});
}

std::string history_page(std::string_view json) {
  const HtmlTexts texts = html_texts();
  const std::string data = without_tags(json);
  return filled(texts.history_page, {{"style", texts.style},
                                     {"data", data},
                                     {"common", texts.common},
                                     {"program", texts.history_program}});
}

bool html_has_charts() {
  return !html_texts().charts.empty();
}

}  // namespace inline_prof::report
