#include "read/lines/lines.hpp"

#include "read/input_error.hpp"

#include <sstream>

namespace inline_prof::read {

Profile read_lines(std::string text, const std::string& label, Wanted /*wanted*/) {
  Profile profile;
  profile.file = label;
  profile.capabilities.format = "lines";
  profile.capabilities.has_event_pair_bias = false;
  std::istringstream lines(std::move(text));
  std::string title;
  std::getline(lines, title);
  Event event;
  double time_us = 0;
  constexpr double us_of_ms = 1000;
  while (lines >> event.name >> time_us) {
    event.start_index = 2 * static_cast<std::int64_t>(profile.events.size());
    event.end_index = event.start_index + 1;
    event.measured_ms = {time_us / us_of_ms};
    profile.events.push_back(event);
  }
  if (!lines.eof()) throw InputError(label + ": expected NAME US in each line");
  return profile;
}

}  // namespace inline_prof::read
