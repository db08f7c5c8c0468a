// prof.events: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inline_prof;
  return fuzz::require_round_trip<schedule::ScheduleError>(
      fuzz::as_text(data, size),
      [](auto text) { return schedule::parse_prof_events(text, "fuzz"); },
      schedule::write_prof_events);
}
