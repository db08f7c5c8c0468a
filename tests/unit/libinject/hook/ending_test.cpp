// How a process ends whose thread was interrupted by a signal inside of the driver, where the
// writer's thread waits for a lock in vain.
#include "hook/ending.hpp"

#include "testing.hpp"

#include <csignal>

namespace inline_prof::hook {
namespace {

TEST(TheEnd, NamesTheFileThatWasWrittenBefore) {
  const auto end = [] {
    ending_signal.store(SIGTERM);
    note_file_before_the_end("run/prof.json");
    wait_for_the_end();
  };
  EXPECT_EXIT(end(), KilledBySignal(SIGTERM),
              "^inline_prof: wrote run/prof.json; the last samples are missing, since signal 15 "
              "came inside the driver; next: prof-analyze run/prof.json\n$");
}

TEST(TheEnd, SaysThatSamplesAreLostWithoutAFile) {
  const auto end = [] {
    ending_signal.store(SIGINT);
    wait_for_the_end();
  };
  EXPECT_EXIT(end(), KilledBySignal(SIGINT),
              "^inline_prof: prof.json was not written within 2000 ms after signal 2: the samples "
              "since the last checkpoint are lost\n$");
}

}  // namespace
}  // namespace inline_prof::hook
