#include "report/text.hpp"

#include "read/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <variant>

namespace inline_prof::report {
namespace {

// Returns "kernel" for "a::(anonymous namespace)::kernel<int, b::C<4>>".
std::string_view own_name(std::string_view name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    const bool is_qualifier = depth == 0 && (name.substr(i).starts_with("::") || name[i] == ' ');
    if (is_qualifier) begin = i + (name[i] == ' ' ? 1 : 2);
  }
  name.remove_prefix(begin);
  return name.substr(0, name.find_first_of("<("));
}

}  // namespace

void add_labelled(std::string& out, std::string_view label, std::string_view text,
                  std::size_t width) {
  constexpr std::size_t label_width = 12;
  std::string indent = fmt::format("{:<{}}", label, label_width);
  const std::string clean = printable(text);
  std::string_view rest = clean;
  const std::size_t room = width - label_width;
  do {
    std::size_t length = rest.size();
    if (length > room) {
      const std::size_t blank = rest.rfind(' ', room);
      length = blank == std::string_view::npos || blank == 0 ? rest.find(' ', room) : blank;
      if (length == std::string_view::npos) length = rest.size();
    }
    out += fmt::format("{}{}\n", indent, rest.substr(0, length));
    indent.assign(label_width, ' ');
    rest.remove_prefix(length);
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
  } while (!rest.empty());
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, std::size_t width) {
  constexpr std::string_view gap = "...";
  constexpr std::size_t before = 4;  // letters in front of the difference
  std::vector<std::string> alike;
  alike.reserve(names.size());
  for (const std::string& name : names)
    alike.push_back(shortened(name, width));
  std::vector<std::string> apart = alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    std::size_t same = 0;  // letters at the beginning
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (alike[j] != alike[i] || names[j] == name) continue;
      const auto end = std::ranges::mismatch(name, names[j]).in1;
      same = std::max(same, static_cast<std::size_t>(end - name.begin()));
    }
    const auto start_of_letter = [&](std::size_t at) {
      while (at > 0 && at < name.size() && (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U)
        --at;
      return at;
    };
    const std::size_t from = start_of_letter(same - std::min(same, before));
    const std::size_t head = start_of_letter(std::min(width / 3, from));
    if (same > 0 && head + gap.size() < width)
      apart[i] = name.substr(0, head) + std::string(gap) +
                 shortened(name.substr(from), width - head - gap.size());
  }
  return apart;
}

std::string readable_event(std::string_view event, std::string_view source) {
  std::string name = readable_name(event);
  if (source.empty() || name.find('<') == std::string::npos) return name;
  const std::string_view own = own_name(name);
  return own.empty() ? name : fmt::format("{} {}", source, own);
}

std::string part_of_step(const std::optional<double>& percent, std::string_view sign,
                         double time_us) {
  return percent ? fmt::format("{:.1f}{}", *percent, sign) : fmt::format("{:.1f} us", time_us);
}

std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  constexpr std::ptrdiff_t digits_of_a_group = 3;
  for (std::ptrdiff_t at = std::ssize(text) - digits_of_a_group; at > (number < 0 ? 1 : 0);
       at -= digits_of_a_group)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string csv_text(const model::Part& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return base::csv_cell(*text);
  return "";
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Footnotes::number_of(std::string_view note) {
  auto own = std::ranges::find(notes_, note,
                               [](const auto& each) { return std::string_view(each.first); });
  if (own == notes_.end()) own = notes_.insert(own, {std::string(note), 0});
  ++own->second;
  return fmt::format("({})", own - notes_.begin() + 1);
}

void Footnotes::write(std::string& out, std::size_t width, bool with_rows) const {
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const auto& [note, rows] = notes_[i];
    add_labelled(out, fmt::format("({})", i + 1),
                 with_rows ? fmt::format("{}: {}", counted(rows, "row"), note) : note, width);
  }
}

std::string painted(std::string_view text, Mood mood, bool colour) {
  if (!colour || mood == Mood::kPlain) return std::string(text);
  const int code = mood == Mood::kGood ? 32 : mood == Mood::kBad ? 31 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

namespace {

using model::Part;

bool is_number(const Part& value) {
  return std::holds_alternative<double>(value);
}

std::string rounded(const Part& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.5g}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  return "";
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, columns(text)), ' ');
  return to_the_right ? blanks + text : text + blanks;
}

// Columns two blanks apart, numbers to the right, no blanks at the end of a line.
std::string table(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::size_t width = columns(grid.columns[i]);
    for (const auto& row : grid.rows)
      width = std::max(width, columns(rounded(row[i])));
    widths.push_back(width);
  }
  const auto holds_numbers = [&](std::size_t i) {
    return std::ranges::any_of(grid.rows, [&](const auto& row) { return is_number(row[i]); });
  };
  std::string text;
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i)
      line += (i > 0 ? "  " : "") + padded(cell(i), widths[i], holds_numbers(i));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line([&](std::size_t i) { return grid.columns[i]; });
  for (const auto& row : grid.rows)
    add_line([&](std::size_t i) { return rounded(row[i]); });
  return text;
}

std::string csv(const Grid& grid) {
  std::string text;
  for (std::size_t i = 0; i < grid.columns.size(); ++i)
    text += (i > 0 ? "," : "") + base::csv_cell(grid.columns[i]);
  text += '\n';
  for (const auto& row : grid.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i > 0 ? "," : "") + csv_text(row[i]);
    text += '\n';
  }
  return text;
}

std::string markdown(const Grid& grid) {
  std::string text = "|";
  for (const std::string& column : grid.columns)
    text += " " + column + " |";
  text += "\n|";
  for (std::size_t i = 0; i < grid.columns.size(); ++i)
    text += !grid.rows.empty() && is_number(grid.rows.front()[i]) ? "---:|" : "---|";
  text += '\n';
  for (const auto& row : grid.rows) {
    text += '|';
    for (const Part& value : row)
      text += " " + rounded(value) + " |";
    text += '\n';
  }
  return text;
}

std::string json(const Grid& grid) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& row : grid.rows) {
    auto object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto& member = object[grid.columns[i]];
      if (const auto* number = std::get_if<double>(&row[i])) member = *number;
      if (const auto* text = std::get_if<std::string>(&row[i])) member = *text;
    }
    list.push_back(std::move(object));
  }
  return list.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string grid_text(const Grid& grid, GridFormat format) {
  const std::string note =
      grid.note.empty()
          ? ""
          : fmt::format("{}\n", grid.note.substr(0, grid.note.find_last_not_of(' ') + 1));
  switch (format) {
    case GridFormat::kCsv:
      return csv(grid);
    case GridFormat::kMarkdown:
      return note + (note.empty() ? "" : "\n") + markdown(grid);
    case GridFormat::kJson:
      return json(grid);
    case GridFormat::kTable:
      break;
  }
  return note + table(grid);
}

}  // namespace inline_prof::report
