#include "record/writer_thread.hpp"

#include "sys/clock.hpp"
#include "sys/large_stack.hpp"
#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "sys/quiet_thread.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <linux/futex.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace inline_prof::record {
namespace {

using sys::kNanosecondsPerSecond;

constexpr long kTickNanoseconds = 10'000'000;

// On a busy machine the writer gets little time. The wait is repeated as long as the writer used
// this much in the last one. A disk that does not answer uses no processor time.
constexpr long kLeastWorkNanoseconds = 20'000'000;
constexpr int kMostWaits = 10;

// A thread that is not there any more gets no signal.
bool is_there(int thread) noexcept {
  return syscall(SYS_tgkill, getpid(), thread, 0, 0, 0, 0) == 0;
}

constexpr int kLongestLeaveMs = 200;
constexpr int kLongestForkMs = 1000;

// Returns the processor time of the writer's thread, which may be gone: by the number that Linux
// has for such a clock (include/linux/posix-timers.h). 0 before it runs.
long processor_time_of(int thread) noexcept {
  if (thread == 0) return 0;
  timespec time{};
  constexpr unsigned clock_of_thread = 6;
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U | clock_of_thread);
  if (clock_gettime(clock, &time) != 0) return 0;
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

}  // namespace

void WriterThread::start() {
  if (running_.exchange(true)) return;
  thread_.store(0);
  turn_.store(Turn::kAwake);
  const int error = sys::start_quiet_detached_thread(&WriterThread::main, this);
  if (error != 0) {
    turn_.store(Turn::kAsleep);
    running_ = false;
    if (std::exchange(has_no_thread_, true)) return;
    sys::say(sys::LogLevel::kWarning,
             "no thread for checkpoints (error %d): prof.json is written at the end only", error);
  }
}

void* WriterThread::main(void* self) {
  auto* writer = static_cast<WriterThread*>(self);
  try {
    writer->thread_.store(static_cast<int>(syscall(SYS_gettid, 0, 0, 0, 0, 0)));
    writer->loop();
  } catch (const std::exception& error) {
    sys::turn_off("writer thread", error.what());
    writer->turn_.store(Turn::kAsleep);
  }
  return nullptr;
}

void WriterThread::take_turn(Turn turn, int milliseconds) noexcept {
  for (int waited = 0; waited < milliseconds; ++waited) {
    Turn free = Turn::kAsleep;
    if (turn_.compare_exchange_strong(free, turn)) return;
    usleep(1000);
  }
}

bool WriterThread::leave() {
  if (!running_.load()) return false;
  leaves_.store(true);
  wake();
  bool is_gone = false;
  for (int waited = 0; waited < kLongestLeaveMs && !is_gone; ++waited) {
    const int thread = thread_.load();  // 0 before it runs
    is_gone = thread != 0 && !is_there(thread);
    if (!is_gone) usleep(1000);
  }
  leaves_.store(false);
  return is_gone;
}

// Waits until another thread wakes this one, or `nanoseconds`, below a second, have passed. Returns
// true for the latter. A futex waits by the monotonic clock: semaphores and condition variables
// would wait for an hour more where the clock is set back by one.
bool WriterThread::sleep(long nanoseconds) {
  const timespec pause{.tv_sec = 0, .tv_nsec = nanoseconds};
  turn_.store(Turn::kAsleep);
  syscall(SYS_futex, reinterpret_cast<long>(&is_woken_), FUTEX_WAIT_PRIVATE, 0,
          reinterpret_cast<long>(&pause), 0, 0);
  take_turn(Turn::kAwake, kLongestForkMs);
  return is_woken_.exchange(0) == 0;
}

