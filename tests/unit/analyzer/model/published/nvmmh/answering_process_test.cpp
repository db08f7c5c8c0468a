#include "model/published/nvmmh/answering_process.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

using namespace std::chrono_literals;

AnsweringProcess shell(const std::string& script, std::chrono::milliseconds patience = 60s) {
  return {{"/bin/sh", "-c", script}, patience};
}

TEST(AnsweringProcess, AnswersLineByLine) {
  auto process = shell("echo hello; while read line; do echo \"<$line>\"; done");
  EXPECT_EQ(process.answer(), "hello");
  EXPECT_EQ(process.ask("one two"), "<one two>");
  EXPECT_EQ(process.ask(""), "<>");
  EXPECT_EQ(process.complaint(), "");
}

TEST(AnsweringProcess, SaysHowItEnded) {
  auto finished = shell("read line; echo last; exit 3");
  EXPECT_EQ(finished.ask("go"), "last") << "what it said before it ended counts";
  EXPECT_EQ(finished.answer(), std::nullopt);
  EXPECT_EQ(finished.complaint(), "ended with status 3");
  EXPECT_EQ(finished.ask("more"), std::nullopt);

  auto crashed = shell("read line; kill -SEGV $$");
  EXPECT_EQ(crashed.ask("go"), std::nullopt);
  EXPECT_EQ(crashed.complaint(), "ended by signal 11");

  AnsweringProcess missing({"/no/such/program"}, 60s);
  EXPECT_EQ(missing.answer(), std::nullopt);
  EXPECT_EQ(missing.complaint(), "cannot be started: No such file or directory");
}

TEST(AnsweringProcess, DoesNotWaitForEver) {
  auto silent = shell("exec sleep 1000", 20ms);
  EXPECT_EQ(silent.ask("go"), std::nullopt);
  EXPECT_EQ(silent.complaint(), "gave no answer within 0.02 s");
  auto endless = shell("exec tr '\\0' x < /dev/zero");
  EXPECT_EQ(endless.answer(), std::nullopt);
  EXPECT_EQ(endless.complaint(), "gave an answer without an end");
}

}  // namespace
}  // namespace inline_prof::model
