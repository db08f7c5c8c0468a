#include "read/table.hpp"

#include "testing.hpp"

namespace inline_prof::read {
namespace {

Table table(const std::string& text) {
  return {text, "t.csv"};
}

std::string complaint_about_table(const std::string& text) {
  return test::complaint([&] { return table(text); });
}

TEST(Table, KnowsItsColumnsRowsAndLines) {
  const Table read = table("m,name\n3,a\n4,b\n");
  EXPECT_EQ(read.columns(), (std::vector<std::string>{"m", "name"}));
  ASSERT_EQ(read.row_count(), 2U);
  EXPECT_EQ(read.number(1, 0), 4.0);
  EXPECT_EQ(read.cell(1, 1), "b");
  EXPECT_EQ(read.line(1), 3U);
  EXPECT_EQ(read.require("name"), 1U);
  EXPECT_FALSE(read.find("other"));
}

TEST(Table, KeepsTheTextOfARowAsItWasWritten) {
  const Table read = table("a,b\r\n\"x,1\", 0x1 \r\n\"two\nlines\",\"a \"\"b\"\"\"\r\n5,6");
  EXPECT_EQ(read.header_text(), "a,b");
  ASSERT_EQ(read.row_count(), 3U);
  EXPECT_EQ(read.row_text(0), "\"x,1\", 0x1 ");
  EXPECT_EQ(read.cell(0, 1), "0x1");
  EXPECT_EQ(read.row_text(1), "\"two\nlines\",\"a \"\"b\"\"\"");
  EXPECT_EQ(read.cell(1, 0), "two\nlines");
  EXPECT_EQ(read.cell(1, 1), "a \"b\"");
  EXPECT_EQ(read.row_text(2), "5,6");
  EXPECT_EQ(read.line(2), 5U);
}

TEST(Table, AMarkOfTheByteOrderIsNoPartOfAName) {
  EXPECT_EQ(table("\xef\xbb\xbfm\n1\n").require("m"), 0U);
}

TEST(Table, AnUnnamedColumnIsAColumn) {
  // pandas writes its index so.
  const Table read = table(",m\n0,7\n");
  EXPECT_EQ(read.number(0, read.require("m")), 7.0);
}

TEST(Table, OneColumnMayBeEmptyInPlaces) {
  const Table read = table("m\n\n2\n");
  ASSERT_EQ(read.row_count(), 2U);
  EXPECT_FALSE(read.optional_number(0, 0));
}

TEST(Table, NumbersAreReadWhole) {
  const Table read = table("v\n1e3\n+2\n -4.5 \n\"6\"\n0.1\n");
  for (const auto& [row, value] : {std::pair{0U, 1000.0}, {1U, 2.0}, {2U, -4.5}, {3U, 6.0}})
    EXPECT_EQ(read.number(row, 0), value);
  EXPECT_EQ(read.number(4, 0), 0.1);
}

TEST(Table, WhatIsNoNumberIsRefusedAtItsPlace) {
  for (const std::string cell :
       {"nan", "inf", "-inf", "1,5", "12us", "0x10", "1e999", "--1", "+-1"}) {
    const Table read = table("k,v\n1,2\n3,\"" + cell + "\"\n");
    EXPECT_EQ(test::complaint([&] { return read.number(1, 1); }),
              "t.csv: line 3, column v: expected a number, found \"" + cell + "\"");
  }
  EXPECT_EQ(test::complaint([] { return table("k,v\n1,\n").number(0, 1); }),
            "t.csv: line 2, column v: expected a number, found an empty cell");
}

TEST(Table, WhatIsNoTableIsRefusedAtItsLine) {
  EXPECT_EQ(complaint_about_table(""), "t.csv: line 1: empty, expected a header");
  EXPECT_EQ(complaint_about_table("\n\r\n\n"), "t.csv: line 1: empty, expected a header");
  EXPECT_EQ(complaint_about_table("\xef\xbb\xbf"), "t.csv: line 1: empty, expected a header");
  EXPECT_EQ(complaint_about_table("a,b\n1,2\n3\n"), "t.csv: line 3: 1 cells, the header has 2");
  EXPECT_EQ(complaint_about_table("a,b\n1,2,3\n"), "t.csv: line 2: 3 cells, the header has 2");
  EXPECT_EQ(complaint_about_table("a,b\n\n1,2\n"), "t.csv: line 2: empty");
  EXPECT_EQ(complaint_about_table("a,b\n1,\"2\n3,4\n"),
            "t.csv: line 2: a quoted cell does not end");
  EXPECT_EQ(complaint_about_table("a;b\n1;2\n"),
            "t.csv: line 1: expected commas between the columns");
}

TEST(Table, TwoColumnsOfOneNameMatterOnlyToWhoReadsThem) {
  const Table read = table("m,x,x\n1,2,3\n");
  EXPECT_EQ(read.require("m"), 0U);
  EXPECT_EQ(test::complaint([&] { return read.require("x"); }), "t.csv: line 1: two columns x");
  EXPECT_EQ(test::complaint([&] { return read.require("y"); }), "t.csv: line 1: no column y");
}

TEST(Table, AHeaderAloneIsATableWithoutRows) {
  EXPECT_EQ(table("a,b").row_count(), 0U);
}

}  // namespace
}  // namespace inline_prof::read
