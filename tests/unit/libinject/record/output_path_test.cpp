// The naming table of docs/configuration.md, row by row.
#include "record/output_file.hpp"
#include "sys/config_error.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

namespace inline_prof::record {
namespace {

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

// Without a template.
std::string in_directory(const std::string& directory,
                         std::optional<std::int64_t> rank = std::nullopt) {
  OutputNaming naming;
  naming.directory = directory;
  naming.directory_is_set = true;
  naming.rank = rank;
  return named(naming);
}

std::string complaint_about(const std::string& pattern) {
  try {
    static_cast<void>(templated(pattern));
  } catch (const sys::ConfigError& error) {
    return error.what();
  }
  return "no complaint";
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

TEST(OutputPath, IsProfJsonWhereNothingIsKnown) {
  EXPECT_EQ(named({}), "prof.json");
}

TEST(OutputPath, TakesTheHostWhereADirectoryIsSet) {
  EXPECT_EQ(in_directory("/out"), "/out/n046.prof.json");
  EXPECT_EQ(in_directory("out"), "out/n046.prof.json");
}

TEST(OutputPath, TakesTheRankWhereThereIsOne) {
  EXPECT_EQ(in_directory("/out", 3), "/out/n046.rank3.prof.json");
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

TEST(OutputPath, LetsTheTemplateBeatDirectoryAndRank) {
  EXPECT_EQ(templated("/x/run.json", 3), "/x/run.json");
}

TEST(OutputPath, ReplacesHostProcessAndRank) {
  EXPECT_EQ(templated("/x/%h-%p-%r.json", 12), "/x/n046-4711-12.json");
}

TEST(OutputPath, CountsAProcessWithoutARankAsRankZero) {
  EXPECT_EQ(templated("%r.json"), "0.json");
}

TEST(OutputPath, ReplacesVariablesOfTheEnvironment) {
  test::Environment environment;
  environment.set("JOB", "7%h");
  EXPECT_EQ(templated("/x/%q{JOB}/%h.json"), "/x/7%h/n046.json");  // what a value says stays
}

TEST(OutputPath, TakesAnEmptyVariableAsItIs) {
  test::Environment environment;
  environment.set("JOB", "");
  EXPECT_EQ(templated("/x/a%q{JOB}b.json"), "/x/ab.json");
}

TEST(OutputPath, WritesTwoPercentSignsAsOne) {
  EXPECT_EQ(templated("/x/100%%.json"), "/x/100%.json");
  EXPECT_EQ(templated("/x/%%h.json"), "/x/%h.json");
}

TEST(OutputPath, RefusesAnUnknownWord) {
  EXPECT_EQ(complaint_about("/x/%d.json"),
            "INLINE_PROF_OUT=/x/%d.json: unknown %d; known are %h, %p, %r, %q{VAR} and %%");
}

TEST(OutputPath, RefusesAPercentSignAtTheEnd) {
  EXPECT_EQ(complaint_about("/x/prof%"),
            "INLINE_PROF_OUT=/x/prof%: a % at the end; known are %h, %p, %r, %q{VAR} and %%");
}

TEST(OutputPath, RefusesAVariableWithoutBraces) {
  const char* expected = ": %q is not followed by {VAR}; known are %h, %p, %r, %q{VAR} and %%";
  for (const char* pattern : {"%qJOB.json", "%q", "%q{JOB.json"}) {
    EXPECT_EQ(complaint_about(pattern), std::string("INLINE_PROF_OUT=") + pattern + expected);
  }
}

TEST(OutputPath, RefusesAVariableThatIsNotSet) {
  test::Environment environment;
  environment.clear("INLINE_PROF_TEST_ABSENT");
  EXPECT_EQ(
      complaint_about("%q{INLINE_PROF_TEST_ABSENT}.json"),
      "INLINE_PROF_OUT=%q{INLINE_PROF_TEST_ABSENT}.json: the variable INLINE_PROF_TEST_ABSENT "
      "is not set; known are %h, %p, %r, %q{VAR} and %%");
}

TEST(OutputPath, RefusesADirectoryInPlaceOfAFile) {
  EXPECT_EQ(
      complaint_about("/x/%h/"),
      "INLINE_PROF_OUT=/x/%h/: names a directory; a file is expected, INLINE_PROF_DIR sets the "
      "directory");
}

}  // namespace
}  // namespace inline_prof::record
