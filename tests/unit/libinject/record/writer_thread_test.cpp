#include "record/writer_thread.hpp"

#include "sys/log.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace inline_prof::record {
namespace {

using nlohmann::json;

// Longer than a loaded machine needs to write a small file.
constexpr int kPatienceMs = 20'000;

class WriterThreadTest : public test::TemporaryFolder {
 protected:
  // Never destroyed before its thread has ended: every test waits for it.
  WriterThread& writer(const std::string& name, std::function<bool()> tick = {},
                       int checkpoint_seconds = 3600) {
    writer_ = std::make_unique<WriterThread>(
        run_, WriterThread::Options{.path = path(name),
                                    .checkpoint_seconds = checkpoint_seconds,
                                    .tick = std::move(tick),
                                    .facts = [] { return WriteFacts{}; }});
    return *writer_;
  }
  [[nodiscard]] WriterThread::Options with_metrics() const {
    return {.path = path("prof.json"),
            .metrics_path = path("run.prom"),
            .run_name = "job",
            .facts = [] { return WriteFacts{}; }};
  }
  static void end(WriterThread& thread, bool is_complete = true) {
    thread.finish(is_complete);
    EXPECT_TRUE(thread.wait(kPatienceMs));
  }
  [[nodiscard]] json written(const std::string& name) const { return json::parse(content(name)); }

  RunRecord run_;

 private:
  std::unique_ptr<WriterThread> writer_;
};

TEST_F(WriterThreadTest, WritesTheFinalFileWhenItIsAskedAndSaysWhetherTheRunWasCutOff) {
  for (const bool is_complete : {true, false}) {
    WriterThread& thread = writer("prof.json");
    thread.start();
    thread.start();  // is started already
    EXPECT_TRUE(thread.is_running());
    EXPECT_FALSE(thread.has_finished());
    end(thread, is_complete);
    EXPECT_TRUE(thread.has_finished());
    EXPECT_EQ(written("prof.json")["complete"], is_complete);
    EXPECT_EQ(names().size(), 1U);
    std::filesystem::remove(path("prof.json"));
  }
}

TEST_F(WriterThreadTest, WritesTheMetricsInPlaceOfThoseBefore) {
  file("run.prom", "of a run before");
  WriterThread thread(run_, with_metrics());
  thread.write_checkpoint_now();
  EXPECT_THAT(content("run.prom"),
              HasSubstr("inline_prof_live_complete{host=\"\",run=\"job\"} 0\n"));
  thread.write_now(true);
  EXPECT_THAT(content("run.prom"),
              HasSubstr("inline_prof_live_complete{host=\"\",run=\"job\"} 1\n"));
}

TEST_F(WriterThreadTest, MetricsThatCannotBeWrittenAreSaidOnceAndTheProfileIsWritten) {
  std::filesystem::create_directory(path("run.prom"));
  WriterThread thread(run_, with_metrics());
  testing::internal::CaptureStderr();
  thread.write_checkpoint_now();
  thread.write_now(true);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("INLINE_PROF_METRICS: " + path("run.prom") + ": cannot be replaced"));
  EXPECT_EQ(said.find("INLINE_PROF_METRICS"), said.rfind("INLINE_PROF_METRICS"));
  EXPECT_EQ(written("prof.json")["complete"], true);
}

TEST_F(WriterThreadTest, WaitsNoLongerThanItIsTold) {
  WriterThread& thread = writer("prof.json");
  thread.start();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(thread.wait(30));
  const auto waited = std::chrono::steady_clock::now() - before;
  EXPECT_GE(waited, std::chrono::milliseconds(25));
  EXPECT_FALSE(std::filesystem::exists(path("prof.json")));
  end(thread);
}

TEST_F(WriterThreadTest, LeavesACheckpointOfARunThatGoesOn) {
  WriterThread& thread = writer("prof.json", {}, 1);
  run_.host_name = "checkpointed";
  thread.start();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!std::filesystem::exists(path("prof.json")) && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  const json checkpoint = written("prof.json");
  end(thread);
  EXPECT_EQ(checkpoint["complete"], false);
  EXPECT_EQ(checkpoint["host_name"], "checkpointed");
  EXPECT_EQ(written("prof.json")["complete"], true);
  EXPECT_EQ(names().size(), 1U) << "the final file takes the checkpoint's place";
}

