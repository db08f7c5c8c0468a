// Two runs beside each other: what changed, by how much, and which layers did it.
#include "join/rows/row.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

namespace inline_prof::report {
namespace {

using join::Change;
using join::ComparedTime;
using join::Comparison;

constexpr std::size_t kMostCauses = 3;

std::string name_of(const ComparedTime& time) {
  std::string name = time.layer;
  if (!time.event.empty())
    name += (name.empty() ? "" : " ") + readable_event(time.event, time.source);
  if (time.occurrence > 0) name += fmt::format(" #{}", time.occurrence);
  if (time.layers > 1) name += fmt::format(" ({} layers)", time.layers);
  return name.empty() ? "(no layer)" : printable(name);
}

bool is_changed(const ComparedTime& time) {
  return time.change != Change::kSame && time.change != Change::kAmbiguous;
}

bool is_in_both(const ComparedTime& time) {
  return time.change != Change::kAdded && time.change != Change::kRemoved;
}

// Returns "20.70"; "-" where the run does not have it.
std::string time_cell(const ComparedTime& time, const join::Estimate& estimate) {
  return is_in_both(time) || estimate.value > 0 ? fmt::format("{:.2f}", estimate.value) : "-";
}

std::string times_words(const ComparedTime& time) {
  if (!is_in_both(time)) {
    const double us = std::max(time.before_us.value, time.after_us.value);
    return us >= 1e3 ? fmt::format("{:.3f} ms", us * 1e-3) : fmt::format("{:.1f} us", us);
  }
  const bool is_long = std::max(time.before_us.value, time.after_us.value) >= 1e3;
  return is_long ? fmt::format("{:.3f} -> {:.3f} ms", time.before_us.value * 1e-3,
                               time.after_us.value * 1e-3)
                 : fmt::format("{:.1f} -> {:.1f} us", time.before_us.value, time.after_us.value);
}

// All kernels of a layer that only one run has are new, or gone.
std::string_view changed_kernels(const ComparedTime& time) {
  return time.kernels_changed && is_in_both(time) ? "; kernels changed" : "";
}

std::string interval_words(const ComparedTime& time) {
  if (!time.ratio_ci95) return "-";
  return fmt::format("[{:.3f}, {:.3f}]", time.ratio_ci95->lower, time.ratio_ci95->upper);
}

// Returns patterns, and the layers that are in none.
std::vector<const ComparedTime*> largest_parts(const Comparison& comparison) {
  std::vector<const ComparedTime*> parts;
  for (const ComparedTime& pattern : comparison.patterns)
    parts.push_back(&pattern);
  for (const ComparedTime& layer : comparison.layers) {
    const bool is_in_pattern =
        std::ranges::any_of(comparison.patterns, [&](const ComparedTime& pattern) {
          return pattern.layer == join::layer_pattern(layer.layer);
        });
    if (!is_in_pattern) parts.push_back(&layer);
  }
  std::ranges::stable_sort(parts, std::greater(), [](const ComparedTime* time) {
    return std::abs(time->after_us.value - time->before_us.value);
  });
  return parts;
}

std::string describe_iteration(const Comparison& comparison) {
  if (!comparison.iteration) return "The time of an iteration is not known in both runs";
  const ComparedTime& time = *comparison.iteration;
  const std::string why = time.reason.empty() ? "" : ": " + time.reason;
  return fmt::format("The iteration: {}, {}{}, ratio {:.3f}, 95 % interval {}", times_words(time),
                     change_words(time, comparison.margin), why, time.ratio.value_or(0.0),
                     interval_words(time));
}

std::string describe_causes(const std::vector<const ComparedTime*>& parts, double margin) {
  std::vector<std::string> causes;
  for (const ComparedTime* time : parts) {
    if (causes.size() == kMostCauses) break;
    if (!is_changed(*time)) continue;
    causes.push_back(fmt::format("{} {}, {}{}", name_of(*time), times_words(*time),
                                 change_words(*time, margin), changed_kernels(*time)));
  }
  if (causes.empty()) {
    std::string text = "no layer changed by more than the margin for certain";
    if (!parts.empty() && parts.front()->change == Change::kAmbiguous)
      text +=
          fmt::format("; undecided: {} {}", name_of(*parts.front()), times_words(*parts.front()));
    return text;
  }
  return fmt::format("{}", fmt::join(causes, ". "));
}

std::string describe_next(const Comparison& comparison,
                          const std::vector<const ComparedTime*>& parts) {
  const auto obstacle =
      std::ranges::find(comparison.differences, false, &join::Difference::is_allowed);
  if (obstacle != comparison.differences.end() && obstacle->what != "sizes")
    return fmt::format("--despite {} judges all the same", obstacle->what);
  std::vector<std::string> steps;
  // A new layer may be the whole change.
  const bool is_slower = comparison.iteration && comparison.iteration->change == Change::kSlower;
  const auto first = std::ranges::find_if(parts, [&](const ComparedTime* time) {
    return time->change == Change::kSlower || (is_slower && time->change == Change::kAdded);
  });
  if (first != parts.end())
    steps.push_back(fmt::format("look at {} first, {}", name_of(**first),
                                change_words(**first, comparison.margin)));
  if (obstacle != comparison.differences.end())
    steps.emplace_back("--despite sizes judges all the same");
  std::vector<const ComparedTime*> undecided;
  std::size_t undecided_layers = 0;
  std::size_t layers = 0;
  for (const ComparedTime* time : parts) {
    layers += time->layers;
    if (time->change != Change::kAmbiguous || !time->sizes.empty() ||
        time->share_percent.value_or(100.0) < comparison.min_share_percent)
      continue;
    undecided.push_back(time);
    undecided_layers += time->layers;
  }
  if (!undecided.empty() && first == parts.end())
    steps.push_back(
        fmt::format("measure longer: {} of {} layers cannot be decided, first {}{}",
                    undecided_layers, layers, name_of(*undecided.front()),
                    comparison.missing ? ": " + steps_for_intervals(*comparison.missing) : ""));
  return fmt::format("{}", fmt::join(steps, "; "));
}

std::vector<HeadLine> head_lines_of(const Comparison& comparison) {
  std::vector<HeadLine> lines;
  const auto parts = largest_parts(comparison);
  lines.push_back({"what", comparison.doubts + describe_iteration(comparison)});
  lines.push_back({"why", describe_causes(parts, comparison.margin)});
  if (const std::string next = describe_next(comparison, parts); !next.empty())
    lines.push_back({"next", next});
  const auto add_phase = [&](const char* label, const std::string& own, const std::string& other) {
    if (!own.empty() || !other.empty())
      lines.push_back({label, own.empty() ? "its only phase" : own});
  };
  add_phase("before", comparison.phase_before, comparison.phase_after);
  add_phase("after", comparison.phase_after, comparison.phase_before);
  for (const join::Difference& difference : comparison.differences)
    lines.push_back({"differ", difference.text});
  lines.push_back(
      {"margin", fmt::format("ratios from {:.3f} to {:.3f} are the same",
                             comparison.same_ratios.lower, comparison.same_ratios.upper)});
  if (!comparison.iteration && comparison.layers.empty() && comparison.events.empty())
    lines.push_back({"nothing", "to compare: neither run has a time above 0"});
  return lines;
}

struct Section {
  std::string_view title;
  const std::vector<ComparedTime>* times;
  std::size_t shown;
};

std::vector<Section> sections_of(const Comparison& comparison, std::size_t top) {
  std::vector<Section> sections;
  const auto add = [&](std::string_view title, const std::vector<ComparedTime>& times) {
    if (times.empty()) return;
    sections.push_back({title, &times, top == 0 ? times.size() : std::min(top, times.size())});
  };
  add("layers of one pattern", comparison.patterns);
  add("layers", comparison.layers);
  add("kernels", comparison.events);
  return sections;
}

std::string shown_of(const Section& section) {
  if (section.shown == section.times->size()) return {};
  return fmt::format("{} of {}, the largest change first", section.shown, section.times->size());
}

Mood mood_of(Change change) {
  constexpr std::array moods{Mood::kPlain, Mood::kGood, Mood::kBad,
                             Mood::kBad,   Mood::kGood, Mood::kUnsure};
  return moods.at(static_cast<std::size_t>(change));
}

// Survives copying, unlike a colour.
char sign_of(Change change) {
  constexpr std::array<char, 6> signs{'=', '<', '>', '+', '-', '?'};
  return signs.at(static_cast<std::size_t>(change));
}

class Table {
 public:
  // `longest` is the width of the longest name.
  Table(const Comparison& comparison, const TableOptions& options, std::size_t longest)
      : comparison_(comparison),
        options_(options),
        is_one_line_(options.width >= kOneLineWidth),
        name_width_(is_one_line_ ? std::min(options.width - kNumbersWidth, longest)
                                 : options.width) {}

