#include "watch/history.hpp"

#include "watch/power.hpp"

#include <algorithm>
#include <limits>

namespace inline_prof::watch {
namespace {

constexpr double kFinestBinSeconds = 60;
// Bins with more buckets than this, on average, leave room for fewer bins. A noise of 5 % fills 20.
constexpr std::size_t kBucketsOfABin = 26;
// The width of bins grows with this power of their age. 1 would leave 3 bins for all but the last
// week of a month, 0 would not tell minutes apart.
constexpr double kPowerOfAge = 0.75;

}  // namespace

History::History(std::size_t most_bins) : most_bins_(std::max<std::size_t>(most_bins, 2)) {}

void History::add(double time_s, std::int64_t iteration, double value_ns) {
  if (!bins_.empty()) time_s = std::max(time_s, bins_.back().end_s);
  const bool is_new = bins_.empty() || time_s >= bins_.back().start_s + kFinestBinSeconds;
  if (is_new && !bins_.empty()) {
    bins_.back().sketch.fold_tails();
    bins_.back().sketch.shrink();
  }
  bins_.reserve(most_bins_ + 1);  // as many as there ever are
  if (is_new)
    bins_.push_back({.start_s = time_s,
                     .end_s = time_s,
                     .first_iteration = iteration,
                     .last_iteration = iteration,
                     .sketch = {}});
  Bin& bin = bins_.back();
  bin.end_s = time_s;
  bin.first_iteration = std::min(bin.first_iteration, iteration);
  bin.last_iteration = std::max(bin.last_iteration, iteration);
  bin.sketch.add(value_ns);
  if (is_new) limit_bins();
}

std::size_t History::bytes() const {
  std::size_t bytes = sizeof(History) + bins_.capacity() * sizeof(Bin);
  for (const Bin& bin : bins_)
    bytes += bin.sketch.counts().capacity() * sizeof(std::uint32_t);
  return bytes;
}

void History::limit_bins() {
  std::size_t buckets = 0;
  for (const Bin& bin : bins_)
    buckets += bin.sketch.counts().size();
  while (bins_.size() > 2 && (bins_.size() > most_bins_ || buckets > most_bins_ * kBucketsOfABin)) {
    // Merges the two neighbours that are the narrowest for their age. The newest bin still grows.
    const double now_s = bins_.back().end_s;
    std::size_t narrowest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 2 < bins_.size(); ++i) {
      const double width = bins_[i + 1].end_s - bins_[i].start_s;
      const double age = now_s - bins_[i + 1].end_s;
      const double score = width / power(std::max(age, 0.0) + kFinestBinSeconds, kPowerOfAge);
      if (score < least) {
        least = score;
        narrowest = i;
      }
    }
    Bin& bin = bins_[narrowest];
    const Bin& next = bins_[narrowest + 1];
    buckets -= bin.sketch.counts().size() + next.sketch.counts().size();
    bin.end_s = std::max(bin.end_s, next.end_s);
    bin.first_iteration = std::min(bin.first_iteration, next.first_iteration);
    bin.last_iteration = std::max(bin.last_iteration, next.last_iteration);
    bin.sketch.merge(next.sketch);
    bin.sketch.fold_tails();
    bin.sketch.shrink();
    buckets += bin.sketch.counts().size();
    bins_.erase(bins_.begin() + static_cast<std::ptrdiff_t>(narrowest) + 1);
  }
}

}  // namespace inline_prof::watch
