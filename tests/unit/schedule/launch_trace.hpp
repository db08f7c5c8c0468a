// Reads the recorded sequences of tests/data/launch_traces; its README.md describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace inline_prof::schedule::test {

struct TracedCall {
  char kind = 0;
  std::uint32_t number = 0;
};

inline std::vector<TracedCall> read_trace(const std::string& name) {
  const std::string path = INLINE_PROF_TEST_DATA "/launch_traces/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::vector<TracedCall> calls;
  std::vector<TracedCall> block;
  std::size_t times = 0;
  const auto end_block = [&] {
    for (; times > 0; --times)
      calls.insert(calls.end(), block.begin(), block.end());
    block.clear();
  };
  for (std::string word; file >> word;) {
    if (word.back() == 'x') {
      end_block();
      times = std::stoul(word);
      continue;
    }
    const std::size_t star = word.find('*');
    const std::size_t count = star == std::string::npos ? 1 : std::stoul(word.substr(star + 1));
    const TracedCall call{word.front(), static_cast<std::uint32_t>(std::stoul(word.substr(1)))};
    block.insert(block.end(), count, call);
  }
  end_block();
  return calls;
}

}  // namespace inline_prof::schedule::test
