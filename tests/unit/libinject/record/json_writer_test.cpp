#include "record/json_writer.hpp"

#include "temporary_folder.hpp"
#include "testing.hpp"

#include <nlohmann/json.hpp>

#include <clocale>

namespace inline_prof::record {
namespace {

std::string quoted(std::string_view text) {
  JsonWriter json;
  json.text(text);
  return json.str();
}

std::string written(double value) {
  JsonWriter json;
  json.number(value);
  return json.str();
}

class JsonWriterLocale : public test::TemporaryFolder {};

TEST(JsonWriter, PutsCommasBetweenAndNowhereElse) {
  JsonWriter json;
  json.begin_object();
  json.key("a");
  json.begin_array();
  json.integer(1);
  json.integer(-2);
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.end_array();
  json.key("b");
  json.boolean(true);
  json.key("c");
  json.null();
  json.key("d");
  json.text("x");
  json.end_object();
  EXPECT_EQ(json.str(), R"({"a":[1,-2,{},[]],"b":true,"c":null,"d":"x"})");
}

TEST(JsonWriter, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(quoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("a\nb\tc\x01\x7f"), R"("a\u000ab\u0009c\u0001\u007f")");
  EXPECT_EQ(quoted(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

TEST(JsonWriter, EscapesKeysLikeText) {
  JsonWriter json;
  json.begin_object();
  json.key("a\"b");
  json.integer(1);
  json.end_object();
  EXPECT_EQ(json.str(), R"({"a\"b":1})");
}

TEST(JsonWriter, KeepsUtf8AsItIs) {
  const std::string_view words = "\u00e9 \u20ac \U0001F600";
  EXPECT_EQ(quoted(words), "\"" + std::string(words) + "\"");
}

struct BadBytes {
  std::string_view bytes;
  const char* expected;
};

// Whatever the bytes, the result is JSON that a strict reader takes.
TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
#define REPLACED "\xEF\xBF\xBD"
  for (const BadBytes& each : {
           BadBytes{"a\x80z", "\"a" REPLACED "z\""},                        // a lone tail
           BadBytes{"a\xE2\x82", "\"a" REPLACED REPLACED "\""},             // cut off
           BadBytes{"\xC0\xAF", "\"" REPLACED REPLACED "\""},               // overlong
           BadBytes{"\xE0\x80\xAF", "\"" REPLACED REPLACED REPLACED "\""},  // overlong
           BadBytes{"\xED\xA0\x80", "\"" REPLACED REPLACED REPLACED "\""},  // a surrogate
           BadBytes{"\xF4\x90\x80\x80", "\"" REPLACED REPLACED REPLACED REPLACED "\""},
           BadBytes{"gr\xFC\xDF"
                    "e",
                    "\"gr" REPLACED REPLACED "e\""},  // Latin-1
           BadBytes{"\xE2\"", "\"" REPLACED "\\\"\""},
       }) {
#undef REPLACED
    const std::string text = quoted(each.bytes);
    EXPECT_EQ(text, each.expected);
    EXPECT_TRUE(nlohmann::json::accept(text));
  }
}

TEST(JsonWriter, HasNoWordForWhatIsNotFinite) {
  EXPECT_EQ(written(std::nan("")), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, WritesIntegersInFull) {
  JsonWriter json;
  json.begin_array();
  json.integer(std::numeric_limits<std::int64_t>::min());
  json.integer(std::numeric_limits<std::int64_t>::max());
  json.end_array();
  EXPECT_EQ(json.str(), "[-9223372036854775808,9223372036854775807]");
}

TEST(JsonWriter, BringsFloatsBackAsTheyWere) {
  // A walk through all exponents; the multiplier keeps the fraction's bits changing.
  std::uint32_t bits = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525U + 1013904223U;  // D. E. Knuth, TAOCP vol. 2, section 3.3.4, line 16
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = written(static_cast<double>(value));
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    EXPECT_EQ(static_cast<float>(nlohmann::json::parse(text).get<double>()), value) << text;
  }
}

// A locale of the test's own: few machines have one with a decimal comma.
TEST_F(JsonWriterLocale, KeepsThePointUnderADecimalComma) {
  file("comma.txt",
       "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
  // Its exit status speaks of the categories that are left out.
  const std::string command =
      "localedef -c -i '" + path("comma.txt") + "' '" + path("comma") + "' >/dev/null 2>&1";
  static_cast<void>(std::system(command.c_str()));
  test::Environment environment;
  environment.set("LOCPATH", folder());
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "comma") == nullptr) GTEST_SKIP() << "localedef made no locale";
  std::array<char, 16> by_printf{};
  std::snprintf(by_printf.data(), by_printf.size(), "%.1f", 1234.5);
  const std::string text = written(1234.5);
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT_STREQ(by_printf.data(), "1234,5") << "the locale is not in force";
  EXPECT_EQ(text, "1234.5");
}

}  // namespace
}  // namespace inline_prof::record
