// The naming table of docs/configuration.md, row by row.
#include "record/output_file.hpp"
#include "sys/config.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

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
      EXPECT_EQ(error.what(), "INLINE_PROF_OUT=" + pattern + ": " + complaint);
    }
  }
}

}  // namespace
}  // namespace inline_prof::record
