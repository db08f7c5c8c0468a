// A program's launches with what the host does between them, and the truth about where its
// iterations begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::schedule::test {

struct Call {
  std::uint32_t symbol = 0;
  std::uint32_t kernels = 1;             // more for a graph
  bool host_waits_before = false;        // for the device
  bool is_another_thread = false;        // than that of the launch before
  std::size_t bytes_reduced_before = 0;  // the most that ranks add up at once
  bool updates = false;                  // parameters
};

class Sequence {
 public:
  void launch(std::uint32_t symbol, std::uint32_t kernels = 1, bool updates = false) {
    calls_.push_back({symbol, kernels, std::exchange(waits_, false), std::exchange(turns_, false),
                      std::exchange(bytes_, 0), updates});
  }
  void wait() { waits_ = true; }
  void turn() { turns_ = true; }
  void reduce(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  void begin_iteration() { starts_.push_back(calls_.size()); }

  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  [[nodiscard]] const std::vector<std::uint64_t>& starts() const { return starts_; }

 private:
  std::vector<Call> calls_;
  std::vector<std::uint64_t> starts_;
  bool waits_ = false;
  bool turns_ = false;
  std::size_t bytes_ = 0;
};

struct NamedSequence {
  std::string name;
  Sequence sequence;
};

}  // namespace inline_prof::schedule::test
