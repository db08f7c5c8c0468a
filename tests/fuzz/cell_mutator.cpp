// Changes a table, a log or a list where it means something: a cell gets a hostile value, a line
// comes again, goes or changes its place.  What separates cells stays.
#include "mutator.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace inline_prof::fuzz;

constexpr std::string_view kSeparators = ",; \t\r";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string hostile_cell(Random& random) {
  static const std::vector<std::string> cells = lines_of(
      "0\n-1\n1\n-0\n0.5\n1e-308\n1e308\n-1e308\n5e-324\ninf\nnan\n9007199254740992\n"
      "9007199254740993\n4294967296\n2147483648\n9223372036854775807\n18446744073709551615\n\n"
      "\"\"\n\"\n\"a,b\"\nx\n\x1b[2J\n0x10\n1e400");
  return cells[below(random, cells.size())];
}

void change_cell(std::string& line, Random& random) {
  std::vector<std::pair<std::size_t, std::size_t>> cells;  // begin and end
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find_first_of(kSeparators, begin), line.size());
    cells.emplace_back(begin, end);
    begin = end + 1;
  }
  const auto [begin, end] = cells[below(random, cells.size())];
  line.replace(begin, end - begin, hostile_cell(random));
}

void change(std::vector<std::string>& lines, Random& random) {
  const std::size_t at = below(random, lines.size());
  switch (below(random, 8)) {
    case 0: {  // comes again
      const std::string line = lines[at];
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(random, 40), line);
      return;
    }
    case 1:
      if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 2:
      std::swap(lines[at], lines[below(random, lines.size())]);
      return;
    default:
      change_cell(lines[at], random);
      return;
  }
}

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t room,
                                    unsigned seed) {
  Random random(seed + 1);
  std::vector<std::string> lines = lines_of({reinterpret_cast<const char*>(data), size});
  if (lines.empty() || below(random, 4) == 0) return LLVMFuzzerMutate(data, size, room);
  for (std::size_t i = 1 + below(random, 4); i > 0; --i)
    change(lines, random);
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return give(text, data, size, room);
}