void WriterThread::wake() noexcept {
  is_woken_.store(1);
  syscall(SYS_futex, reinterpret_cast<long>(&is_woken_), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void WriterThread::tell_signal() {
  const int signal = signal_.exchange(0);
  if (signal != 0 && options_.on_signal) options_.on_signal(signal);
}

void WriterThread::loop() {
  const long checkpoint = options_.checkpoint_seconds * kNanosecondsPerSecond;
  long since_checkpoint = 0;
  std::int64_t watched_at = sys::monotonic_ns();
  bool ticking = static_cast<bool>(options_.tick);
  while (!wanted_.load(std::memory_order_acquire)) {
    const long pause = ticking ? kTickNanoseconds : sys::kLongestSleepNanoseconds;
    const bool timed_out = sleep(pause);
    tell_signal();
    if (wanted_.load(std::memory_order_acquire)) continue;
    if (leaves_.load()) {
      turn_.store(Turn::kAsleep);
      running_ = false;
      return;
    }
    if (nudged_.exchange(false)) ticking = options_.tick();
    if (!timed_out) continue;
    if (ticking) ticking = options_.tick();
    since_checkpoint += pause;
    if (const std::int64_t now = sys::monotonic_ns(); now - watched_at >= kNanosecondsPerSecond) {
      watched_at = now;
      if (options_.watch) options_.watch();
    }
    // All threads of the application have ended: the process ends with this one, and its exit
    // handler asks for the file.
    if (!ticking || since_checkpoint % sys::kLongestSleepNanoseconds == 0) {
      if (sys::only_quiet_threads_are_left()) {
        turn_.store(Turn::kAsleep);
        running_ = false;
        if (options_.on_alone) options_.on_alone();
        return;
      }
      if (options_.look) options_.look();
    }
    if (since_checkpoint >= checkpoint) {
      since_checkpoint = 0;
      write(false, false);
    }
  }
  // This object may be gone once it is told that the file is written.
  turn_.store(Turn::kAsleep);
  end(closing_ms_.load() > 0 ? close() : complete_);
}

void WriterThread::end(std::optional<bool> complete) {
  if (complete) write(*complete, true);
  if (options_.on_written) options_.on_written();
  tell_signal();
  tell(finished_);
}

void* WriterThread::main_of_closing(void* self) {
  auto* writer = static_cast<WriterThread*>(self);
  try {
    writer->thread_.store(static_cast<int>(syscall(SYS_gettid, 0, 0, 0, 0, 0)));
    writer->closed_ = writer->options_.close();
  } catch (const std::exception& error) {
    sys::turn_off("writer thread", error.what());
  }
  writer->tell(writer->is_closed_);
  return nullptr;
}

// By another thread, which may hang. The application's must not start it: it may have interrupted
// the allocator, which pthread_create() calls.
std::optional<bool> WriterThread::close() {
  const int own = thread_.load();
  if (sys::start_quiet_detached_thread(&WriterThread::main_of_closing, this) != 0)
    return options_.close();
  const bool is_closed = wait_while_it_works(is_closed_, closing_ms_.load());
  thread_.store(own);
  if (is_closed) return closed_;
  const std::lock_guard lock(run_.mutex);
  run_.add_warning(
      "the program ended while it was inside the driver: the last samples are missing");
  return false;
}

void WriterThread::finish(bool complete) {
  complete_ = complete;
  wanted_.store(true, std::memory_order_release);
  wake();
}

void WriterThread::finish_within(bool complete, int milliseconds) {
  finish(complete);
  if (!is_running()) start();
  // This runs on a thread of the application's.
  if (!is_running()) return sys::on_large_stack([&] { write_now(complete); });
  wait_or_complain(milliseconds);
}

void WriterThread::close_within(int milliseconds) {
  closing_ms_.store(std::max(milliseconds / 2, 1));
  wanted_.store(true, std::memory_order_release);
  wake();
  wait_or_complain(milliseconds);
}

bool WriterThread::wait_while_it_works(const std::atomic<bool>& done, int milliseconds) {
  long worked = processor_time_of(thread_.load());
  for (int waits = 0; waits < kMostWaits; ++waits) {
    if (wait_for(done, milliseconds)) return true;
    const long now = processor_time_of(thread_.load());
    if (std::abs(now - worked) < kLeastWorkNanoseconds) break;  // of another thread, once it closes
    worked = now;
  }
  return false;
}

void WriterThread::wait_or_complain(int milliseconds) {
  if (wait_while_it_works(finished_, milliseconds)) return;
  sys::say(sys::LogLevel::kError,
           "%s: not written within %d ms at the end of the program: the samples since the last "
           "checkpoint are lost",
           options_.path.c_str(), milliseconds);
}

void WriterThread::nudge() noexcept {
  nudged_.store(true);
  wake();
}

void WriterThread::wake_for_signal(int signal) noexcept {
  signal_.store(signal);
  wake();
}

bool WriterThread::wait(int milliseconds) {
  return wait_for(finished_, milliseconds);
}

void WriterThread::tell(std::atomic<bool>& done) noexcept {
  pthread_mutex_lock(&mutex_);
  done.store(true, std::memory_order_release);
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&mutex_);
}

bool WriterThread::wait_for(const std::atomic<bool>& done, int milliseconds) {
  const timespec until = sys::from_now(milliseconds * 1'000'000L);
  pthread_mutex_lock(&mutex_);
  int woken = 0;
  while (!done.load(std::memory_order_acquire) && woken == 0)
    woken = pthread_cond_timedwait(&changed_, &mutex_, &until);
  pthread_mutex_unlock(&mutex_);
  return done.load(std::memory_order_acquire);
}

void WriterThread::write_now(bool complete) {
  write(complete, true);
  finished_.store(true, std::memory_order_release);
}

std::string WriterThread::write_checkpoint_now() {
  return write(false, false);
}

std::string WriterThread::write(bool complete, bool is_last) {
  WriteFacts facts = options_.facts();
  facts.complete = facts.complete || complete;
  facts.expected_bytes = last_bytes_ + last_bytes_ / 16;
  std::string text;
  std::string metrics;
  {
    const std::lock_guard lock(run_.mutex);
    if (!is_last && options_.ready && !options_.ready()) return "no events are known yet";
    text = prof_json(run_, facts);
    last_bytes_ = text.size();
    if (!options_.metrics_path.empty()) metrics = metrics_text(run_, facts, options_.run_name);
  }
  const bool is_due = is_last || !file_.is_a_stream();
  std::string error = is_due ? file_.write(text) : "";
  if (!metrics.empty()) write_metrics(metrics);
  if (!is_due) return options_.path + ": is written to once, at the end";
  if (error.empty()) {
    complaint_made_ = false;
    if (is_last) say_what_was_written();
    return "";
  }
  // Reported once until a write succeeds, and at the end: a full disk stays full for many
  // checkpoints.
  if (is_last || !complaint_made_) {
    sys::say(sys::LogLevel::kError, "%s; the program is not affected, %s", error.c_str(),
             is_last ? "the samples are lost" : "the file is tried again later");
  }
  complaint_made_ = true;
  return error;
}

// One rank speaks for all, whose files make one report.
void WriterThread::say_what_was_written() {
  if (run_.rank.value_or(0) != 0) return;
  const std::string& path = file_.path();
  if (file_.is_a_stream()) return sys::say_uncounted("wrote %s", path.c_str());
  const std::string older = path == options_.path ? "" : ", " + options_.path + " exists";
  const bool is_one_of_many = run_.world_size.value_or(1) > 1;
  const std::string next = is_one_of_many ? path.substr(0, path.rfind('/')) : path;
  sys::say_uncounted("wrote %s%s; next: prof-analyze %s", path.c_str(), older.c_str(),
                     next.c_str());
}

void WriterThread::write_metrics(const std::string& text) {
  const std::string error = metrics_.write(text);
  if (!error.empty() && !metrics_complaint_made_) {
    sys::say(sys::LogLevel::kWarning, "INLINE_PROF_METRICS: %s; tried again at each checkpoint",
             error.c_str());
  }
  metrics_complaint_made_ = !error.empty();
}

}  // namespace inline_prof::record
