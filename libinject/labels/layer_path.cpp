#include "labels/layer_path.hpp"

#include "launch/launch_filter.hpp"
#include "sys/lifecycle.hpp"
#include "sys/thread_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace inline_prof::labels {
namespace {

constexpr std::size_t kDeepest = 32;       // ranges below are counted and give no layer
constexpr std::size_t kLongestText = 256;  // of all open ranges of a thread; what is longer is cut

// --- ranges with an identity, which another thread may end

// Open ids.  1024: a few dozen threads with all their ranges; more are not found again and end
// when their thread's stack has no room left.
constexpr std::size_t kMostStarted = 1024;
constexpr std::size_t kLongestProbe = 16;

constinit std::array<std::atomic<std::uint64_t>, kMostStarted> started_ids{};

std::atomic<std::uint64_t>& place_of(std::uint64_t id, std::size_t probe) noexcept {
  // Ids are counters or addresses: a multiplicative hash (Knuth, TAOCP 3, 6.4) spreads both.
  const std::uint64_t hash = (id * 0x9E3779B97F4A7C15ULL) >> 32;
  return started_ids[(hash + probe) % kMostStarted];
}

bool insert_started(std::uint64_t id) noexcept {
  for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
    std::uint64_t empty = 0;
    if (place_of(id, probe).compare_exchange_strong(empty, id)) return true;
  }
  return false;
}

bool is_started(std::uint64_t id) noexcept {
  for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
    if (place_of(id, probe).load(std::memory_order_relaxed) == id) return true;
  }
  return false;
}

void erase_started(std::uint64_t id) noexcept {
  for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
    std::uint64_t mine = id;
    if (place_of(id, probe).compare_exchange_strong(mine, 0)) return;
  }
}

// --- this thread's own

// The text of a followed range is the pointer to what is followed.
enum class Kind : std::uint8_t { kPushed, kStarted, kSet, kFollowed };

struct Range {
  std::uint64_t key;     // RangeOwner or id
  const char* under;     // what was followed when the range was opened
  std::uint16_t length;  // of its text
  Kind kind;
};

struct OpenRanges {
  std::array<Range, kDeepest> all;
  std::array<char, kLongestText> text;  // of all ranges, one after the other
  std::uint32_t count;
  std::uint32_t text_length;
  std::uint64_t pushed_without_text;  // deeper, or after the discovery
};

[[gnu::tls_model("initial-exec")]] constinit thread_local sys::PerThread<OpenRanges> open_ranges;

struct RangePlace {
  std::size_t at;     // number of the range; ranges.count where there is none
  std::size_t begin;  // of its text
};

template <typename Predicate>
RangePlace innermost(const OpenRanges& ranges, const Predicate& is_it) noexcept {
  std::size_t begin = ranges.text_length;
  for (std::size_t i = ranges.count; i > 0; --i) {
    begin -= ranges.all[i - 1].length;
    if (is_it(ranges.all[i - 1])) return {.at = i - 1, .begin = begin};
  }
  return {.at = ranges.count, .begin = ranges.text_length};
}

void remove(OpenRanges& ranges, RangePlace place) noexcept {
  const std::size_t length = ranges.all[place.at].length;
  char* const begin = ranges.text.data() + place.begin;
  std::memmove(begin, begin + length, ranges.text_length - place.begin - length);
  ranges.text_length -= static_cast<std::uint32_t>(length);
  Range* const removed = ranges.all.data() + place.at;
  std::copy(removed + 1, ranges.all.data() + ranges.count, removed);
  --ranges.count;
}

// Ranges of this thread that another one has ended.
void drop_ended(OpenRanges& ranges) noexcept {
  while (true) {
    const RangePlace ended = innermost(ranges, [](const Range& range) {
      return range.kind != Kind::kPushed && !is_started(range.key);
    });
    if (ended.at == ranges.count) return;
    remove(ranges, ended);
  }
}

bool is_wanted() noexcept {
  using launch::LaunchFilter;
  return launch::filter.has(LaunchFilter::kCounting | LaunchFilter::kCapturing) &&
         sys::lifecycle.load(std::memory_order_relaxed) != sys::Lifecycle::kOff;
}

