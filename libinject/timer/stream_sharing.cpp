#include "timer/stream_sharing.hpp"

#include "sys/thread_state.hpp"

#include <cuda.h>

#include <array>
#include <cstdint>

namespace inline_prof::timer {

constinit std::atomic<int> exclusive_uses{0};

namespace {

constexpr std::size_t kMostUnderWay = 64;  // one for each thread

constinit std::array<ExclusiveUse, kMostExclusiveUses> uses;
constinit std::array<LaunchUnderWay, kMostUnderWay> under_way;
constinit ExclusiveUse no_room;  // stands for a pair that found no place
constinit LaunchUnderWay crowd;  // stands for the launches that found no place
constinit std::atomic<int> launches_in_crowd{0};

struct ThreadOnStream {
  std::atomic<const void*> stream{nullptr};
  std::atomic<const void*> thread{nullptr};
};
constexpr std::size_t kMostStreams = 256;
constexpr std::size_t kLongestProbe = 16;
constinit std::array<ThreadOnStream, kMostStreams> threads_on_streams;
constexpr char kSeveral = 0;

// Returns a pointer that identifies this thread.
const void* this_thread() noexcept {
  return &sys::this_thread;
}

// Multiplicative hashing, as in launch_table.hpp.
std::size_t hash(const void* pointer) noexcept {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  return static_cast<std::size_t>((address >> 4) * 0x9E3779B97F4A7C15ULL >> 32);
}

void spoil_uses_of(const void* stream) noexcept {
  for (ExclusiveUse& use : uses) {
    if (use.stream.load() != stream) continue;
    if (use.thread.load(std::memory_order_relaxed) != this_thread()) use.is_spoiled.store(true);
  }
}

bool others_launch_on(const void* stream) noexcept {
  if (launches_in_crowd.load() != 0) return true;
  for (const LaunchUnderWay& launch : under_way) {
    if (launch.stream.load() == stream &&
        launch.thread.load(std::memory_order_relaxed) != this_thread()) {
      return true;
    }
  }
  return false;
}

}  // namespace

ExclusiveUse* begin_exclusive_use(const void* stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return nullptr;
  exclusive_uses.fetch_add(1);
  const std::size_t first = hash(this_thread());
  for (std::size_t i = 0; i < kMostExclusiveUses; ++i) {
    ExclusiveUse& use = uses[(first + i) % kMostExclusiveUses];
    const void* nobody = nullptr;
    if (use.thread.load(std::memory_order_relaxed) != nullptr ||
        !use.thread.compare_exchange_strong(nobody, this_thread()))
      continue;
    use.is_spoiled.store(false);
    use.stream.store(stream);
    if (others_launch_on(stream)) use.is_spoiled.store(true);
    return &use;
  }
  return &no_room;
}

bool end_exclusive_use(ExclusiveUse& use) noexcept {
  bool is_spoiled = true;
  if (&use != &no_room) {
    is_spoiled = use.is_spoiled.load();
    use.stream.store(nullptr);
    use.thread.store(nullptr);
  }
  exclusive_uses.fetch_sub(1);
  return is_spoiled;
}

LaunchUnderWay* begin_launch(const void* stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return nullptr;
  note_thread_on(stream);
  LaunchUnderWay* mine = nullptr;
  const std::size_t first = hash(this_thread());
  for (std::size_t i = 0; i < kMostUnderWay && mine == nullptr; ++i) {
    LaunchUnderWay& launch = under_way[(first + i) % kMostUnderWay];
    const void* nobody = nullptr;
    if (launch.stream.load(std::memory_order_relaxed) == nullptr &&
        launch.stream.compare_exchange_strong(nobody, stream))
      mine = &launch;
  }
  if (mine != nullptr) {
    mine->thread.store(this_thread(), std::memory_order_relaxed);
  } else {
    launches_in_crowd.fetch_add(1);
    mine = &crowd;
  }
  if (exclusive_uses.load() != 0) spoil_uses_of(stream);
  return mine;
}

// Clears the thread first: it must not be stored once another thread has taken the place.
void end_launch(LaunchUnderWay* launch) noexcept {
  if (launch == nullptr) return;
  if (launch == &crowd) {
    auto now = launches_in_crowd.load();
    while (now > 0 && !launches_in_crowd.compare_exchange_weak(now, now - 1)) {
    }
    return;
  }
  const void* mine = this_thread();
  if (launch->thread.load(std::memory_order_relaxed) != mine)
    return;  // forget_launches() ran meanwhile
  launch->thread.store(nullptr, std::memory_order_relaxed);
  launch->stream.store(nullptr, std::memory_order_release);
}

void forget_launches() noexcept {
  for (LaunchUnderWay& launch : under_way) {
    launch.thread.store(nullptr);
    launch.stream.store(nullptr);
  }
  launches_in_crowd.store(0);
}

void note_thread_on(const void* stream) noexcept {
  const std::size_t first = hash(stream);
  for (std::size_t i = 0; i < kLongestProbe; ++i) {
    ThreadOnStream& known = threads_on_streams[(first + i) % kMostStreams];
    const void* here = known.stream.load(std::memory_order_relaxed);
    if (here != stream) {
      if (here != nullptr) continue;
      if (!known.stream.compare_exchange_strong(here, stream) && here != stream) continue;
    }
    const void* thread = known.thread.load(std::memory_order_relaxed);
    if (thread == this_thread() || thread == &kSeveral) return;
    if (thread == nullptr && known.thread.compare_exchange_strong(thread, this_thread())) return;
    if (thread != this_thread()) known.thread.store(&kSeveral);
    return;
  }
}

bool threads_meet_on(const void* stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return false;
  const std::size_t first = hash(stream);
  for (std::size_t i = 0; i < kLongestProbe; ++i) {
    const ThreadOnStream& known = threads_on_streams[(first + i) % kMostStreams];
    const void* here = known.stream.load(std::memory_order_relaxed);
    if (here == stream) return known.thread.load(std::memory_order_relaxed) == &kSeveral;
    if (here == nullptr) break;
  }
  return true;
}

}  // namespace inline_prof::timer
