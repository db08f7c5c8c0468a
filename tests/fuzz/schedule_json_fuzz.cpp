// schedule.json: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/error.hpp"
#include "schedule/schedule_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inline_prof;
  return fuzz::require_round_trip<schedule::ScheduleError>(
      fuzz::as_text(data, size),
      [](auto text) {
        schedule::Spec spec = schedule::parse_schedule_json(text, "fuzz");
        spec.warnings.clear();  // they are about the text, not about what it asks for
        return spec;
      },
      schedule::write_schedule_json);
}