// Bytes of `text` that go into `room`; a cut leaves no part of a UTF-8 sequence behind.
std::size_t length_that_fits(const char* text, std::size_t room) noexcept {
  const std::size_t length = strnlen(text, room + 1);
  if (length <= room) return length;
  std::size_t end = room;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return end;
}

// Returns the pointer that the followed range with its text at `begin` follows.
const char* const* pointer_at(const OpenRanges& ranges, std::size_t begin) noexcept {
  const char* const* followed = nullptr;
  std::memcpy(&followed, &ranges.text[begin], sizeof(followed));
  return followed;
}

// Returns the innermost path that is followed, as it is now; null if there is none.
const char* followed_text(const OpenRanges& ranges) noexcept {
  const RangePlace followed = innermost(ranges, [](const Range& range) {
    return range.kind == Kind::kFollowed && is_started(range.key);
  });
  const bool is_there = followed.at < ranges.count && is_wanted();
  return is_there ? *pointer_at(ranges, followed.begin) : nullptr;
}

// False where there is no room for another range.
bool add_bytes(OpenRanges& ranges, std::uint64_t key, Kind kind, const void* bytes,
               std::size_t length) noexcept {
  if (ranges.count == kDeepest) drop_ended(ranges);
  if (ranges.count == kDeepest || ranges.text_length + length > kLongestText) return false;
  if (length > 0) std::memcpy(&ranges.text[ranges.text_length], bytes, length);
  ranges.all[ranges.count] = {.key = key,
                              .under = followed_text(ranges),
                              .length = static_cast<std::uint16_t>(length),
                              .kind = kind};
  ++ranges.count;
  ranges.text_length += static_cast<std::uint32_t>(length);
  return true;
}

bool add(OpenRanges& ranges, std::uint64_t key, Kind kind, const char* text) noexcept {
  if (ranges.count == kDeepest) drop_ended(ranges);
  const std::size_t length =
      text == nullptr ? 0 : length_that_fits(text, kLongestText - ranges.text_length);
  return add_bytes(ranges, key, kind, text, length);
}

// Ids of set ranges are counters of the application's: apart from those of NVTX.
constexpr std::uint64_t kSetId = std::uint64_t{1} << 63U;

// The set or followed range of `key`, also one that another thread has ended.
RangePlace find_set(const OpenRanges& ranges, std::uint64_t key) noexcept {
  return innermost(ranges, [key](const Range& range) {
    return (range.kind == Kind::kSet || range.kind == Kind::kFollowed) && range.key == key;
  });
}

// The next range under `key` stands innermost again.
void take_away(OpenRanges& ranges, std::uint64_t key, RangePlace found) noexcept {
  if (found.at == ranges.count) return;
  erase_started(key);
  remove(ranges, found);
}

void replace_text(OpenRanges& ranges, RangePlace place, const char* text) noexcept {
  const std::size_t old_length = ranges.all[place.at].length;
  const std::size_t others = ranges.text_length - old_length;
  const std::size_t length = length_that_fits(text, kLongestText - others);
  char* const begin = ranges.text.data() + place.begin;
  std::memmove(begin + length, begin + old_length, ranges.text_length - place.begin - old_length);
  std::memcpy(begin, text, length);
  ranges.all[place.at].length = static_cast<std::uint16_t>(length);
  ranges.text_length = static_cast<std::uint32_t>(others + length);
}

// The text of the range there, as it is now.  Once discovery has ended, a pointer that we
// follow may no longer be valid.
std::string_view text_at(const OpenRanges& ranges, RangePlace place) noexcept {
  const Range& range = ranges.all[place.at];
  if (range.kind != Kind::kFollowed) return {&ranges.text[place.begin], range.length};
  const char* const text = is_wanted() ? *pointer_at(ranges, place.begin) : nullptr;
  return text == nullptr ? std::string_view{}
                         : std::string_view{text, length_that_fits(text, kLongestText)};
}

}  // namespace

