// Tables of docs/ that the code has as well.  INLINE_PROF_WRITE_PAGES=1 writes them.
#include "read/file_text.hpp"
#include "report/columns.hpp"
#include "testing.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <variant>

namespace inline_prof {
namespace {

const std::filesystem::path kPages = INLINE_PROF_PAGES;

// Compares the text of `page` from `first` up to `behind`.
void check_part(const char* page, std::string_view first, std::string_view behind,
                std::string_view expected) {
  const std::string text = read::read_text(kPages / page);
  const std::size_t begin = text.find(first);
  const std::size_t end = text.find(behind, begin);
  ASSERT_NE(begin, std::string::npos) << page << " has no " << first;
  ASSERT_NE(end, std::string::npos) << page << ": no " << behind << " after " << first;
  if (std::getenv("INLINE_PROF_WRITE_PAGES") != nullptr) {
    std::ofstream(kPages / page) << text.substr(0, begin) << expected << text.substr(end);
  } else {
    EXPECT_EQ(text.substr(begin, end - begin), expected)
        << "docs/" << page << "; INLINE_PROF_WRITE_PAGES=1 writes it";
  }
}

// The same between the comment of the running test and the next <!-- end -->.
void check_page(const char* page, std::string_view source, std::string_view expected) {
  const std::string mark =
      fmt::format("<!-- written by the test Pages.{} from {} -->\n",
                  UnitTest::GetInstance()->current_test_info()->name(), source);
  check_part(page, mark, "<!-- end -->", mark + std::string(expected));
}

TEST(Pages, OperationKinds) {
  std::string table =
      "| kind | numbers | words | true or false | word or number | library calls |\n"
      "|---|---|---|---|---|---|\n";
  for (const OpKindEntry& kind : kOpKinds) {
    fmt::format_to(std::back_inserter(table), "| `{}` | {} | {} | {} | {} | {} |\n", kind.name,
                   kind.integers, kind.texts, kind.booleans, kind.others, kind.libraries);
  }
  std::vector<std::string_view> types;
  types.reserve(std::size(kNumberTypes));
  for (const NumberType& type : kNumberTypes)
    types.push_back(type.name);
  fmt::format_to(std::back_inserter(table), "\nTypes: `{}`.\n", fmt::join(types, " "));
  check_page("prof_json.md", "macros/include/inline_prof/op_kind.hpp", table);
}

TEST(Pages, ReportColumns) {
  std::string table = "| column | in the JSON | meaning |\n|---|---|---|\n";
  for (const auto* column : report::columns_in(&report::Shown<join::MergedRow>::table)) {
    fmt::format_to(std::back_inserter(table), "| {} | `{}` | {} |\n", column->shown.heading,
                   column->name, column->shown.meaning);
  }
  check_page("reading_a_report.md", "analyzer/report/columns.cpp", table);
}

// Describes a column's values for a validator.
std::string schema_of(const report::Value& type, bool may_be_unknown) {
  const auto of_type = [&](std::string_view word, std::string_view more) {
    return may_be_unknown ? fmt::format("\"type\": [\"{}\", \"null\"]{}", word, more)
                          : fmt::format("\"type\": \"{}\"{}", word, more);
  };
  if (std::holds_alternative<bool>(type)) return of_type("boolean", "");
  if (std::holds_alternative<std::string>(type)) return of_type("string", "");
  if (std::holds_alternative<std::int64_t>(type)) return of_type("integer", ", \"minimum\": 0");
  if (std::holds_alternative<double>(type)) return of_type("number", ", \"minimum\": 0");
  if (std::holds_alternative<std::vector<std::size_t>>(type)) {
    return "\"type\": \"array\", \"minItems\": 1, "
           "\"items\": { \"$ref\": \"#/definitions/count\" }";
  }
  return std::holds_alternative<std::optional<join::Interval>>(type)
             ? "\"$ref\": \"#/definitions/interval_or_null\""
             : "\"$ref\": \"#/definitions/isolated_or_null\"";
}

template <typename AnyRow>
std::string row_schema(std::string_view name) {
  std::string required;
  std::string properties;
  for (const report::Column<AnyRow>& column : report::columns_of<AnyRow>()) {
    if (!column.shown.in_json) continue;
    const char* comma = required.empty() ? "" : ", ";
    required += fmt::format("{}\"{}\"", comma, column.name);
    std::string members(column.shown.schema);
    if (members.empty()) members = schema_of(column.type, column.may_be_unknown);
    if (!column.shown.description.empty()) {
      members +=
          ", \"description\": " + nlohmann::json(std::string(column.shown.description)).dump();
    }
    properties += fmt::format("{}        \"{}\": {{ {} }}", properties.empty() ? "" : ",\n",
                              column.name, members);
  }
  return fmt::format(
      "    \"{}\": {{\n      \"type\": \"object\",\n      \"required\": [{}],\n"
      "      \"properties\": {{\n{}\n      }}\n    }}",
      name, required, properties);
}

TEST(Pages, ReportSchema) {
  check_part("schemas/report.schema.json", "\n    \"row\": {", "\n    \"run\": {",
             fmt::format("\n{},\n{},", row_schema<join::Row>("row"),
                         row_schema<join::MergedRow>("merged_row")));
}

}  // namespace
}  // namespace inline_prof