  void add(const Section& section) {
    out_ += '\n';
    if (is_one_line_) out_ += fmt::format("{:{}}", section.title, name_width_);
    out_ += fmt::format("{:{}} {:>11} {:>11} {:>16}\n", is_one_line_ ? "" : section.title,
                        is_one_line_ ? 0 : kIndent, "before us", "after us", "ratio, 95 %");
    std::vector<std::string> names;
    names.reserve(section.shown);
    for (std::size_t i = 0; i < section.shown; ++i)
      names.push_back(name_of((*section.times)[i]));
    names = shortened_apart(names, name_width_);
    for (std::size_t i = 0; i < section.shown; ++i)
      add_line((*section.times)[i], names[i]);
    if (const std::string shown = shown_of(section); !shown.empty()) out_ += shown + '\n';
  }

  // Reasons are long and few, so they stand below the rows.
  [[nodiscard]] std::string text() const {
    std::string out = out_ + (notes_.notes().empty() ? "" : "\n");
    notes_.write(out, options_.width);
    return out;
  }

 private:
  static constexpr std::size_t kIndent = 22;
  // The columns behind a name: the numbers, and "? undecided (12)(13)" with its marks.
  static constexpr std::size_t kNumbersWidth = 66;
  // From here on the name stands on the same line.
  static constexpr std::size_t kOneLineWidth = kNumbersWidth + 44;

