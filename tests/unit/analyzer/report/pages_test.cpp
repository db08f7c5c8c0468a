// Tables of docs/ that the code has as well.  INLINE_PROF_WRITE_PAGES=1 writes them.
#include "read/file_text.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>

namespace inline_prof {
namespace {

const std::filesystem::path kPages = INLINE_PROF_PAGES;

// Between the comment of the running test and the next <!-- end -->.
void check_part(const char* page, std::string_view expected) {
  const std::string text = read::read_text(kPages / page);
  const std::string mark =
      fmt::format("<!-- written by the test Pages.{} ",
                  testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::size_t begin = text.find('\n', text.find(mark)) + 1;
  const std::size_t end = text.find("<!-- end -->", begin);
  ASSERT_NE(text.find(mark), std::string::npos) << page << " has no comment " << mark;
  ASSERT_NE(end, std::string::npos) << page << ": no <!-- end --> after " << mark;
  if (std::getenv("INLINE_PROF_WRITE_PAGES") != nullptr) {
    std::ofstream(kPages / page) << text.substr(0, begin) << expected << text.substr(end);
  } else {
    EXPECT_EQ(text.substr(begin, end - begin), expected)
        << "docs/" << page << "; INLINE_PROF_WRITE_PAGES=1 writes it";
  }
}

TEST(Pages, OperationKinds) {
  std::string table =
      "| kind | numbers | words | true or false | word or number | library calls |\n"
      "|---|---|---|---|---|---|\n";
  for (const OpKindEntry& kind : kOpKinds) {
    fmt::format_to(std::back_inserter(table), "| `{}` | {} | {} | {} | {} | {} |\n", kind.name,
                   kind.integers, kind.texts, kind.booleans, kind.others, kind.libraries);
  }
  fmt::format_to(std::back_inserter(table), "\nTypes: `{}`.\n",
                 fmt::join(kNumberTypes | std::views::transform(&NumberType::name), " "));
  check_part("prof_json.md", table);
}

}  // namespace
}  // namespace inline_prof
