// Tables of docs/ that the code has as well.  INLINE_PROF_WRITE_PAGES=1 writes them.
#include "join/columns.hpp"
#include "read/file_text.hpp"
#include "report/table_report.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
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

TEST(Pages, ReportColumns) {
  std::string table = "| column | in the JSON | meaning |\n|---|---|---|\n";
  for (const std::string_view name : report::kTableColumns) {
    const auto& column = join::column_of<join::MergedRow>(name);
    fmt::format_to(std::back_inserter(table), "| {} | `{}` | {} |\n", column.title, name,
                   column.meaning);
  }
  check_part("reading_a_report.md", table);
}

// Names of JSON types.
using Types = std::set<std::string>;

template <typename AnyRow>
Types types_of(const join::Column<AnyRow>& column) {
  // In the order of the alternatives of join::ColumnValue.
  constexpr std::array words{"null",   "boolean", "integer", "number",
                             "string", "array",   "array",   "object"};
  Types types{words.at(column.type.index())};
  if (column.may_be_unknown) types.insert("null");
  return types;
}

Types types_in(const nlohmann::json& schema, const nlohmann::json& definitions) {
  if (schema.contains("$ref")) {
    const auto name = schema["$ref"].get<std::string>();
    return types_in(definitions.at(name.substr(name.rfind('/') + 1)), definitions);
  }
  Types types;
  for (const auto& part : schema.value("oneOf", nlohmann::json::array()))
    types.merge(types_in(part, definitions));
  for (const auto& value : schema.value("enum", nlohmann::json::array()))
    types.insert(value.type_name());
  if (schema.contains("type")) {
    const auto& type = schema["type"];
    type.is_array() ? types.merge(type.get<Types>()) : types.merge(Types{type});
  }
  return types;
}

// Of the items of `list`, in the report's schema.
std::map<std::string, Types> required_members(const char* list) {
  const auto schema = nlohmann::json::parse(read::read_text(kPages / "schemas/report.schema.json"));
  const auto& definitions = schema["definitions"];
  std::map<std::string, Types> members;
  const auto& common = definitions["comparison"];
  const auto& own = schema["properties"][list]["items"];
  for (const auto* part : {&common, &own}) {
    for (const std::string name : (*part)["required"]) {
      const bool is_own = own["properties"].contains(name);
      members.emplace(name, types_in((is_own ? own : common)["properties"].at(name), definitions));
    }
  }
  return members;
}

template <typename AnyRow>
void check_members(const char* list) {
  auto members = required_members(list);
  for (const auto& column : join::columns_of<AnyRow>()) {
    EXPECT_EQ(members[std::string(column.name)], types_of(column))
        << "report.schema.json: " << column.name << " of " << list;
    members.erase(std::string(column.name));
  }
  EXPECT_TRUE(members.empty()) << list << " has no column " << members.begin()->first;
}

TEST(Pages, ReportSchema) {
  check_members<join::Row>("rows");
  check_members<join::MergedRow>("merged_rows");
}

}  // namespace
}  // namespace inline_prof
