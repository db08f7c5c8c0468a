// prof.schedule: what was read can be written, and reads back as it was.
#include "property.hpp"
#include "schedule/error.hpp"
#include "schedule/text_formats.hpp"

#include <cstdint>
#include <optional>

namespace {

using namespace inline_prof;

std::optional<schedule::SampleList> parse(std::string_view text) {
  try {
    return schedule::parse_prof_schedule(text, "fuzz");
  } catch (const schedule::ScheduleError&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = parse(fuzz::as_text(data, size));
  if (!list) return 0;
  fuzz::require(parse(schedule::write_prof_schedule(*list)) == list,
                "what was written is what was read");
  return 0;
}
