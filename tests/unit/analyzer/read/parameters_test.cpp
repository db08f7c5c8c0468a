#include "read/parameters.hpp"

#include "testing.hpp"

namespace inline_prof::read {
namespace {

Parameters example() {
  Parameters parameters;
  parameters.model = "gemm";
  parameters.machine = "toy";
  parameters.key = {{"a_type", "bf16"}};
  parameters.parameters = {{"t0_us", 2.5}, {"efficiency", {0.1, 0.30000000000000004}}};
  parameters.trained_rows = 300;
  return parameters;
}

std::string complaint_about(const std::string& text, std::string_view model = "gemm") {
  return test::complaint([&] { return parse_parameters(text, "p.json", model); });
}

TEST(Parameters, ComeBackAsTheyWereWritten) {
  const std::string text = parameters_text(example());
  const Parameters back = parse_parameters(text, "p.json", "gemm");
  EXPECT_EQ(back.machine, "toy");
  EXPECT_EQ(back.key.at("a_type"), "bf16");
  EXPECT_EQ(back.number("t0_us"), 2.5);
  EXPECT_EQ(back.numbers("efficiency"), (std::vector<double>{0.1, 0.30000000000000004}));
  EXPECT_EQ(back.trained_rows, 300);
  EXPECT_EQ(parameters_text(back), text);
}

// Older files name their tables by a hash, which nobody compared.
TEST(Parameters, OfAnOlderFileAreRead) {
  const Parameters parameters = parse_parameters(
      R"({"schema":"inline_prof_params/1","model":"gemm","machine":"toy","parameters":{},
          "trained_on":{"rows":300,"sha256":"abc"},"version":1})",
      "p.json", "gemm");
  EXPECT_EQ(parameters.trained_rows, 300);
}

TEST(Parameters, ThatAModelMissesAreNamed) {
  const Parameters parameters = parse_parameters(parameters_text(example()), "p.json", "");
  EXPECT_EQ(test::complaint([&] { return parameters.number("t1_us"); }),
            "p.json: /parameters: missing \"t1_us\"");
  EXPECT_EQ(test::complaint([&] { return parameters.number("efficiency"); }),
            "p.json: /parameters/efficiency: expected a number, found an array");
}

TEST(Parameters, OfAnotherKindAreRefused) {
  EXPECT_EQ(complaint_about(parameters_text(example()), "memory"),
            "p.json: /model: parameters of model gemm, expected of memory");
  EXPECT_EQ(complaint_about(R"({"schema":"inline_prof_params/2"})"),
            "p.json: /schema: this build reads inline_prof_params/1, found inline_prof_params/2");
  EXPECT_EQ(complaint_about("[]"), "p.json: /: expected an object, found an array");
  EXPECT_EQ(complaint_about("m,n\n1,2\n"),
            "p.json: byte 1: not valid JSON: found m, expected a value");
  EXPECT_EQ(
      complaint_about(
          R"({"schema":"inline_prof_params/1","model":"gemm","machine":"toy","parameters":[],"version":1})"),
      "p.json: /parameters: expected an object");
}

}  // namespace
}  // namespace inline_prof::read
