#include "session/control.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <unistd.h>

namespace inline_prof::session {
namespace {

class AChangeCommand : public test::TemporaryFolder {
 protected:
  // Tells the command of a change of `name` and waits for the file's `lines`.
  std::vector<std::string> told(const std::string& name, double now_s, std::size_t lines) {
    const record::FoundChange change{.change = {.ratio = 1.25}};
    EXPECT_EQ(
        command_.tell({.change = change, .name = name, .text = "", .rank = "", .file = ""}, now_s),
        "");
    std::vector<std::string> found;
    for (int waited = 0; waited < 10'000 && found.size() < lines; ++waited) {
      usleep(1000);
      found.clear();
      std::ifstream stream(path("told"));
      for (std::string line; std::getline(stream, line);)
        found.push_back(line);
    }
    usleep(20'000);  // it may have just printed its line
    return found;
  }

  ChangeCommand command_{"echo $CHANGE_NAME $CHANGE_RATIO $CHANGE_LEFT_OUT >> " + path("told")};
};

TEST_F(AChangeCommand, RunsOnceAMinuteAtMost) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(told("a", 100, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("b", 130, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("c", 159, 1), (Lines{"a 1.25 0"}));
  EXPECT_EQ(told("d", 160, 2), (Lines{"a 1.25 0", "d 1.25 2"}));
  EXPECT_EQ(told("e", 300, 3), (Lines{"a 1.25 0", "d 1.25 2", "e 1.25 0"}));
}

TEST_F(AChangeCommand, IsNotStartedTwiceAtATime) {
  const std::string end = path("end");
  ChangeCommand slow("echo x >> " + path("told") + "; until test -e " + end +
                     "; do sleep 0.01; done");
  const record::FoundChange change{};
  for (const double now_s : {0., 1000., 2000.})
    EXPECT_EQ(slow.tell({.change = change, .name = "", .text = "", .rank = "", .file = ""}, now_s),
              "");
  std::ofstream{end};
  usleep(100'000);
  std::ifstream stream(path("told"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "x\n");
}

}  // namespace
}  // namespace inline_prof::session
