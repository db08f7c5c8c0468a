#include "timer/stream_watch.hpp"

#include "sys/thread_state.hpp"

#include <cuda.h>

#include <array>
#include <cstdint>

namespace inline_prof::timer {

constinit std::atomic<int> open_watches{0};

namespace {

constexpr std::size_t kMostMarks = 64;  // launches at the same moment: threads, not launches

constinit std::array<StreamWatch, kMostWatches> watches;
constinit std::array<LaunchMark, kMostMarks> marks;
constinit StreamWatch no_room;  // of a pair that found none
constinit LaunchMark crowd;     // stands for the launches that found none
constinit std::atomic<int> launches_in_crowd{0};

struct ThreadOnStream {
  std::atomic<const void*> stream{nullptr};
  std::atomic<const void*> thread{nullptr};
};
constexpr std::size_t kMostStreams = 256;
constexpr std::size_t kLongestProbe = 16;
constinit std::array<ThreadOnStream, kMostStreams> threads_on_streams;
constexpr char kSeveral = 0;

// Identifies this thread.
const void* this_thread() noexcept {
  return &sys::this_thread;
}

// Multiplicative hashing, as in launch_table.hpp.
std::size_t hash(const void* pointer) noexcept {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  return static_cast<std::size_t>((address >> 4) * 0x9E3779B97F4A7C15ULL >> 32);
}

void spoil_watches_on(const void* stream) noexcept {
  for (StreamWatch& watch : watches) {
    if (watch.stream.load() != stream) continue;
    if (watch.thread.load(std::memory_order_relaxed) != this_thread()) watch.is_spoiled.store(true);
  }
}

bool others_launch_on(const void* stream) noexcept {
  if (launches_in_crowd.load() != 0) return true;
  for (const LaunchMark& mark : marks) {
    if (mark.stream.load() == stream &&
        mark.thread.load(std::memory_order_relaxed) != this_thread()) {
      return true;
    }
  }
  return false;
}

}  // namespace

StreamWatch* open_watch(const void* stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return nullptr;
  open_watches.fetch_add(1);
  const std::size_t first = hash(this_thread());
  for (std::size_t i = 0; i < kMostWatches; ++i) {
    StreamWatch& watch = watches[(first + i) % kMostWatches];
    const void* nobody = nullptr;
    if (watch.thread.load(std::memory_order_relaxed) != nullptr ||
        !watch.thread.compare_exchange_strong(nobody, this_thread())) {
      continue;
    }
    watch.is_spoiled.store(false);
    watch.stream.store(stream);
    if (others_launch_on(stream)) watch.is_spoiled.store(true);
    return &watch;
  }
  return &no_room;
}

bool close_watch(StreamWatch& watch) noexcept {
  bool is_spoiled = true;
  if (&watch != &no_room) {
    is_spoiled = watch.is_spoiled.load();
    watch.stream.store(nullptr);
    watch.thread.store(nullptr);
  }
  open_watches.fetch_sub(1);
  return is_spoiled;
}

LaunchMark* mark_launch(const void* stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return nullptr;
  note_thread_on(stream);
  LaunchMark* mine = nullptr;
  const std::size_t first = hash(this_thread());
  for (std::size_t i = 0; i < kMostMarks && mine == nullptr; ++i) {
    LaunchMark& mark = marks[(first + i) % kMostMarks];
    const void* nobody = nullptr;
    if (mark.stream.load(std::memory_order_relaxed) == nullptr &&
        mark.stream.compare_exchange_strong(nobody, stream)) {
      mine = &mark;
    }
  }
  if (mine != nullptr) {
    mine->thread.store(this_thread(), std::memory_order_relaxed);
  } else {
    launches_in_crowd.fetch_add(1);
    mine = &crowd;
  }
  if (open_watches.load() != 0) spoil_watches_on(stream);
  return mine;
}

// The thread first: whoever takes the place next has not been here yet.
void end_mark(LaunchMark* mark) noexcept {
  if (mark == nullptr) return;
  if (mark == &crowd) {
    auto now = launches_in_crowd.load();
    while (now > 0 && !launches_in_crowd.compare_exchange_weak(now, now - 1)) {
    }
    return;
  }
  const void* mine = this_thread();
  if (mark->thread.load(std::memory_order_relaxed) != mine) return;  // forgotten meanwhile
  mark->thread.store(nullptr, std::memory_order_relaxed);
  mark->stream.store(nullptr, std::memory_order_release);
}

void forget_marks() noexcept {
  for (LaunchMark& mark : marks) {
    mark.thread.store(nullptr);
    mark.stream.store(nullptr);
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
