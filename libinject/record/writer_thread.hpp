// The thread that writes prof.json: checkpoints while the run goes on, and the file itself.
#pragma once

#include "record/metrics_text.hpp"
#include "record/output_file.hpp"
#include "record/prof_writer.hpp"
#include "record/run_record.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <pthread.h>
#include <string>

namespace inline_prof::record {

// The writer thread. It starts once, after the warm-up; a process that measures nothing has no
// thread of ours.
class WriterThread {
 public:
  enum class Turn { kAsleep, kAwake, kHeld };
  struct Options {
    std::string path;
    std::string metrics_path = {};  // empty: none
    std::string run_name = {};      // in the metrics
    int checkpoint_seconds = 30;
    // Called every 10 ms while it returns true; for a run without iterations.
    std::function<bool()> tick = {};
    std::function<WriteFacts()> facts;
    // Returns false while the record is incomplete, when no checkpoint may be written. Called with
    // the record's mutex held. Empty: always true.
    std::function<bool()> ready = {};
    // Called ten times a second.
    std::function<void()> look = {};
    // Called every second.
    std::function<void()> watch = {};
    // Called on this thread after wake_for_signal(), with the signal.
    std::function<void(int)> on_signal = {};
    // Called before the final file if the application ends first. Returns whether the record is
    // complete; nothing if there is nothing to write.
    std::function<std::optional<bool>()> close = {};
    // Called where only threads of ours are left, before this one ends.
    std::function<void()> on_alone = {};
    // Called after the final file. An earlier signal is still reported to on_signal.
    std::function<void()> on_written = {};
  };

  WriterThread(RunRecord& run, Options options)
      : run_(run),
        options_(std::move(options)),
        file_(options_.path),
        metrics_(OutputFile::that_replaces(options_.metrics_path)) {}

  // Starts the thread, unless it is running. If that fails, it is reported once, and the file is
  // only written at the end.
  void start();

  // Ends the thread until start(), unless it has ended for good. Returns false if there is none, or
  // if it is still there after 0.2 s: it writes, or waits for the driver.
  [[nodiscard]] bool leave();

  // Keeps the thread asleep while the application forks, for which it waits 100 ms at most: the
  // allocator may be the application's, and the child never gets a lock that is held by this
  // thread.
  void hold() noexcept { take_turn(Turn::kHeld, 100); }
  void let_go() noexcept {
    Turn held = Turn::kHeld;
    turn_.compare_exchange_strong(held, Turn::kAsleep);
  }

  // Asks the thread for the final file, and returns at once.
  void finish(bool complete);

  // Has the final file written, by a thread of ours if possible, and waits for it: `milliseconds`
  // at most, ten times as long while that thread works. Reports if it takes longer. Called when the
  // application ends.
  void finish_within(bool complete, int milliseconds);
  void wait_or_complain(int milliseconds);  // if finish() was called before

  // Has the running thread close the run first, and waits as finish_within(). The application may
  // end in a signal handler that has interrupted the driver, the allocator or a wrapper of ours,
  // and closing may need a lock that is held there: if it hangs, what is recorded is written.
  void close_within(int milliseconds);

  // Asks for a tick now.
  void nudge() noexcept;

  // Called from a signal handler.
  void wake_for_signal(int signal) noexcept;

  // Waits until the final file is written, or for `milliseconds`. Returns false if it is not.
  [[nodiscard]] bool wait(int milliseconds);

  // Writes on the caller's thread, at the end of the process.
  void write_now(bool complete);
  // Returns an empty string, or why there is no file.
  std::string write_checkpoint_now();

  // Name of prof.json. On the writer's thread.
  [[nodiscard]] const std::string& path() const {
    return file_.path().empty() ? options_.path : file_.path();
  }
  [[nodiscard]] bool is_running() const { return running_.load(); }
  [[nodiscard]] bool has_finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  void take_turn(Turn turn, int milliseconds) noexcept;
  static void* main(void* self);
  static void* main_of_closing(void* self);
  void loop();
  void end(std::optional<bool> complete);
  [[nodiscard]] std::optional<bool> close();
  void tell(std::atomic<bool>& done) noexcept;
  [[nodiscard]] bool wait_for(const std::atomic<bool>& done, int milliseconds);
  [[nodiscard]] bool wait_while_it_works(const std::atomic<bool>& done, int milliseconds);
  [[nodiscard]] bool sleep(long nanoseconds);
  void wake() noexcept;  // a signal handler may call it
  void tell_signal();
  std::string write(bool complete, bool is_last);
  void say_what_was_written();
  void write_metrics(const std::string& text);

  RunRecord& run_;
  Options options_;
  OutputFile file_;
  OutputFile metrics_;
  std::atomic<bool> running_{false};
  std::atomic<int> thread_{0};  // the kernel's number of the thread, or of the one that closes
  std::size_t last_bytes_ = 0;  // of prof.json
  bool has_no_thread_ = false;
  bool complaint_made_ = false;
  bool metrics_complaint_made_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  std::atomic<std::uint32_t> is_woken_{0};  // a futex
  std::atomic<Turn> turn_{Turn::kAsleep};
  std::atomic<int> signal_{0};
  std::atomic<bool> wanted_{false};
  std::atomic<int> closing_ms_{0};  // 0: the run is not to be closed
  std::atomic<bool> is_closed_{false};
  std::optional<bool> closed_{false};  // what closing returned
  std::atomic<bool> leaves_{false};
  std::atomic<bool> nudged_{false};
  bool complete_ = false;
  std::atomic<bool> finished_{false};
};

}  // namespace inline_prof::record
