// In every case no earlier file is lost and no temporary file is left behind.
#include "record/output_file.hpp"

#include "sys/config.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::record {
namespace {

class OutputFileTest : public test::TemporaryFolder {};

TEST_F(OutputFileTest, TakesTheNameThatWasAskedForAndReplacesItsOwnFile) {
  OutputFile file(path("prof.json"));
  EXPECT_EQ(file.path(), "");
  for (const char* text : {"one", "two"}) {
    EXPECT_EQ(file.write(text), "");
    EXPECT_EQ(file.path(), path("prof.json"));
    EXPECT_EQ(content("prof.json"), text);
    EXPECT_THAT(names(), ElementsAre("prof.json"));
  }
}

TEST_F(OutputFileTest, PutsTheNumberBeforeTheEnding) {
  for (const auto& [first, second, third] : std::vector<std::array<std::string, 3>>{
           {"prof.json", "prof.1.json", "prof.2.json"},
           {"n1.prof.json", "n1.1.prof.json", "n1.2.prof.json"},
           {"n1.rank3.prof.json", "n1.rank3.1.prof.json", "n1.rank3.2.prof.json"},
           {"result.txt", "result.txt.1", "result.txt.2"},
           {".json", ".json.1", ".json.2"}}) {
    SCOPED_TRACE(first);
    const std::size_t before = names().size();
    file(first, "not ours");
    OutputFile one(path(first));
    EXPECT_EQ(one.write("second"), "");
    EXPECT_EQ(one.path(), path(second));
    OutputFile other(path(first));
    EXPECT_EQ(other.write("third"), "");
    EXPECT_EQ(other.path(), path(third));
    EXPECT_EQ(one.write("second again"), "");

    EXPECT_EQ(content(first), "not ours");
    EXPECT_EQ(content(second), "second again");
    EXPECT_EQ(content(third), "third");
    EXPECT_EQ(names().size(), before + 3);
  }
}

TEST_F(OutputFileTest, TakesAwayTemporaryFilesOfTheDeadAndNoOthers) {
  file("prof.json.tmp.17", "half");
  file("prof.json.tmp.17.2", "half");
  file("prof.json.tmp.4711.1", "half");
  file("other.json.tmp.17", "not of this name");
  file("prof.json.tmp.of_the_user", "kept");
  OutputFile output(path("prof.json"));
  EXPECT_EQ(output.write("one"), "");
  EXPECT_THAT(names(),
              UnorderedElementsAre("other.json.tmp.17", "prof.json", "prof.json.tmp.of_the_user"));
}

TEST_F(OutputFileTest, LeavesWhatARunningProcessWrites) {
  file("prof.json.tmp.17", "half");
  const int writing = open(path("prof.json.tmp.17").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(writing, LOCK_EX | LOCK_NB), 0);
  std::filesystem::create_symlink(path("elsewhere"), path("prof.json.tmp.18"));
  OutputFile output(path("prof.json"));
  EXPECT_EQ(output.write("one"), "");
  EXPECT_THAT(names(), ElementsAre("prof.json", "prof.json.tmp.17", "prof.json.tmp.18"));
  close(writing);
}

TEST_F(OutputFileTest, ReplacesNoDeviceAndNoPipe) {
  EXPECT_EQ(mkfifo(path("prof.json").c_str(), 0600), 0);
  for (const std::string& place : {std::string("/dev/full"), path("prof.json")})
    EXPECT_THAT(prepare_directory(place, Existing::kIsReplaced), HasSubstr("is no regular file"));
  // Also where the descriptor is a regular file.
  const int other = open(path("other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string name = "/proc/self/fd/" + std::to_string(other);
  EXPECT_THAT(prepare_directory(name, Existing::kIsReplaced), HasSubstr("is no regular file"));
  EXPECT_THAT(OutputFile::that_replaces(name).write("one"), HasSubstr("is no regular file"));
  close(other);
}

std::string read_from(int pipe) {
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(pipe, text.data(), 100), 0)));
  return text;
}

