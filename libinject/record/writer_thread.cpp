#include "record/writer_thread.hpp"

#include "sys/lifecycle.hpp"
#include "sys/log.hpp"
#include "sys/quiet_thread.hpp"

#include <cerrno>
#include <exception>
#include <mutex>

namespace inline_prof::record {
namespace {

using sys::kNanosecondsPerSecond;

constexpr long kTickNanoseconds = 10'000'000;

}  // namespace

void WriterThread::start() {
  if (running_) return;
  const int error = sys::start_quiet_detached_thread(&WriterThread::main, this);
  running_ = error == 0;
  if (!running_) {
    sys::say(sys::LogLevel::kWarning,
             "no thread for checkpoints (error %d): prof.json is written at the end only", error);
  }
}

void* WriterThread::main(void* self) {
  try {
    static_cast<WriterThread*>(self)->loop();
  } catch (const std::exception& error) {
    sys::turn_off("writer thread", error.what());
  }
  return nullptr;
}

void WriterThread::loop() {
  long since_checkpoint = 0;
  bool ticking = static_cast<bool>(options_.tick);
  while (!wanted_.load(std::memory_order_acquire)) {
    const long pause =
        ticking ? kTickNanoseconds : options_.checkpoint_seconds * kNanosecondsPerSecond;
    const timespec until = sys::from_now(pause);
    const bool timed_out = sem_timedwait(&wake_, &until) != 0 && errno == ETIMEDOUT;
    if (const int signal = signal_.exchange(0); signal != 0 && options_.on_signal) {
      options_.on_signal(signal);
    }
    if (wanted_.load(std::memory_order_acquire)) continue;
    if (nudged_.exchange(false)) ticking = options_.tick();
    if (!timed_out) continue;
    if (ticking) ticking = options_.tick();
    since_checkpoint += pause;
    if (since_checkpoint >= options_.checkpoint_seconds * kNanosecondsPerSecond) {
      since_checkpoint = 0;
      write(false, false);
    }
  }
  write(complete_, true);
  pthread_mutex_lock(&mutex_);
  finished_.store(true, std::memory_order_release);
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&mutex_);
}

void WriterThread::finish(bool complete) {
  complete_ = complete;
  wanted_.store(true, std::memory_order_release);
  sem_post(&wake_);
}

void WriterThread::nudge() noexcept {
  nudged_.store(true);
  sem_post(&wake_);
}

void WriterThread::wake_for_signal(int signal) noexcept {
  signal_.store(signal);
  sem_post(&wake_);
}

bool WriterThread::wait(int milliseconds) {
  const timespec until = sys::from_now(milliseconds * 1'000'000L);
  pthread_mutex_lock(&mutex_);
  int woken = 0;
  while (!has_finished() && woken == 0) {
    woken = pthread_cond_timedwait(&changed_, &mutex_, &until);
  }
  pthread_mutex_unlock(&mutex_);
  return has_finished();
}

void WriterThread::write_now(bool complete) {
  write(complete, true);
  finished_.store(true, std::memory_order_release);
}

void WriterThread::write(bool complete, bool is_last) {
  WriteFacts facts = options_.facts();
  facts.complete = complete;
  std::string text;
  {
    const std::lock_guard lock(run_.mutex);
    if (!is_last && options_.ready && !options_.ready()) return;
    text = prof_json(run_, facts);
  }
  const std::string error = file_.write(text);
  if (error.empty()) {
    complaint_made_ = false;
    if (is_last) {
      sys::say(sys::LogLevel::kInfo, "%s: %zu events", file_.path().c_str(), run_.events.size());
    }
    return;
  }
  // Reported once until a write succeeds, and at the end: a full disk stays full for many
  // checkpoints.
  if (is_last || !complaint_made_) {
    sys::say(sys::LogLevel::kError, "%s; the program is not affected, %s", error.c_str(),
             is_last ? "the samples are lost" : "the file is tried again later");
  }
  complaint_made_ = true;
}

}  // namespace inline_prof::record
