// The fast parser accepts what the slow one accepts, and reads the same out of it.
#include "export/formats.hpp"
#include "join/join.hpp"
#include "read/file_text.hpp"
#include "read/input_error.hpp"
#include "read/prof_json/prof_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::read {
namespace {

// Everything that a report says of a profile, or the complaint.
template <typename Read>
std::string outcome(Read read) {
  try {
    return exports::json_report(join::join_profiles({read()}, {}, {}));
  } catch (const InputError& error) {
    return error.what();
  }
}

void expect_same(const std::string& text) {
  EXPECT_EQ(outcome([&] { return read_prof_json(text, "p.json", Wanted::kAll); }),
            outcome([&] { return read_prof_json_from_tree(text, "p.json"); }))
      << text;
}

constexpr const char* kSmall =
    R"({"schema":"inline_prof/1","rank":1,"complete":true,"iter_time_ms":[1e0,1.25],"new":[{"a":)"
    R"([null,true,-1.5e-3,"\u00e9"]}],"events":[{"event_name":"a\n","device_id":0,"stream":"0x1",)"
    R"("start_index":0,"end_index":1,"met_times_within_this_stream":0,"measured_times_ms":[0.5,1],)"
    R"("iterations":[11,12],"tight":[true,null],"op":{"kind":"gemm","m":4,"a_type":"f16"},"history":{"start_s":[0,60],)"
    R"("end_s":[59,99],"first_iteration":[0,7],"last_iteration":[6,9],"first_bucket":[600,601],)"
    R"("counts":[[1,2],[]]}}],"history":{"pairs":3,"cost_share":null,"machine":[{"device_id":0,)"
    R"("time_s":[1],"power_w":[null]}],"changes":[{"of":"event","event":0,"ratio":1.5,)"
    R"("ratio_ci95":[1,2]}]},)"
    R"("dropped":{"ring_full":3},"warnings":["w"]})";

TEST(TwoParsers, AgreeOnTheTestData) {
  expect_same(read_text(INLINE_PROF_TEST_DATA "/gen3/small_h200.prof.json"));
  expect_same(read_text(INLINE_PROF_TEST_DATA "/hugectr/dlrm_a100_8gpu.prof.json"));
}

TEST(TwoParsers, AgreeOnEveryTruncation) {
  const std::string text = kSmall;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    expect_same(text.substr(0, length));
  }
}

TEST(TwoParsers, AgreeOnEveryChangedCharacter) {
  const std::string text = kSmall;
  // Every fifth is enough to show a sanitizer each kind of change.
  constexpr std::size_t step = INLINE_PROF_TEST_SANITIZED ? 5 : 1;
  for (std::size_t i = 0; i < text.size(); i += step) {
    for (const char c : {'0', '-', '"', '\\', ',', ':', '[', '}', 'e', ' ', '\x01', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      expect_same(changed);
    }
  }
}

TEST(TwoParsers, AgreeOnEveryMissingCharacter) {
  const std::string text = kSmall;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed.erase(i, 1);
    expect_same(changed);
  }
}

TEST(TwoParsers, AgreeOnDuplicatesAndTrailingText) {
  for (const char* addition : {R"(,"new":1)", R"(,"rank":2)", R"(,"x":{"a":1,"a":2})",
                               R"(,"libraries":{"n":"1","n":"2"})"}) {
    std::string text = kSmall;
    text.pop_back();
    text.append(addition).append("}");
    expect_same(text);
  }
  expect_same(std::string(kSmall) + "}");
  expect_same(std::string(kSmall) + " {}");
  expect_same(std::string(kSmall) + " \n");
}

}  // namespace
}  // namespace inline_prof::read
