// schedule.json: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/schedule_json.hpp"

void inline_prof::fuzz::check(const std::string& given) {
  const auto parse = [](const std::string& text) {
    schedule::Spec spec = schedule::parse_schedule_json(text, "fuzz");
    spec.warnings.clear();  // they are about the text, not about what it asks for
    return spec;
  };
  require_round_trip(given, parse, schedule::write_schedule_json);
}
