#include "session/control.hpp"

#include "record/json_writer.hpp"
#include "record/output_file.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"
#include "sys/control_file.hpp"

#include <array>
#include <cstdio>
#include <unistd.h>

namespace inline_prof::session {
namespace {

const char* words_for(RunState state, bool is_watched) {
  switch (state) {
    case RunState::kBeforeIterations:
      return "before the first iteration";
    case RunState::kWithoutIterations:
      return "sampling without iterations";
    case RunState::kDiscovering:
      return "in the warm-up";
    case RunState::kMeasuring:
      return is_watched ? "watching" : "measuring";
    case RunState::kOverheadMeasurement:
    case RunState::kDraining:
      return "measuring its overhead";
    case RunState::kUnitTests:
      return "measuring unit tests";
    case RunState::kDone:
      break;
  }
  return "done";
}

constexpr double kSecondsBetweenCommands = 60;

// With a point, whatever the application's locale is.
std::string text_of_number(double value) {
  record::JsonWriter json;
  json.number(value);
  return json.str();
}

}  // namespace

void Control::look() {
  const sys::ControlText found = sys::read_control_file(path_, geteuid());
  if (!found.problem.empty()) {
    return session_.warn_once("INLINE_PROF_CONTROL: " + path_ + " " + found.problem +
                              ": requests are not read");
  }
  std::string request = found.word + " " + found.id;
  if (request == last_) return;
  last_ = std::move(request);
  if (found.word.empty() || found.word == sys::kDone || found.word == sys::kRefused) return;
  const Answer answer = carry_out(found.word);
  // It may be a file of the user's that was named by mistake, and stays.
  if (answer.sentence.empty()) {
    return session_.warn_once("INLINE_PROF_CONTROL: " + path_ + " holds no request, expected " +
                              sys::describe_control_requests());
  }
  std::string text(answer.is_done ? sys::kDone : sys::kRefused);
  text.append(" ").append(found.id).append(" ").append(answer.sentence).append("\n");
  const std::string error = record::OutputFile::that_replaces(path_).write(text);
  if (!error.empty()) session_.warn_once("INLINE_PROF_CONTROL: no answer: " + error);
}

Control::Answer Control::carry_out(std::string_view request) {
  if (request == "pause") return pause(true);
  if (request == "resume") return pause(false);
  if (request == "characterise") return characterise();
  if (request == "write") return write();
  if (request == "status") return {.is_done = true, .sentence = status()};
  return {};
}

// While a phase is watched its iterations are counted on, so that all ranks measure the same
// afterwards.
Control::Answer Control::pause(bool wanted) {
  if (session_.config.trigger_signal != 0)
    return {.sentence = "INLINE_PROF_TRIGGER decides when this process measures"};
  const std::lock_guard lock(session_.mutex);
  session_.watching.pause(wanted);
  trigger::set_paused(wanted && !session_.watching.is_on());
  return {.is_done = true,
          .sentence = wanted ? "nothing is measured until it is resumed" : "measuring goes on"};
}

Control::Answer Control::characterise() {
  const std::lock_guard lock(session_.mutex);
  const std::string refusal = session_.phases.ask_to_begin_anew();
  if (!refusal.empty()) return {.sentence = refusal};
  session_.watching.look_now();
  return {.is_done = true, .sentence = "the next iteration begins a warm-up"};
}

Control::Answer Control::write() {
  std::string error = session_.writer->write_checkpoint_now();
  if (!error.empty()) return {.sentence = std::move(error)};
  return {.is_done = true, .sentence = session_.writer->path() + " is written"};
}

std::string Control::status() {
  std::string text = words_for(session_.state(), session_.watching.is_on());
  if (trigger::is_paused() || session_.watching.is_paused()) text += ", paused";
  text += ", iteration " + std::to_string(session_.iteration());
  session_.watching.update_record();
  const std::lock_guard lock(session_.run.mutex);
  if (const record::WatchRecord* watch = session_.run.watch.get()) {
    std::array<char, 96> numbers{};
    std::snprintf(numbers.data(), numbers.size(),
                  ", %llu pairs in %.3g %% of the time, %llu changes",
                  static_cast<unsigned long long>(watch->pairs), watch->cost_share * 100,
                  static_cast<unsigned long long>(watch->changes_found));
    text += numbers.data();
  }
  return text + ", " + session_.writer->path();
}

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
