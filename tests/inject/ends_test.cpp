// Every way in which a process or a thread can end, with us and without: the table of
// docs/development.md, made anew.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

constexpr const char* kBegin = "<!-- ways to end: begin -->\n";
constexpr const char* kEnd = "<!-- ways to end: end -->\n";

std::vector<std::string> ways() {
  const Workplace place;
  std::istringstream lines(run_host(place, "host_ends", {.with_library = false}).output);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    found.push_back(line);
  return found;
}

// What the application wrote; lines of ours go to `ours`.
std::string without_our_lines(const std::string& output, std::vector<std::string>& ours) {
  std::string rest;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("inline_prof: ", 0) == 0) {
      ours.push_back(line);
    } else {
      rest += line + "\n";
    }
  }
  return rest;
}

std::string status_text(int status) {
  return status < 128 ? std::to_string(status) : "signal " + std::to_string(status - 128);
}

// The program ends in the middle of measuring, so that no file is complete.
std::string file_text(const Workplace& place) {
  const auto names = place.files();
  if (names.empty()) return "none yet";
  if (names != std::vector<std::string>{"prof.json"}) return "files beside it";
  return place.json()["complete"] == true ? "complete" : "all samples so far";
}

std::string row(const std::string& way) {
  const std::vector<std::string> schedule = {"INLINE_PROF_WARMUP=3", "INLINE_PROF_REPEAT=5000"};
  const Workplace alone_place;
  const Workplace place;
  const HostRun alone = run_host(alone_place, "host_ends",
                                 {.arguments = {way}, .with_library = false, .seconds = 30});
  const HostRun run =
      run_host(place, "host_ends", {.arguments = {way}, .environment = schedule, .seconds = 30});
  std::vector<std::string> ours;
  EXPECT_EQ(without_our_lines(run.output, ours), alone.output) << way;
  EXPECT_EQ(run.exit_status, alone.exit_status) << way << ": " << run.output;
  EXPECT_LE(ours.size(), 1U) << way << ": " << run.output;
  return "| " + way + " | " + status_text(alone.exit_status) + " | " +
         status_text(run.exit_status) + " | " + file_text(place) + " |\n";
}

TEST(EveryWayToEnd, IsTheSameWithUsAndStandsInTheTable) {
  if (INLINE_PROF_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer reports signals, with addresses";
  std::string table = kBegin;
  table += "| the way | status alone | with the library | prof.json |\n|---|---|---|---|\n";
  for (const std::string& way : ways())
    table += row(way);
  table += kEnd;
  std::ostringstream page;
  page << std::ifstream(INLINE_PROF_TEST_DEVELOPMENT_PAGE).rdbuf();
  const std::string text = page.str();
  const auto begin = text.find(kBegin);
  const auto end = text.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << table;
  const std::string written = text.substr(begin, end + std::string(kEnd).size() - begin);
  if (std::getenv("INLINE_PROF_WRITE_PAGES") != nullptr) {
    std::ofstream(INLINE_PROF_TEST_DEVELOPMENT_PAGE)
        << text.substr(0, begin) << table << text.substr(end + std::string(kEnd).size());
    return;
  }
  EXPECT_EQ(written, table) << "INLINE_PROF_WRITE_PAGES=1 puts the new table into the page";
}

}  // namespace
}  // namespace inline_prof::test
