// prof.schedule: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/read_request.hpp"

void inline_prof::fuzz::check(const std::string& given) {
  require_round_trip(
      given, [](const auto& text) { return schedule::parse_prof_schedule(text, "fuzz"); },
      schedule::write_prof_schedule);
}