void push_range(RangeOwner owner, const char* text) noexcept {
  // A pop whose push left nothing behind finds nothing either.
  OpenRanges* const mine = is_wanted() ? open_ranges.make() : open_ranges.get();
  if (mine == nullptr) return;
  // Once one push was only counted, so are all below it: pops come in reverse.
  if (!is_wanted() || mine->pushed_without_text > 0 || !add(*mine, owner, Kind::kPushed, text))
    ++mine->pushed_without_text;
}

void pop_range(RangeOwner owner) noexcept {
  if (open_ranges.get() == nullptr) return;
  OpenRanges& ranges = *open_ranges.get();
  if (ranges.pushed_without_text > 0) {
    --ranges.pushed_without_text;
    return;
  }
  const RangePlace pushed = innermost(ranges, [owner](const Range& range) {
    return range.kind == Kind::kPushed && range.key == owner;
  });
  if (pushed.at < ranges.count) remove(ranges, pushed);
}

void start_range(std::uint64_t id, const char* text) noexcept {
  OpenRanges* const mine = is_wanted() ? open_ranges.make() : nullptr;
  if (mine == nullptr || !insert_started(id)) return;
  if (!add(*mine, id, Kind::kStarted, text)) erase_started(id);
}

void end_range(std::uint64_t id) noexcept {
  // The thread that started it drops it when it next reads its ranges.
  if (is_wanted()) erase_started(id);
}

void set_range(std::uint64_t id, const char* text) noexcept {
  OpenRanges* const mine = is_wanted() ? open_ranges.make() : nullptr;
  if (mine == nullptr) return;
  const std::uint64_t key = id | kSetId;
  const bool is_none = text == nullptr || *text == '\0';
  const RangePlace found = find_set(*mine, key);
  const bool is_open = found.at < mine->count && is_started(key);
  if (is_open && !is_none && mine->all[found.at].kind == Kind::kSet)
    return replace_text(*mine, found, text);
  take_away(*mine, key, found);
  if (is_none || !insert_started(key)) return;
  if (!add(*mine, key, Kind::kSet, text)) erase_started(key);
}

void follow_range(std::uint64_t id, const char* const* text) noexcept {
  OpenRanges* const mine = is_wanted() ? open_ranges.make() : nullptr;
  if (mine == nullptr) return;
  const std::uint64_t key = id | kSetId;
  const RangePlace found = find_set(*mine, key);
  const bool is_open = found.at < mine->count && is_started(key);
  if (is_open && mine->all[found.at].kind == Kind::kFollowed &&
      pointer_at(*mine, found.begin) == text)
    return;
  take_away(*mine, key, found);
  if (text == nullptr || !insert_started(key)) return;
  if (!add_bytes(*mine, key, Kind::kFollowed, &text, sizeof(text))) erase_started(key);
}

void end_set_range(std::uint64_t id) noexcept {
  if (is_wanted()) erase_started(id | kSetId);
}

std::string current_layer() {
  if (open_ranges.get() == nullptr) return {};
  OpenRanges& ranges = *open_ranges.get();
  drop_ended(ranges);
  std::string around;
  std::string path;
  std::size_t begin = 0;
  const char* const followed = followed_text(ranges);
  for (std::size_t i = 0; i < ranges.count; ++i) {
    const std::string_view text = text_at(ranges, {.at = i, .begin = begin});
    const auto& [key, under, length, kind] = ranges.all[i];
    begin += length;
    if (text.empty()) continue;
    const bool is_range = kind == Kind::kPushed || kind == Kind::kStarted;
    const bool is_inside = under == followed;
    // Frameworks open ranges in an enclosing module, around its forward pass.  These add nothing:
    // the backward pass of the module that runs now has none.
    if (followed != nullptr && is_range && !is_inside && under != nullptr) continue;
    std::string& part = followed != nullptr && is_range && !is_inside ? around : path;
    if (!part.empty()) part.push_back('.');
    part.append(text);
  }
  if (around.empty() || path.empty()) return around + path;
  return around + '.' + path;
}

}  // namespace inline_prof::labels
