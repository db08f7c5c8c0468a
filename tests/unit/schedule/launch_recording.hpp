// Reads the recordings of tests/data/recordings; its README.md describes the format.
#pragma once

#include "launch_sequence.hpp"
#include "schedule/update_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::schedule::test {

struct RecordedCall {
  char kind = 0;             // 'k', 'g', '@', '%', 'r' with a number, else one of "|sechdDa"
  std::uint32_t number = 0;  // of the kernel, the graph, the stream, the thread; of 'r' the size

  bool operator==(const RecordedCall&) const = default;
};

struct Recording {
  std::string name{};
  std::vector<std::string> kernels{};   // names, by number; some were cut
  std::vector<std::uint32_t> graphs{};  // kernels in each
  std::vector<RecordedCall> calls{};
};

inline Recording read_recording(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  Recording result{.name = path.stem().string()};
  std::string line;
  while (std::getline(file, line) && line != "calls") {
    if (line.starts_with("kernel ")) result.kernels.push_back(line.substr(7));
    if (line.starts_with("graph "))
      result.graphs.push_back(static_cast<std::uint32_t>(std::stoul(line.substr(6))));
  }
  auto& calls = result.calls;
  for (std::string word; file >> word;) {
    if (word.front() == '<') {
      const std::size_t back = std::stoul(word.substr(1));
      const std::size_t count = std::stoul(word.substr(word.find(':') + 1));
      if (back == 0 || back > calls.size())
        throw std::runtime_error(path.string() + ": " + word + ": expected a call before this one");
      for (std::size_t i = 0; i < count; ++i) {
        const RecordedCall copied = calls[calls.size() - back];
        calls.push_back(copied);
      }
      continue;
    }
    const auto number =
        word.size() == 1 ? 0U : static_cast<std::uint32_t>(std::stoul(word.substr(1)));
    calls.push_back({word.front(), number});
  }
  return result;
}

// Reads the recordings of a folder in tests/data/recordings, or that itself; ascending by name.
inline std::vector<Recording> read_recordings(const std::filesystem::path& folder = {}) {
  const std::filesystem::path all = INLINE_PROF_TEST_DATA "/recordings";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(all / folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Recording> result;
  result.reserve(paths.size());
  for (const auto& path : paths)
    result.push_back(read_recording(path));
  return result;
}

// Returns the sequence of the stream with the most launches: the others are searched as well, but
// no iteration is taken from them.
inline Sequence sequence_of(const Recording& recording) {
  std::vector<std::size_t> launches(1);
  std::size_t stream = 0;
  for (const RecordedCall& call : recording.calls) {
    if (call.kind == '@') stream = call.number;
    if (stream >= launches.size()) launches.resize(stream + 1);
    if (call.kind == 'k') ++launches[stream];
    if (call.kind == 'g') launches[stream] += recording.graphs.at(call.number);
  }
  const auto busiest = static_cast<std::size_t>(std::max_element(launches.begin(), launches.end()) -
                                                launches.begin());
  Sequence result;
  bool begins = false;
  stream = 0;
  std::uint32_t thread = 0;
  std::uint32_t of_last_launch = 0;
  for (const RecordedCall& call : recording.calls) {
    if (call.kind == '@') stream = call.number;
    if (call.kind == '%') thread = call.number;
    if (call.kind == '|') begins = true;
    if (std::string_view("sechdD").find(call.kind) != std::string_view::npos) result.wait();
    if (call.kind == 'r') result.reduce((std::size_t{1} << call.number) - 1);
    if (stream != busiest || (call.kind != 'k' && call.kind != 'g')) continue;
    if (std::exchange(begins, false)) result.begin_iteration();
    if (std::exchange(of_last_launch, thread) != thread) result.turn();
    if (call.kind == 'k') {
      result.launch(call.number, 1, updates_parameters(recording.kernels.at(call.number)));
    } else {
      result.launch(static_cast<std::uint32_t>(recording.kernels.size()) + call.number,
                    std::max(recording.graphs[call.number], 1U));
    }
  }
  return result;
}

inline std::vector<NamedSequence> recorded_sequences(const std::filesystem::path& folder = {}) {
  std::vector<NamedSequence> all;
  for (const Recording& recording : read_recordings(folder))
    all.push_back({recording.name, sequence_of(recording)});
  return all;
}

}  // namespace inline_prof::schedule::test
