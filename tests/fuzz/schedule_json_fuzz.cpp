// schedule.json: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/error.hpp"
#include "schedule/schedule_json.hpp"

#include <cstdint>
#include <optional>

namespace {

using namespace inline_prof;

std::optional<schedule::Spec> parse(std::string_view text) {
  try {
    schedule::Spec spec = schedule::parse_schedule_json(text, "fuzz");
    spec.warnings.clear();  // they are about the text, not about what it asks for
    return spec;
  } catch (const schedule::ScheduleError&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = parse(fuzz::as_text(data, size));
  if (!spec) return 0;
  const auto again = parse(schedule::write_schedule_json(*spec));
  fuzz::require(again.has_value(), "what was written can be read");
  fuzz::require(*again == *spec, "what was written is what was read");
  return 0;
}
