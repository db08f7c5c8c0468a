#include "schedule/iteration_follower.hpp"

#include <algorithm>

namespace inline_prof::schedule {

Step IterationFollower::on_first() noexcept {
  if (!word_.empty()) return on_letter(true);
  if (place_ == Place::kUnknown) return Step::kNothing;
  ++firsts_;
  if (place_ == Place::kBehindAnchor) {
    if (firsts_ < after_anchor_) return Step::kNothing;
    place_ = Place::kInside;
    firsts_ = 1;
    return Step::kStarts;
  }
  if (before_anchor_ == 0 || firsts_ <= before_anchor_) return Step::kNothing;
  // There are more than an iteration has before its anchor. If it has only one, each further one is
  // a start, and the last is the iteration's; if it has several, the start is told only behind as
  // many as evaluations have.
  if (before_anchor_ == 1) return Step::kStartsAgain;
  if (firsts_ == of_evaluation_ + 1) {
    const bool is_void = of_evaluation_ > before_anchor_;
    firsts_ = 1;
    return is_void ? Step::kStarts : Step::kStartsAgain;
  }
  return firsts_ == before_anchor_ + 1 ? Step::kVoid : Step::kNothing;
}

Step IterationFollower::on_anchor() noexcept {
  if (!word_.empty()) return on_letter(false);
  const Place place = place_;
  const std::size_t firsts = firsts_;
  if (is_group_ && place == Place::kBehindAnchor && firsts == 0) return Step::kNothing;
  place_ = Place::kBehindAnchor;
  firsts_ = 0;
  if (place == Place::kUnknown) return Step::kNothing;
  const bool is_again = place == Place::kBehindAnchor && before_anchor_ != 0;
  if (is_again || firsts < before_anchor_) {
    ++breaks_;
    return Step::kBroken;
  }
  breaks_ = 0;
  return Step::kNothing;
}

Step IterationFollower::on_letter(bool is_first) noexcept {
  if (!next_letter_) {
    letters_[letters_seen_++] = is_first;
    if (letters_seen_ == letters_.size()) find_place_in_word();
    return Step::kNothing;
  }
  const std::size_t place = *next_letter_;
  if (word_[place] != is_first) {
    next_letter_.reset();
    ++breaks_;
    return Step::kBroken;
  }
  next_letter_ = place + 1;
  if (*next_letter_ == word_.size()) {
    next_letter_ = 0;
    breaks_ = 0;
  }
  return place == 0 ? Step::kStarts : Step::kNothing;
}

// The letters are the word from some place on, and from one place only, unless the word is a
// repetition. Otherwise as many further ones are read.
void IterationFollower::find_place_in_word() noexcept {
  letters_seen_ = 0;
  for (std::size_t place = 0; place < word_.size(); ++place) {
    const auto middle = word_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto rest = letters_.end() - static_cast<std::ptrdiff_t>(place);
    if (std::equal(middle, word_.end(), letters_.begin()) &&
        std::equal(rest, letters_.end(), word_.begin())) {
      next_letter_ = place;
      return;
    }
  }
}

std::vector<std::size_t> starts_in(std::span<const std::uint32_t> launches,
                                   const FoundIteration& found) {
  IterationFollower follower(found);
  std::vector<std::size_t> starts;
  const auto take = [&](Step step, std::size_t launch) {
    if (step != Step::kNothing && step != Step::kStarts && !starts.empty()) starts.pop_back();
    if (step == Step::kStarts || step == Step::kStartsAgain) starts.push_back(launch);
  };
  for (std::size_t i = 0; i < launches.size() && !follower.is_lost(); ++i) {
    if (launches[i] == found.first) take(follower.on_first(), i);
    if (launches[i] == found.anchor) take(follower.on_anchor(), i);
  }
  return starts;
}

namespace {

// The last kernels of an iteration, which are the optimizer's: of 8, one is launched only there.
constexpr std::size_t kMostTried = 8;

// Returns how often `place.behind` comes after `place.before`; counts the latter's launches.
std::size_t count_places(std::span<const std::uint32_t> iteration, MarkPlace& place) {
  std::size_t places = 0;
  bool is_behind = true;  // the iteration before was alike
  for (const std::uint32_t kernel : iteration) {
    if (kernel == place.before) {
      is_behind = true;
      ++place.befores;
    } else if (kernel == place.behind && is_behind) {
      is_behind = false;
      ++places;
    }
  }
  return places;
}

}  // namespace

std::optional<MarkPlace> find_mark_place(std::span<const std::uint32_t> iteration) {
  std::vector<std::uint32_t> tried;
  for (auto last = iteration.rbegin(); last != iteration.rend(); ++last) {
    if (*last == iteration.front()) continue;
    if (std::ranges::find(tried, *last) != tried.end()) continue;
    MarkPlace place{.before = *last, .behind = iteration.front()};
    if (count_places(iteration, place) == 1) return place;
    tried.push_back(*last);
    if (tried.size() == kMostTried) break;
  }
  return std::nullopt;
}

MarkFollower::Step MarkFollower::on_before() noexcept {
  is_behind_ = true;
  if (++befores_ <= expected_) return Step::kNothing;
  is_broken_ = true;
  return Step::kBroken;
}

MarkFollower::Step MarkFollower::on_behind() noexcept {
  if (!is_behind_) return Step::kNothing;
  const bool is_whole = is_at_mark();
  begin_at_call();
  is_broken_ = !is_whole;
  return is_whole ? Step::kStarts : Step::kBroken;
}

void MarkFollower::begin_at_call() noexcept {
  befores_ = 0;
  is_behind_ = false;
  is_broken_ = false;
}

}  // namespace inline_prof::schedule
