#include "read/file_text.hpp"

#include "read/input_error.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::read {
namespace {

namespace fs = std::filesystem;

class ReadText : public test::TemporaryFolder {
 protected:
  const fs::path folder_ = folder();
};

std::string complaint_about(const fs::path& file, std::size_t limit = kMaxFileBytes) {
  return test::complaint([&] { return read_text(file, limit); });
}

TEST_F(ReadText, GivesTheWholeFileWithRoomBehindIt) {
  const std::string text(200000, 'x');
  std::ofstream(folder_ / "f") << text;
  const std::string got = read_text(folder_ / "f");
  EXPECT_EQ(got, text);
  EXPECT_GE(got.capacity(), got.size() + kPaddingBytes);
}

TEST_F(ReadText, ReadsAFifoThatIsLongerThanItsBuffer) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string text(300000, 'y');
  std::thread writer([&] { std::ofstream(fifo) << text; });
  EXPECT_EQ(read_text(fifo), text);
  writer.join();
}

TEST_F(ReadText, RefusesAPipeThatIsTooLongOnceItIs) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::thread writer([&] { std::ofstream(fifo) << std::string(400000, 'y'); });
  EXPECT_THAT(complaint_about(fifo, 100000), EndsWith("too long, expected at most 100000 bytes"));
  writer.join();
}

TEST_F(ReadText, RefusesWhatIsNoFileOfAnyUseBeforeReadingIt) {
  fs::create_symlink("/dev/zero", folder_ / "zero");
  std::ofstream(folder_ / "sparse") << "{";
  fs::resize_file(folder_ / "sparse", std::uintmax_t{1} << 42);  // 4 TiB, none of them on the disk
  EXPECT_THAT(complaint_about(folder_ / "zero"), EndsWith("zero: is a device, expected a file"));
  EXPECT_THAT(complaint_about(folder_ / "none"), EndsWith("none: No such file or directory"));
  EXPECT_THAT(complaint_about(folder_), EndsWith(": is a directory, expected a file"));
  EXPECT_THAT(complaint_about(folder_ / "sparse"),
              EndsWith("sparse: too long, expected at most 1073741824 bytes"));
}

}  // namespace
}  // namespace inline_prof::read
