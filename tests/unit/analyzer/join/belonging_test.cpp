#include "join/diagnose/belonging.hpp"

#include "testing.hpp"

namespace inline_prof::join {
namespace {

FileFacts run(const std::string& file, std::optional<std::int64_t> rank,
              std::optional<std::int64_t> world_size) {
  FileFacts result;
  result.file = file;
  result.rank = rank;
  result.world_size = world_size;
  return result;
}

TEST(Belonging, NamesMissingAndRepeatedRanks) {
  const struct {
    std::vector<FileFacts> files;
    std::vector<std::string> warnings;
  } rows[] = {
      {{run("a", 0, 3), run("b", 2, 3), run("c", 1, 3)}, {}},
      {{run("a", {}, {}), run("b", {}, {})}, {}},
      {{run("a", 3, 16)}, {}},  // all that was asked for
      {{run("a", 1, 8), run("b", 5, 8), run("c", 6, 8)},
       {"no file of rank 0, 2 to 4, 7: 5 of 8 ranks are missing"}},
      {{run("a", 0, 2), run("b", 9, 2)}, {"no file of rank 1: 1 of 2 ranks are missing"}},
      {{run("a", 0, 2), run("b", 1, 2), run("c", 0, 2)},
       {"2 files say that they are rank 0: a, c; all of them count"}},
      {{run("a", INT64_MAX, 1), run("b", 0, 1)}, {}},
      {{run("a", 0, INT64_MAX), run("b", 1, INT64_MAX)},
       {"no file of rank 2 to 9223372036854775806: 9223372036854775805 of 9223372036854775807 "
        "ranks are missing"}}};
  for (const auto& [files, warnings] : rows)
    EXPECT_EQ(belonging_warnings(files), warnings);
}

TEST(Belonging, StagesOfAPipelineMayRunDifferentThings) {
  std::vector<FileFacts> runs{run("a", 0, 2), run("b", 1, 2)};
  runs[0].event_list = "0x1";
  runs[1].event_list = "0x2";
  EXPECT_EQ(belonging_warnings(runs).size(), 1U);
  runs[0].exchanges = {"0xa"};
  EXPECT_EQ(belonging_warnings(runs).size(), 1U) << "to whom?";
  runs[1].exchanges = {"0xa", "0xb"};
  EXPECT_THAT(belonging_warnings(runs), IsEmpty());
}

TEST(Belonging, AProgramThatEndedIsNotCutOff) {
  read::Profile profile;
  EXPECT_FALSE(has_ended(profile));
  for (const char* how :
       {"the program ended in the warm-up, after iteration 3 of 10: nothing was measured",
        "8 of 71 samples were taken; the others, of 63 events: not launched"}) {
    profile.warnings = {how};
    EXPECT_TRUE(has_ended(profile)) << how;
  }
  profile.warnings = {"the program was ended by a signal"};
  EXPECT_FALSE(has_ended(profile));
}

// The last stage of a pipeline, of which micro-steps were taken for iterations.
TEST(Belonging, ARankWhoseIterationsTakeAnotherTimeIsNamed) {
  std::vector<FileFacts> runs{run("a", 0, 4), run("b", 1, 4), run("c", 2, 4), run("d", 3, 4)};
  for (FileFacts& facts : runs) {
    facts.iteration_ms = 40.0;
    facts.iteration_launches = 719;
  }
  runs[3].iteration_launches = 835;  // the stages need not launch the same
  EXPECT_THAT(belonging_warnings(runs), IsEmpty());
  runs[3].iteration_launches = 183;
  runs[3].iteration_ms = 9.5;
  EXPECT_THAT(belonging_warnings(runs),
              ElementsAre("doubtful: the iterations found on rank 3 (183 launches, 9.500 ms) take "
                          "another time than those of the other ranks, 40.000 ms: they are not the "
                          "same steps; mark them, or set INLINE_PROF_ITERATION"));
  EXPECT_THAT(belonging_warnings({runs[0], runs[3]}, FilesOfRun::kSome),
              ElementsAre(StartsWith("doubtful: the iterations found on rank 3 ")));
  // As of a server that launches little: its only time is never the usual one.
  runs[3].is_whole_run = true;
  runs[3].iteration_ms = 4000;
  EXPECT_THAT(
      belonging_warnings({runs[0], runs[3]}, FilesOfRun::kSome),
      ElementsAre(StartsWith("doubtful: the iterations found on rank 3 (none: the whole run, "
                             "4000.000 ms) take another time")));
}

TEST(Belonging, AFileThatIsNotCompleteSaysWhy) {
  read::Profile profile;
  EXPECT_EQ(why_incomplete(profile), "a checkpoint of a run that was cut off");
  for (const char* why : {"doubtful: most samples were launched outside of the iterations",
                          "no iteration boundary was met (...): the whole run counts as one",
                          "the program was ended by a signal", "3 of 8 samples were taken"}) {
    profile.warnings = {"another one", why};
    EXPECT_EQ(why_incomplete(profile), why);
  }
}

TEST(Belonging, WithoutRanksTheSameDevicesOfAHostAreNamed) {
  std::vector<FileFacts> runs{run("a", {}, {}), run("b", {}, {}), run("c", {}, {}),
                              run("d", 0, {})};
  for (FileFacts& facts : runs)
    facts.host = "n1";
  runs[2].device_ids = {4, 5};
  EXPECT_THAT(belonging_warnings(runs),
              ElementsAre("2 files without a rank are of the same devices of host n1: a, b; all of "
                          "them count"));
}

TEST(Belonging, FilesOfOtherGpusOrKernelsAreDoubtful) {
  std::vector<FileFacts> runs{run("a", {}, {}), run("b", {}, {})};
  runs[0].gpus = {"H100"};
  runs[1].gpus = {"V100"};
  runs[0].kernels = {"gemm", "norm", "nccl_ring"};
  runs[1].kernels = {"gemm", "norm", "nccl_tree", "copy"};
  EXPECT_THAT(belonging_warnings(runs),
              ElementsAre("doubtful: the files are of different GPUs: a of H100, b of V100; a "
                          "report of one run adds them up all the same"));
  runs[1].gpus = {"H100"};
  EXPECT_THAT(belonging_warnings(runs), IsEmpty());
  runs[1].kernels = {"conv", "norm", "pool", "copy"};
  EXPECT_THAT(belonging_warnings(runs),
              ElementsAre("doubtful: the files are not of one run: a and b have 1 of 3 kernels in "
                          "common; give those of one run, or set them beside each other with "
                          "compare"));
}

TEST(Belonging, FormatsThatDifferAreNamedWithAFileOfEach) {
  std::vector<FileFacts> runs{run("old", {}, {}), run("new", {}, {}), run("newer", {}, {})};
  runs[0].format = "prof.json generation 1";
  runs[1].format = runs[2].format = "prof.json generation 3";
  EXPECT_THAT(
      belonging_warnings(runs),
      ElementsAre("files of different formats are not of one run: 1 of prof.json generation 1 "
                  "(old), 2 of prof.json generation 3 (new); each is read by its own rules"));
}

}  // namespace
}  // namespace inline_prof::join