TEST_F(WriterThreadTest, TicksUntilThereIsNothingMoreToTickFor) {
  std::atomic<int> ticks{0};
  WriterThread& thread = writer("prof.json", [&] { return ticks.fetch_add(1) < 2; });
  thread.start();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (ticks.load() < 3 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  end(thread);
  EXPECT_EQ(ticks.load(), 3);
}

TEST_F(WriterThreadTest, WritesOnTheCallersThreadAtTheEnd) {
  WriterThread& thread = writer("prof.json");
  thread.write_now(true);
  EXPECT_FALSE(thread.is_running());
  EXPECT_TRUE(thread.has_finished());
  EXPECT_EQ(written("prof.json")["complete"], true);
}

TEST_F(WriterThreadTest, WritesWhatIsRecordedWhereClosingHangs) {
  // Never destroyed: a thread hangs to the end.
  static auto& threads = *new std::vector<std::unique_ptr<WriterThread>>;
  for (const bool hangs : {false, true}) {
    WriterThread& thread = *threads.emplace_back(std::make_unique<WriterThread>(
        run_, WriterThread::Options{.path = path("prof.json"),
                                    .facts = [] { return WriteFacts{}; },
                                    .close = [hangs]() -> std::optional<bool> {
                                      if (hangs)
                                        std::this_thread::sleep_for(std::chrono::hours(24));
                                      return true;
                                    }}));
    thread.start();
    thread.close_within(hangs ? 100 : kPatienceMs);
    EXPECT_TRUE(thread.wait(kPatienceMs));
    EXPECT_EQ(written("prof.json")["complete"], !hangs);
    EXPECT_EQ(run_.warnings.size(), hangs ? 1U : 0U);
    std::filesystem::remove(path("prof.json"));
  }
}

TEST_F(WriterThreadTest, BlocksEverySignalOfTheHosts) {
  sigset_t seen;
  sigemptyset(&seen);
  std::atomic<bool> ticked{false};
  WriterThread& thread = writer("prof.json", [&] {
    pthread_sigmask(SIG_SETMASK, nullptr, &seen);
    ticked = true;
    return false;
  });
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  thread.start();
  while (!ticked.load())
    std::this_thread::yield();
  end(thread);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGCHLD})
    EXPECT_EQ(sigismember(&seen, signal), 1) << signal;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

TEST_F(WriterThreadTest, SaysOnceThatAPathFailsAndThatTheSamplesAreLostAtTheEnd) {
  WriterThread& thread = writer("absent/prof.json");
  testing::internal::CaptureStderr();
  thread.write_now(true);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_THAT(words, StartsWith("inline_prof: " + path("absent/prof.json")));
  EXPECT_THAT(words,
              HasSubstr("No such file or directory; the program is not affected, the samples "
                        "are lost\n"));
}

TEST_F(WriterThreadTest, SaysOnceThatCheckpointsFail) {
  std::filesystem::create_directory(path("later"));
  WriterThread& thread = writer("later/prof.json", {}, 1);
  std::filesystem::remove(path("later"));
  testing::internal::CaptureStderr();
  thread.start();
  // Two checkpoints' time, enough for a second complaint.
  EXPECT_FALSE(thread.wait(2500));
  std::filesystem::create_directory(path("later"));
  end(thread);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_THAT(words, HasSubstr("the file is tried again later\n"));
  EXPECT_EQ(words.find("tried again"), words.rfind("tried again")) << words;
  EXPECT_EQ(written("later/prof.json")["complete"], true);
}

TEST_F(WriterThreadTest, SaysWhatItWroteAndWhatToDoNext) {
  WriterThread& thread = writer("prof.json");
  testing::internal::CaptureStderr();
  thread.write_now(true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "inline_prof: wrote " + path("prof.json") +
                                                        "; next: prof-analyze " +
                                                        path("prof.json") + "\n");
  run_.world_size = 2;
  testing::internal::CaptureStderr();
  thread.write_now(true);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("; next: prof-analyze " + folder() + "\n"));
}

}  // namespace
}  // namespace inline_prof::record
