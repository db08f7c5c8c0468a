#include "session/overhead.hpp"

#include "session/session.hpp"

#include <algorithm>

namespace inline_prof::session {
namespace {

// Blocks can be told apart while the application is ahead of the GPU by at most this many
// iterations.
constexpr std::int64_t kLongestLead = 32;
constexpr std::int64_t kTimesInABlock = 4;  // behind the lead: enough for a median
constexpr std::int64_t kBlocksInAQuad = 4;  // armed, not, not, armed: a steady drift cancels
constexpr std::int64_t kMostQuads = 12;     // more than enough for a bootstrap over them

constexpr std::size_t kRemembered = 16;  // armed iterations

}  // namespace

void Overhead::note_armed(const std::vector<std::size_t>& targets) {
  if (first_ != 0) return;
  if (armed_lately_.size() == kRemembered) armed_lately_.erase(armed_lately_.begin());
  armed_lately_.push_back(targets);
}

bool Overhead::begin(std::int64_t iteration) {
  const timer::ContextTimer* timer = session_.contexts.first_timer();
  if (timer == nullptr || armed_lately_.empty() || first_ != 0) return false;
  first_ = iteration;
  lead_ = std::clamp<std::int64_t>(timer->iterations_ahead(), 0, kLongestLead);
  block_ = lead_ + kTimesInABlock;
  const std::int64_t quad = kBlocksInAQuad * block_;
  std::int64_t most = session_.config.overhead_iterations;
  // A user who has asked for the program's end waits for the samples only.
  if (session_.exits_when_done()) most = std::min(most, iteration - session_.settings.warmup - 1);
  end_ = iteration + std::min(most / quad, kMostQuads) * quad;
  return end_ > iteration;
}

bool Overhead::is_armed(std::int64_t iteration) const noexcept {
  const std::int64_t block = (iteration - first_) / block_ % kBlocksInAQuad;
  return block == 0 || block == kBlocksInAQuad - 1;
}

std::optional<std::vector<std::size_t>> Overhead::targets_of(std::int64_t iteration) const {
  if (!is_armed(iteration)) return std::nullopt;
  return armed_lately_[static_cast<std::size_t>(iteration) % armed_lately_.size()];
}

void Overhead::gather() {
  if (block_ == 0 || !session_.run.overhead_blocks.empty()) return;
  std::vector<record::BlockTimes> blocks;
  for (std::int64_t first = first_; first + block_ <= end_; first += block_)
    blocks.push_back({.armed = is_armed(first), .times_ms = {}});
  const record::IterationTimes& times = session_.run.iteration_times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t position = times.iteration(i) - first_;
    if (position < 0 || times.iteration(i) >= end_ || position % block_ < lead_) continue;
    blocks[static_cast<std::size_t>(position / block_)].times_ms.push_back(times[i]);
  }
  // The program may have ended before the last ones.
  while (!blocks.empty() && blocks.back().times_ms.size() < kTimesInABlock)
    blocks.pop_back();
  session_.run.overhead_blocks = std::move(blocks);
}

}  // namespace inline_prof::session