  void add_line(const ComparedTime& time, const std::string& shown) {
    out_ += shown;
    if (is_one_line_) {
      out_.append(name_width_ - columns(shown), ' ');
    } else {
      out_ += "\n" + std::string(kIndent - kVerdictShift, ' ');
    }
    // Words behind a comma stand in a note.
    const std::string words = change_words(time, comparison_.margin);
    const std::size_t comma = words.find(", ");
    std::string marked = painted(fmt::format("{} {}", sign_of(time.change), words.substr(0, comma)),
                                 mood_of(time.change), options_.colour);
    const auto add_note = [&](std::string_view note) { marked += ' ' + notes_.number_of(note); };
    if (comma != std::string::npos) add_note(words.substr(comma + 2));
    if (!time.reason.empty()) add_note(time.reason);
    if (!changed_kernels(time).empty()) add_note("kernels changed");
    out_ += fmt::format(" {:>11} {:>11} {:>16}  {}\n", time_cell(time, time.before_us),
                        time_cell(time, time.after_us), interval_words(time), marked);
  }

  static constexpr std::size_t kVerdictShift = 10;

  const Comparison& comparison_;
  const TableOptions& options_;
  bool is_one_line_;
  std::size_t name_width_;
  std::string out_;
  Footnotes notes_;
};

// Returns the words of a row in full: "3.8 times as long; kernels changed".
std::string full_words(const ComparedTime& time, double margin) {
  return fmt::format("{} {}{}{}{}", sign_of(time.change), change_words(time, margin),
                     time.reason.empty() ? "" : ": ", time.reason, changed_kernels(time));
}

// Replaces what ends a cell of Markdown, or begins a mark of HTML.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '<' || c == '>' || c == '&') {
      out += c == '|' ? "&#124;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr std::array<std::string_view, 5> kHeadings{"", "before us", "after us", "ratio, 95 %",
                                                    "change"};

std::array<std::string, 5> cells_of(const ComparedTime& time, double margin) {
  return {escaped(name_of(time)), time_cell(time, time.before_us), time_cell(time, time.after_us),
          interval_words(time), escaped(full_words(time, margin))};
}

constexpr std::string_view kPageStart =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Two runs</title>\n"
    "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:right;"
    "border-bottom:1px solid #ccc}td:first-child,td:last-child,th:first-child,th:last-child"
    "{text-align:left}td:first-child{overflow-wrap:anywhere}dt{font-weight:600}</style></"
    "head><body>\n<h1>Two runs</h1>\n";

}  // namespace

std::string compare_table(const Comparison& comparison, const TableOptions& options) {
  std::string out;
  for (const auto& [label, text] : head_lines_of(comparison))
    add_labelled(out, label, text, options.width);
  const auto sections = sections_of(comparison, options.top);
  std::size_t longest = 0;
  for (const Section& section : sections) {
    longest = std::max(longest, columns(section.title));
    for (std::size_t i = 0; i < section.shown; ++i)
      longest = std::max(longest, columns(name_of((*section.times)[i])));
  }
  Table table(comparison, options, longest);
  for (const Section& section : sections)
    table.add(section);
  return out + table.text();
}

std::string compare_markdown(const Comparison& comparison, std::size_t top) {
  std::string out;
  for (const auto& [label, text] : head_lines_of(comparison))
    out += fmt::format("* **{}** {}\n", label, escaped(text));
  for (const Section& section : sections_of(comparison, top)) {
    out += fmt::format("\n| {}{} |\n|---|---:|---:|---:|---|\n", section.title,
                       fmt::join(kHeadings, " | "));
    for (std::size_t i = 0; i < section.shown; ++i)
      out += fmt::format("| {} |\n",
                         fmt::join(cells_of((*section.times)[i], comparison.margin), " | "));
    if (const std::string shown = shown_of(section); !shown.empty()) out += '\n' + shown + '\n';
  }
  return out;
}

std::string compare_html(const Comparison& comparison, std::size_t top) {
  std::string out(kPageStart);
  out += "<dl>\n";
  for (const auto& [label, text] : head_lines_of(comparison))
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, escaped(text));
  out += "</dl>\n";
  for (const Section& section : sections_of(comparison, top)) {
    out += fmt::format("<table><tr><th>{}{}</th></tr>\n", section.title,
                       fmt::join(kHeadings, "</th><th>"));
    for (std::size_t i = 0; i < section.shown; ++i)
      out += fmt::format("<tr><td>{}</td></tr>\n",
                         fmt::join(cells_of((*section.times)[i], comparison.margin), "</td><td>"));
    out += "</table>\n";
    if (const std::string shown = shown_of(section); !shown.empty())
      out += fmt::format("<p>{}</p>\n", shown);
  }
  return out + "</body></html>\n";
}

}  // namespace inline_prof::report
