#include "export/formats.hpp"
#include "export/values.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::exports {
namespace {

Json prediction_json(const join::Row& row, double duration_us) {
  Json json;
  if (row.predicted_us) {
    json["predicted_us"] = *row.predicted_us;
    if (row.predicted_ci90_us) {
      json["predicted_lower_us"] = row.predicted_ci90_us->lower;
      json["predicted_upper_us"] = row.predicted_ci90_us->upper;
    }
    // This launch against the prediction; the verdict is of the median over the steps.
    if (*row.predicted_us > 0) json["ratio"] = duration_us / *row.predicted_us;
    json["limit"] = row.bound;
    json["model"] = row.model;
  }
  json["verdict"] = join::verdict_text(row);
  if (row.attainable_us) json["attainable_us"] = *row.attainable_us;
  const std::string& reason = row.predicted_us ? row.remedy.str() : row.reason.str();
  if (!reason.empty()) json["reason"] = reason;
  return json;
}

}  // namespace

std::string augmented_trace(const read::torch_trace::TracedWorks& trace,
                            const join::Analysis& analysis) {
  constexpr std::size_t usual_bytes = 200;  // of what a work gets
  std::string out;
  out.reserve(trace.text.size() + usual_bytes * trace.works.size());
  std::size_t written = 0;
  for (const read::torch_trace::TracedWork& work : trace.works) {
    const Json json = work.event && *work.event < analysis.rows.size()
                          ? prediction_json(analysis.rows[*work.event], work.duration_us)
                          : Json{{"verdict", "no prediction"},
                                 {"reason", "outside of the steps, or in less than half of them"}};
    out.append(trace.text, written, work.args_end - written);
    written = work.args_end;
    const std::string members = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (work.has_args) out += ", ";
    out.append(members, 1, members.size() - 2);  // without braces
  }
  out.append(trace.text, written);
  return out;
}

}  // namespace inline_prof::exports
