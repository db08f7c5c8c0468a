#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

// The columns behind a name: the numbers, and "AMBIGUOUS (12)" with its mark.
constexpr std::size_t kNumbersWidth = 68;
// From here on the name stands on the same line.
constexpr std::size_t kOneLineWidth = kNumbersWidth + 44;

std::string name_of(const join::ComparedTime& time) {
  std::string name = time.layer;
  if (!time.event.empty()) name += (name.empty() ? "" : " ") + readable_name(time.event);
  if (time.occurrence > 0) name += fmt::format(" #{}", time.occurrence);
  return name.empty() ? "(no layer)" : printable(name);
}

// Returns the word with a sign beside it, which survives copying, and on a terminal a colour.
std::string marked(join::Change change, bool colour) {
  switch (change) {
    case join::Change::kSame:
      return fmt::format("= {}", change_name(change));
    case join::Change::kFaster:
      return painted(fmt::format("< {}", change_name(change)), Mood::kGood, colour);
    case join::Change::kSlower:
      return painted(fmt::format("> {}", change_name(change)), Mood::kBad, colour);
    case join::Change::kAmbiguous:
      break;
  }
  return painted(fmt::format("? {}", change_name(change)), Mood::kUnsure, colour);
}

class Table {
 public:
  // `longest` is the width of the longest name.
  Table(const TableOptions& options, std::size_t longest)
      : options_(options),
        is_one_line_(options.width >= kOneLineWidth),
        name_width_(is_one_line_ ? std::min(options.width - kNumbersWidth, longest)
                                 : options.width) {}

  void add_heading(std::string_view what) {
    out_ += '\n';
    if (is_one_line_) fmt::format_to(std::back_inserter(out_), "{:{}}", what, name_width_);
    fmt::format_to(std::back_inserter(out_), "{:{}} {:>11} {:>11} {:>7} {:>16}\n",
                   is_one_line_ ? "" : what, is_one_line_ ? 0 : kIndent, "before us", "after us",
                   "ratio", "95 % interval");
  }

  void add_line(const std::string& name, const join::ComparedTime& time) {
    const std::string shown = shortened(name, name_width_);
    out_ += shown;
    if (is_one_line_) {
      out_.append(name_width_ - columns(shown), ' ');
    } else {
      out_ += "\n" + std::string(kIndent, ' ');
    }
    fmt::format_to(
        std::back_inserter(out_), " {:>11.2f} {:>11.2f} {:>7} {:>16}  {}{}\n", time.before_us.value,
        time.after_us.value, time.ratio ? fmt::format("{:.3f}", *time.ratio) : "-",
        time.ratio_ci95
            ? fmt::format("[{:.3f}, {:.3f}]", time.ratio_ci95->lower, time.ratio_ci95->upper)
            : "-",
        marked(time.change, options_.colour),
        time.reason.empty() ? "" : fmt::format(" ({})", note_of(time.reason)));
  }

  void add_times(std::string_view what, const std::vector<join::ComparedTime>& times) {
    if (times.empty()) return;
    add_heading(what);
    const std::size_t shown =
        options_.top == 0 ? times.size() : std::min(options_.top, times.size());
    for (std::size_t i = 0; i < shown; ++i)
      add_line(name_of(times[i]), times[i]);
    if (shown < times.size()) {
      fmt::format_to(std::back_inserter(out_), "{} of {}, the largest first\n", shown,
                     times.size());
    }
  }

  // Reasons are long and few, so they stand below the rows.
  [[nodiscard]] std::string text() const {
    std::string out = out_;
    if (!notes_.empty()) out += '\n';
    for (std::size_t i = 0; i < notes_.size(); ++i)
      add_labelled(out, fmt::format("({})", i + 1), notes_[i], options_.width);
    return out;
  }

 private:
  static constexpr std::size_t kIndent = 12;

  std::size_t note_of(const std::string& reason) {
    const auto it = std::find(notes_.begin(), notes_.end(), reason);
    if (it != notes_.end()) return static_cast<std::size_t>(it - notes_.begin()) + 1;
    notes_.push_back(reason);
    return notes_.size();
  }

  const TableOptions& options_;
  bool is_one_line_;
  std::size_t name_width_;
  std::string out_;
  std::vector<std::string> notes_;
};

void add_missing(std::string& out, std::string_view where, const std::vector<std::string>& names,
                 std::size_t width) {
  constexpr std::size_t most = 5;
  if (names.empty()) return;
  std::string text = fmt::format("{} event{}: ", names.size(), names.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most) text += ", ...";
  add_labelled(out, fmt::format("only {}", where), text, width);
}

}  // namespace

std::string compare_table(const join::Comparison& comparison, const TableOptions& options) {
  std::string out;
  const auto add_phase = [&](const char* label, const std::string& own, const std::string& other) {
    if (!own.empty() || !other.empty())
      add_labelled(out, label, own.empty() ? "its only phase" : own, options.width);
  };
  add_phase("before", comparison.phase_before, comparison.phase_after);
  add_phase("after", comparison.phase_after, comparison.phase_before);
  for (const join::Difference& difference : comparison.differences)
    add_labelled(out, "differ", difference.text, options.width);
  add_missing(out, "before", comparison.only_before, options.width);
  add_missing(out, "after", comparison.only_after, options.width);
  add_labelled(out, "margin",
               fmt::format("ratios from {:.3f} to {:.3f} are the same",
                           comparison.same_ratios.lower, comparison.same_ratios.upper),
               options.width);
  if (!comparison.iteration && comparison.layers.empty() && comparison.events.empty()) {
    add_labelled(out, "nothing", "to compare: neither run has a time above 0", options.width);
  }
  std::size_t longest = std::string_view("iteration").size();
  for (const auto* times : {&comparison.layers, &comparison.events}) {
    for (const join::ComparedTime& time : *times)
      longest = std::max(longest, columns(name_of(time)));
  }
  Table table(options, longest);
  if (comparison.iteration) {
    table.add_heading("");
    table.add_line("iteration", *comparison.iteration);
  }
  table.add_times("layers", comparison.layers);
  table.add_times("events", comparison.events);
  return out + table.text();
}

}  // namespace inline_prof::report
