#include "base/json.hpp"

#include "testing.hpp"

namespace inline_prof::base {
namespace {

using Kind = JsonError::Kind;

struct Scalar {
  const char* text;
  const char* described;
};

TEST(ParseJson, ReadsScalars) {
  for (const Scalar& each : std::vector<Scalar>{
           {"null", "null"},
           {" true ", "true"},
           {"\xEF\xBB\xBF false", "false"},
           {"0", "0"},
           {"-9223372036854775808", "-9223372036854775808"},
           {"18446744073709551615", "18446744073709551615"},
           {"18446744073709551616", "1.84467440737096e+19"},
           {"-9223372036854775809", "-9.22337203685478e+18"},
           {"1.0", "1.0"},
           {"100000.0", "100000.0"},
           {"-0.25", "-0.25"},
           {"2E+3", "2000.0"},
           {"1e-400", "0.0"},
           {"0.1e-5", "1e-06"},
           {R"("a\"\\\/\n")", R"("a\"\\/\x0a")"},
           {R"("\u0041\u00e9\u20AC\ud83d\ude00")", "\"A\u00e9\u20ac\U0001F600\""},
       }) {
    EXPECT_EQ(described(parse_json(each.text)).substr(0, 12),
              std::string(each.described).substr(0, 12))
        << each.text;
  }
}

TEST(ParseJson, KeepsOrderAndPlaces) {
  const std::string text = R"({"b": [1, {"a": 2}], "a": {}})";
  const JsonValue root = parse_json(text);
  ASSERT_EQ(root.members.size(), 2U);
  EXPECT_EQ(root.members[0].key, "b");
  EXPECT_EQ(root.members[0].key_offset, text.find("\"b\""));
  const JsonValue& list = root.members[0].value;
  ASSERT_EQ(list.members.size(), 2U);
  EXPECT_EQ(list.members[1].value.offset, text.find("{\"a\""));
  EXPECT_EQ(list.members[1].value.find("a")->value.magnitude, 2U);
  EXPECT_EQ(root.find("c"), nullptr);
}

struct Refused {
  const char* text;
  Kind kind;
  const char* token;
  const char* pointer;
};

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const Refused& each : std::vector<Refused>{
           {"", Kind::kEndsEarly, "", ""},
           {"[1, \"a", Kind::kEndsEarly, "\"a", "/1"},
           {"[1.", Kind::kEndsEarly, "1.", "/0"},
           {"{\"a\" 1}", Kind::kSyntax, "1", "/a"},
           {"[1 2]", Kind::kSyntax, "2", "/1"},
           {"[1,]", Kind::kSyntax, "]", "/1"},
           {"{1: 2}", Kind::kSyntax, "1", "/"},
           {"[nul]", Kind::kSyntax, "nul]", "/0"},
           {"[01]", Kind::kSyntax, "1", "/1"},
           {"[+1]", Kind::kSyntax, "+", "/0"},
           {"[.5]", Kind::kSyntax, ".", "/0"},
           {"[-]", Kind::kSyntax, "-]", "/0"},
           {"{} x", Kind::kSyntax, "x", ""},
           {"{} // x", Kind::kSyntax, "/", ""},
           {"\"\xC0\x80\"", Kind::kSyntax, "\"\xC0", ""},
           {"\"a\tb\"", Kind::kSyntax, "\"a\t", ""},
           {R"("\x")", Kind::kSyntax, R"("\x)", ""},
           {R"("\u12g4")", Kind::kSyntax, R"("\u12g)", ""},
           {R"("\ude00")", Kind::kSyntax, R"("\ude00")", ""},
           {R"("\ud83d-")", Kind::kSyntax, R"("\ud83d-)", ""},
           {"{\"a/b\": [1e999]}", Kind::kNumber, "1e999", "/a~1b/0"},
           {"{\"a\": 1, \"b\": 2, \"a\": 3}", Kind::kTwice, "\"", "/a"},
       }) {
    try {
      static_cast<void>(parse_json(each.text));
      ADD_FAILURE() << each.text;
    } catch (const JsonError& error) {
      EXPECT_EQ(error.kind, each.kind) << each.text;
      EXPECT_EQ(std::string(each.text).substr(error.begin, error.end - error.begin), each.token);
      EXPECT_EQ(error.pointer, each.pointer) << each.text;
    }
  }
}

TEST(ParseJson, KeepsToItsRules) {
  const std::string text = "[[1, /* two */ 2], // three\n 3]";
  EXPECT_EQ(parse_json(text, {.has_comments = true}).members.size(), 2U);
  EXPECT_THROW(static_cast<void>(parse_json(text)), JsonError);
  EXPECT_EQ(parse_json("[[1]]", {.max_depth = 2, .max_values = 3}).members.size(), 1U);
  EXPECT_THROW(static_cast<void>(parse_json("[[1]]", {.max_depth = 1})), JsonError);
  EXPECT_THROW(static_cast<void>(parse_json("[[1]]", {.max_values = 2})), JsonError);
}

}  // namespace
}  // namespace inline_prof::base
