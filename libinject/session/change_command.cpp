#include "session/change_command.hpp"

#include "record/json_writer.hpp"

#include <array>
#include <utility>

namespace inline_prof::session {
namespace {

constexpr double kSecondsBetweenCommands = 60;

// With a point, whatever the application's locale is.
std::string text_of_number(double value) {
  record::JsonWriter json;
  json.number(value);
  return json.str();
}

}  // namespace

std::string ChangeCommand::tell(const Report& report, double now_s) {
  if ((started_s_ && now_s - *started_s_ < kSecondsBetweenCommands) || command_.is_running()) {
    ++left_out_;
    return "";
  }
  started_s_ = now_s;
  constexpr std::array<const char*, 3> kinds{"event", "layer", "iteration"};
  const watch::Change& change = report.change.change;
  const std::array<std::pair<std::string, std::string>, 11> variables{{
      {"CHANGE_OF", kinds[static_cast<std::size_t>(report.change.of)]},
      {"CHANGE_NAME", report.name},
      {"CHANGE_RATIO", text_of_number(change.ratio)},
      {"CHANGE_BEFORE_US", text_of_number(change.before_ns * 1e-3)},
      {"CHANGE_AFTER_US", text_of_number(change.after_ns * 1e-3)},
      {"CHANGE_ITERATION", std::to_string(change.began_iteration)},
      {"CHANGE_REASON", report.change.reason},
      {"CHANGE_TEXT", report.text},
      {"CHANGE_RANK", report.rank},
      {"CHANGE_FILE", report.file},
      {"CHANGE_LEFT_OUT", std::to_string(std::exchange(left_out_, 0))},
  }};
  return command_.start(variables);
}

}  // namespace inline_prof::session
