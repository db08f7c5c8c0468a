// Knows where each three launches in a row came among the last ones, for the search for iterations.
#pragma once

#include "schedule/launch_log.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inline_prof::schedule {

class LaunchTriples {
 public:
  // At least this many of the last launches are known, and up to twice as many.
  static constexpr std::size_t kLastLaunches = std::size_t{32} << 10U;

  struct Triple {
    std::uint64_t hash = 0;
    std::uint32_t last = 0;  // one more than its begin, see last(); 0: nowhere
    std::uint32_t times = 0;
  };

  // Adds the launches that were appended since the last update. Returns the number of launches
  // visited.
  std::size_t update(const LaunchLog& log);

  [[nodiscard]] const std::vector<Triple>& all() const { return triples_; }
  // Returns the index in the log of the last update.
  [[nodiscard]] std::size_t last(const Triple& triple) const { return begin_ + triple.last - 1; }
  // Lists the distances from each to the one before it, the newest first, `most` at most.
  void gaps_of(const Triple& triple, std::size_t most, std::vector<std::size_t>& gaps) const;

 private:
  [[nodiscard]] Triple& triple_of(std::uint64_t hash);
  void grow();

  std::size_t begin_ = 0;                // in the log, of the launches that are known
  std::uint64_t dropped_ = 0;            // of the log
  std::vector<std::uint32_t> before_{};  // by launch: as Triple::last, the one before
  std::vector<Triple> triples_{};
  std::vector<std::uint32_t> table_{};  // by hash: one more than its place in triples_; 0: none
};

}  // namespace inline_prof::schedule
