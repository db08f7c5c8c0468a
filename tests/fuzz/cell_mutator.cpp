// Changes a table, a log or a list where it means something: a cell gets a hostile value, a line
// comes again, goes or changes its place.  What separates cells stays.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed);

namespace {

using Random = std::minstd_rand;

constexpr std::string_view kSeparators = ",; \t\r";

std::size_t below(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

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
  static const std::array<const char*, 25> cells{"0",
                                                 "-1",
                                                 "1",
                                                 "-0",
                                                 "0.5",
                                                 "1e-308",
                                                 "1e308",
                                                 "-1e308",
                                                 "5e-324",
                                                 "inf",
                                                 "nan",
                                                 "9007199254740992",
                                                 "9007199254740993",
                                                 "4294967296",
                                                 "2147483648",
                                                 "9223372036854775807",
                                                 "18446744073709551615",
                                                 "",
                                                 "\"\"",
                                                 "\"",
                                                 "\"a,b\"",
                                                 "x",
                                                 "\x1b[2J",
                                                 "0x10",
                                                 "1e400"};
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
  if (text.size() > room) return LLVMFuzzerMutate(data, size, room);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
