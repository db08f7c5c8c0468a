#include "model/row_reader.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

constexpr std::array kInputs{Column{"m", "", ColumnKind::kInteger, 1, 1000, true, ""},
                             Column{"bandwidth", "GB/s", ColumnKind::kNumber, 1, 1e5, true, ""},
                             Column{"shared", "", ColumnKind::kFlag, 0, 1, false, ""},
                             Column{"type", "", ColumnKind::kText, 0, 0, false, ""}};

read::Table rows_of(const std::string& text) {
  return {text, "t.csv"};
}

std::string complaint_about_row(const std::string& cells) {
  const read::Table rows = rows_of("m,bandwidth,shared,type\n" + cells + "\n");
  RowReader reader(rows, kInputs);
  return test::complaint([&] { return reader.read(0).number("m"); });
}

TEST(RowReader, FindsColumnsInAnyOrderAndPassesOthersBy) {
  const read::Table rows =
      rows_of("time_us,type,bandwidth,m,shared\nnan,bf16,809.5,7,TRUE\n,,1,1,\n");
  RowReader reader(rows, kInputs);
  const Row first = reader.read(0);
  EXPECT_EQ(first.number("m"), 7.0);
  EXPECT_EQ(first.number("bandwidth"), 809.5);
  EXPECT_TRUE(first.flag("shared"));
  EXPECT_EQ(first.text("type"), "bf16");
  const Row second = reader.read(1);
  EXPECT_FALSE(second.has("shared"));
  EXPECT_FALSE(second.flag("shared"));
  EXPECT_FALSE(second.has("type"));
}

TEST(RowReader, NamesEveryMissingColumn) {
  const read::Table rows = rows_of("M,shared\n1,1\n");
  EXPECT_EQ(test::complaint([&] { return RowReader(rows, kInputs); }),
            "t.csv: line 1: missing column m, bandwidth");
}

TEST(RowReader, SaysWhatACellShouldHaveBeen) {
  EXPECT_EQ(complaint_about_row("0,5,,"),
            "t.csv: line 2, column m: expected an integer from 1 to 1000, found 0");
  EXPECT_EQ(complaint_about_row("-3,5,,"),
            "t.csv: line 2, column m: expected an integer from 1 to 1000, found -3");
  EXPECT_EQ(complaint_about_row("1001,5,,"),
            "t.csv: line 2, column m: expected an integer from 1 to 1000, found 1001");
  EXPECT_EQ(complaint_about_row("7.5,5,,"),
            "t.csv: line 2, column m: expected an integer from 1 to 1000, found 7.5");
  EXPECT_EQ(complaint_about_row(",5,,"),
            "t.csv: line 2, column m: expected an integer from 1 to 1000, found an empty cell");
  EXPECT_EQ(complaint_about_row("nan,5,,"),
            "t.csv: line 2, column m: expected a number, found \"nan\"");
  EXPECT_EQ(complaint_about_row("1,8.09e11,,"),
            "t.csv: line 2, column bandwidth: expected a number of GB/s from 1 to 100000, found "
            "8.09e11");
  EXPECT_EQ(complaint_about_row("1,5,2,"),
            "t.csv: line 2, column shared: expected 0, 1, true or false, found 2");
  EXPECT_EQ(complaint_about_row("1e3,5,false,"), "");
}

TEST(RowReader, TakesAColumnThatTheTableLacksFromTheCommandLine) {
  const read::Table rows = rows_of("m\n1\n2\n");
  RowReader reader(rows, kInputs, {{"bandwidth", "809"}, {"type", "f16"}});
  EXPECT_EQ(reader.read(1).number("bandwidth"), 809.0);
  EXPECT_EQ(reader.read(1).text("type"), "f16");
  EXPECT_THROW(RowReader(rows, kInputs, {{"bandwidth", "0"}}), std::invalid_argument);
  EXPECT_THROW(RowReader(rows, kInputs, {{"bandwidth", "809"}, {"m", "1"}}), std::invalid_argument);
}

TEST(SameMachine, RefusesTimesOfAnotherGpu) {
  read::Machine machine;
  machine.id = "h200-sxm-141gb";
  machine.names = {"NVIDIA H200"};
  EXPECT_EQ(test::complaint([&] {
              check_same_machine(rows_of("gpu,m\nNVIDIA H200,1\nh200-sxm-141gb,1\n"), machine);
              return 0;
            }),
            "");
  EXPECT_EQ(test::complaint([&] {
              check_same_machine(rows_of("gpu,m\nNVIDIA H200,1\nNVIDIA H100,1\n"), machine);
              return 0;
            }),
            "t.csv: line 3, column gpu: \"NVIDIA H100\" is not h200-sxm-141gb");
}

TEST(RepeatedRows, AreNamedByTheFirstOfThem) {
  EXPECT_EQ(repeated_rows(rows_of("m\n1\n2\n")), "");
  EXPECT_EQ(repeated_rows(rows_of("m\n1\n2\n2\n1\n")),
            "t.csv: rows that stand there before and count again: 2 (line 4 as line 3, ...)");
}

}  // namespace
}  // namespace inline_prof::model