TEST_F(OutputFileTest, IsWrittenToAPipeWithNothingBesideIt) {
  EXPECT_EQ(mkfifo(path("prof.json").c_str(), 0600), 0);
  EXPECT_EQ(prepare_directory(path("prof.json")), "");
  OutputFile output(path("prof.json"));
  EXPECT_THAT(output.write("nobody reads"), HasSubstr("prof.json: cannot be opened: "));
  const int reader = open(path("prof.json").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(output.write("one"), "");
  EXPECT_EQ(output.path(), path("prof.json"));
  EXPECT_EQ(read_from(reader), "one");
  EXPECT_THAT(names(), ElementsAre("prof.json"));
  EXPECT_THAT(output.write(std::string(1 << 20, 'x')), HasSubstr("cannot be written: "))
      << "a pipe that is full";
  close(reader);
  EXPECT_THAT(OutputFile("/dev/full").write("one"), HasSubstr("No space left"));
}

TEST_F(OutputFileTest, IsWrittenToADescriptorAsLongAsThatIsTheSameFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const char* folder : {"/proc/self/fd/", "/dev/fd/"}) {
    const std::string name = folder + std::to_string(ends[1]);
    EXPECT_EQ(prepare_directory(name), "");
    OutputFile output(name);
    EXPECT_EQ(output.write("one"), "");
    EXPECT_EQ(read_from(ends[0]), "one");
  }
  const std::string name = "/proc/self/fd/" + std::to_string(ends[1]);
  OutputFile output(name);
  const int other = open(path("other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2(other, ends[1]);
  EXPECT_EQ(output.write("one"), name + ": is another file since the program has started");
  close(other);
  close(ends[1]);
  close(ends[0]);
  EXPECT_THAT(output.write("one"), HasSubstr("Bad file descriptor"));
  EXPECT_THAT(prepare_directory(name), HasSubstr("cannot be written: "));
  EXPECT_EQ(content("other"), "");
}

TEST_F(OutputFileTest, LeavesADirectoryAndABrokenLinkOfThatNameAlone) {
  std::filesystem::create_directory(path("prof.json"));
  std::filesystem::create_symlink("/nowhere/at/all", path("prof.1.json"));
  OutputFile file(path("prof.json"));
  EXPECT_EQ(file.write("one"), "");
  EXPECT_EQ(file.path(), path("prof.2.json"));
}

// As many ranks as there are in a large node, all without a rank in the environment.
TEST_F(OutputFileTest, NeverSharesANameWithAnotherFileOfTheSameMoment) {
  constexpr int thread_count = 8;
  std::vector<OutputFile> files(thread_count, OutputFile(path("prof.json")));
  std::vector<std::string> errors(thread_count);
  std::atomic<int> waiting{thread_count};
  std::vector<std::thread> threads;
  threads.reserve(thread_count);
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0)
        std::this_thread::yield();
      const auto mine = static_cast<std::size_t>(i);
      for (int round = 0; round < 3 && errors[mine].empty(); ++round)
        errors[mine] = files[mine].write("thread " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_THAT(errors, Each(IsEmpty()));
  std::set<std::string> taken;
  for (std::size_t i = 0; i < files.size(); ++i) {
    taken.insert(files[i].path());
    const auto name = std::filesystem::path(files[i].path()).filename().string();
    EXPECT_EQ(content(name), "thread " + std::to_string(i));
  }
  EXPECT_EQ(taken.size(), files.size());
  EXPECT_EQ(names().size(), files.size()) << "something was left behind";
}

TEST_F(OutputFileTest, NamesTheFolderThatIsNotThere) {
  OutputFile file(path("absent/prof.json"));
  EXPECT_THAT(file.write("one"), StartsWith(path("absent/prof.json")));
  EXPECT_EQ(file.path(), "");
}

// Root may write everywhere, so a child runs as another user.
TEST_F(OutputFileTest, SaysWhereNothingCanBeWritten) {
  std::filesystem::create_directory(path("locked"));
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  std::filesystem::permissions(path("locked"), std::filesystem::perms::owner_read |
                                                   std::filesystem::perms::others_read |
                                                   std::filesystem::perms::others_exec);
  const auto as_somebody_else = [&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
    OutputFile file(path("locked/prof.json"));
    const std::string error = file.write("one");
    if (error.find("cannot be created: Permission denied") == std::string::npos) _exit(1);
    const std::string sentence = prepare_directory(path("locked/prof.json"));
    if (sentence != path("locked") + ": no file can be created there: Permission denied") _exit(2);
    _exit(0);
  };
  EXPECT_EXIT(as_somebody_else(), ExitedWithCode(0), "");
  EXPECT_TRUE(std::filesystem::is_empty(path("locked")));
}

TEST_F(OutputFileTest, LosesNothingOnAFullDisk) {
  const std::string disk = path("disk");
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "no file system of our own may be mounted here";
  file("disk/older.prof.json", "older");
  OutputFile ours(path("disk/prof.json"));
  const std::string first = ours.write("small");
  const std::string error = ours.write(std::string(200'000, 'x'));
  const std::string older = content("disk/older.prof.json");
  const std::string kept = content("disk/prof.json");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(disk))
    left.push_back(entry.path().filename().string());
  ASSERT_EQ(umount(disk.c_str()), 0);

  EXPECT_EQ(first, "");
  EXPECT_THAT(error, HasSubstr("cannot be written: No space left on device"));
  EXPECT_EQ(older, "older");
  EXPECT_EQ(kept, "small");
  EXPECT_THAT(left, UnorderedElementsAre("older.prof.json", "prof.json"));
}

// The kernel ends a process that writes past its limit with SIGXFSZ, unless the signal is held
// back: an application that would have lived must not die of our file.
TEST_F(OutputFileTest, KeepsAHostWithALimitOnFileSizesAlive) {
  file("prof.json", "older");
  const auto write_too_much = [&] {
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    OutputFile ours(path("prof.json"));
    const std::string error = ours.write(std::string(10'000, 'x'));
    _exit(error.find("cannot be written: File too large") == std::string::npos ? 1 : 0);
  };
  EXPECT_EXIT(write_too_much(), ExitedWithCode(0), "");
  EXPECT_EQ(content("prof.json"), "older");
  EXPECT_THAT(names(), ElementsAre("prof.json"));
}

TEST_F(OutputFileTest, PassesOverATemporaryFileThatSomebodyIsWriting) {
  const std::string theirs = "prof.json.tmp." + std::to_string(getpid());
  file(theirs, "not ours");
  const int held = open(path(theirs).c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  OutputFile ours(path("prof.json"));
  EXPECT_EQ(ours.write("one"), "");
  EXPECT_EQ(content("prof.json"), "one");
  EXPECT_EQ(content(theirs), "not ours");
  close(held);
}

TEST_F(OutputFileTest, MakesEveryMissingFolder) {
  EXPECT_EQ(prepare_directory(path("a/b//c/prof.json")), "");
  EXPECT_TRUE(std::filesystem::is_directory(path("a/b/c")));
  EXPECT_EQ(prepare_directory(path("a/b/c/prof.json")), "") << "and is content with what is there";
}

TEST_F(OutputFileTest, NamesAFileThatStandsInPlaceOfAFolder) {
  file("a", "a file");
  EXPECT_EQ(prepare_directory(path("a/prof.json")),
            path("a") + ": cannot hold files: Not a directory");
  EXPECT_EQ(prepare_directory(path("a/b/prof.json")),
            path("a/b") + ": cannot be made: Not a directory");
}

// --- the naming table of docs/configuration.md, row by row

constexpr const char* kHost = "n046";
constexpr int kProcess = 4711;

// The path below the working directory.
std::string named(const OutputNaming& naming) {
  const std::string path = output_path(naming, kHost, kProcess);
  const std::string here = std::filesystem::current_path().string() + "/";
  return path.starts_with(here) ? path.substr(here.size()) : path;
}

std::string templated(const std::string& pattern, std::optional<std::int64_t> rank = std::nullopt) {
  return named(
      {.output_template = pattern, .directory = "d", .directory_is_set = true, .rank = rank});
}

TEST(MetricsPath, IsOfARankOrOfAProcess) {
  const auto path = [](const std::string& pattern, std::optional<std::int64_t> rank) {
    return metrics_path({.output_template = pattern, .rank = rank}, kHost, kProcess);
  };
  EXPECT_EQ(path("/m/run.prom", std::nullopt), "/m/run.prom");
  EXPECT_EQ(path("/m/run.prom", 3), "/m/run.rank3.prom");
  EXPECT_EQ(path("/m.d/run", 3), "/m.d/run.rank3");
  EXPECT_EQ(path("/m/%h_%r.prom", 3), "/m/n046_3.prom");
  EXPECT_EQ(path("/m/%p.prom", 3), "/m/4711.prom");
  EXPECT_THROW(static_cast<void>(path("/m/%x.prom", 3)), sys::ConfigError);
  EXPECT_THROW(static_cast<void>(path("/m/", 3)), sys::ConfigError);
}

TEST(OutputPath, WithoutATemplateHasDirectoryHostAndRank) {
  EXPECT_EQ(named({}), "prof.json");
  EXPECT_EQ(named({.directory = "/out", .directory_is_set = true}), "/out/n046.prof.json");
  EXPECT_EQ(named({.directory = "out", .directory_is_set = true}), "out/n046.prof.json");
  EXPECT_EQ(named({.directory = "/out", .directory_is_set = true, .rank = 3}),
            "/out/n046.rank3.prof.json");
  OutputNaming rank_alone;
  rank_alone.rank = 0;
  EXPECT_EQ(named(rank_alone), "./n046.rank0.prof.json");
}

TEST(OutputPath, IsAbsoluteSinceTheHostMayChangeItsDirectory) {
  OutputNaming naming;
  EXPECT_EQ(output_path(naming, kHost, kProcess).front(), '/');
  naming.output_template = "a.json";
  EXPECT_EQ(output_path(naming, kHost, kProcess).front(), '/');
}

TEST(OutputPath, FollowsTheTemplate) {
  test::Environment environment;
  environment.set("JOB", "7%h");
  environment.set("NOTHING", "");
  EXPECT_EQ(templated("/x/run.json", 3), "/x/run.json");
  EXPECT_EQ(templated("/x/%h-%p-%r.json", 12), "/x/n046-4711-12.json");
  EXPECT_EQ(templated("%r.json"), "0.json");
  EXPECT_EQ(templated("/x/%q{JOB}/%h.json"), "/x/7%h/n046.json");  // a value is not replaced again
  EXPECT_EQ(templated("/x/a%q{NOTHING}b.json"), "/x/ab.json");
  EXPECT_EQ(templated("/x/100%%.json"), "/x/100%.json");
  EXPECT_EQ(templated("/x/%%h.json"), "/x/%h.json");
}

TEST(OutputPath, RefusesATemplateThatItCannotFollow) {
  test::Environment environment;
  environment.clear("INLINE_PROF_TEST_ABSENT");
  const std::string known = "; known are %h, %p, %r, %q{VAR} and %%";
  const std::string no_braces = "%q is not followed by {VAR}" + known;
  for (const auto& [pattern, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"/x/%d.json", "unknown %d" + known},
           {"/x/prof%", "a % at the end" + known},
           {"%qJOB.json", no_braces},
           {"%q", no_braces},
           {"%q{JOB.json", no_braces},
           {"%q{INLINE_PROF_TEST_ABSENT}.json",
            "the variable INLINE_PROF_TEST_ABSENT is not set" + known},
           {"/x/%h/", "names a directory; a file is expected, INLINE_PROF_DIR sets the directory"},
       }) {
    try {
      ADD_FAILURE() << templated(pattern);
    } catch (const sys::ConfigError& error) {
      EXPECT_EQ(error.what(),
                std::string("INLINE_PROF_OUT=").append(pattern).append(": ").append(complaint));
    }
  }
}

}  // namespace
}  // namespace inline_prof::record
