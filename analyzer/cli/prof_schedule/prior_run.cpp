#include "cli/prof_schedule/prior_run.hpp"

#include "base/median.hpp"
#include "schedule/error.hpp"
#include "schedule/json_tree.hpp"
#include "schedule/read_request.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace inline_prof::cli {
namespace {

using nlohmann::json;
using schedule::ScheduleError;

// A real file of 512 events with 50 samples each has 1.2 MB.
constexpr std::size_t kMaxProfBytes = std::size_t{512} << 20U;

// In one-shot files of the second generation this event's times are the iteration times.
constexpr const char* kIterationEvent = "iteration";

// A value of the file and its place, for complaints.
class Node {
 public:
  Node(const json& value, const std::string& file, std::string place)
      : value_(value), file_(file), place_(std::move(place)) {}

  [[nodiscard]] std::optional<Node> member(const char* key) const {
    if (!value_.is_object()) fail("an object");
    const auto found = value_.find(key);
    if (found == value_.end()) return std::nullopt;
    return Node(*found, file_, fmt::format("{}/{}", place_, key));
  }

  // The first of the two that is there: generations differ in their names.
  [[nodiscard]] Node member(const char* key, const char* older_key) const {
    if (const auto found = member(key)) return *found;
    if (const auto found = member(older_key)) return *found;
    throw ScheduleError(file_, place_, fmt::format("no \"{}\", expected an event's", key));
  }

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail("a string");
    return value_.get<std::string>();
  }

  [[nodiscard]] std::int64_t count() const {
    if (!value_.is_number_unsigned() ||
        value_.get<std::uint64_t>() > std::numeric_limits<int>::max()) {
      fail("an integer of 0 or more");
    }
    return value_.get<std::int64_t>();
  }

  [[nodiscard]] std::vector<Node> elements() const {
    if (!value_.is_array()) fail("an array");
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      nodes.emplace_back(value_[i], file_, fmt::format("{}/{}", place_, i));
    }
    return nodes;
  }

  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> numbers;
    for (const Node& element : elements()) {
      if (!element.value_.is_number()) element.fail("a number");
      numbers.push_back(element.value_.get<double>());
    }
    return numbers;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw ScheduleError(
        file_, place_.empty() ? "/" : place_,
        fmt::format("a value of type {}, expected {}", value_.type_name(), expected));
  }

  const json& value_;
  const std::string& file_;
  std::string place_;
};

std::string text_or_empty(const std::optional<Node>& node) {
  return node ? node->text() : std::string();
}

bool was_measurable(const Node& event) {
  const auto flags = event.member(format::kFlags);
  if (!flags) return true;
  for (const Node& flag : flags->elements()) {
    if (flag.text() == format::kFlagNotMeasurable) return false;
  }
  return true;
}

json parse(const std::string& path) {
  const std::string text = schedule::read_text(path, schedule::Accept::kAnyStream, kMaxProfBytes);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw ScheduleError(path, schedule::json_place(text, std::min(offset, text.size())),
                        "not valid JSON, expected a prof.json");
  } catch (const json::exception&) {
    throw ScheduleError(path, "/", "a number too large, expected a prof.json");
  }
}

}  // namespace

PriorRun read_prior_run(const std::string& path) {
  const json document = parse(path);
  const Node root(document, path, "");
  const auto events = root.member(format::kEvents);
  if (!events) throw ScheduleError(path, "/", "no \"events\", expected a prof.json");

  PriorRun run;
  std::vector<double> iteration_ms;
  const auto iteration_times = root.member(format::kIterTimeMs);
  if (iteration_times) iteration_ms = iteration_times->numbers();

  std::vector<std::pair<std::int64_t, schedule::MetEvent>> found;  // with the start index
  for (const Node& event : events->elements()) {
    schedule::MetEvent met{
        .event = event.member(format::kEventName, format::kName).text(),
        .layer = text_or_empty(event.member(format::kLayerName)),
        .occurrence = static_cast<int>(
            event.member(format::kMetTimesWithinThisStream, format::kGeneration1Occurrence)
                .count()),
        .kernel = text_or_empty(event.member(format::kKernelName))};
    if (!iteration_times && met.event == kIterationEvent) {
      const std::vector<double> times =
          event.member(format::kMeasuredTimesMs, format::kMeasuredTimesMs).numbers();
      iteration_ms.insert(iteration_ms.end(), times.begin(), times.end());
    } else if (was_measurable(event)) {
      const auto start = event.member(format::kStartIndex);
      found.emplace_back(start ? start->count() : 0, std::move(met));
    } else {
      ++run.not_measurable_count;
    }
  }
  if (!iteration_ms.empty()) run.iteration_ms = base::median(std::move(iteration_ms));

  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<std::tuple<std::string, std::string, int>> seen;  // other devices repeat it
  for (auto& [start, met] : found) {
    if (seen.emplace(met.event, met.layer, met.occurrence).second) {
      run.met.push_back(std::move(met));
    }
  }
  return run;
}

}  // namespace inline_prof::cli
