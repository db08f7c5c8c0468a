// For any file a parser returns a request or throws a ScheduleError.
#include "schedule/error.hpp"
#include "schedule/read_request.hpp"
#include "schedule/schedule_json.hpp"
#include "schedule/select.hpp"
#include "schedule/text_formats.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <variant>

namespace inline_prof::schedule {
namespace {

const std::string kSchedule = "10\r\nfc.fprop 11 Bottom.fc1 0\nfc.bprop 12 - 6\n\n\xC3\xA4 99 L 1";
const std::string kEvents = "\xEF\xBB\xBFgemm\nvoid f(int, int)\n";
const std::string kSpec = R"({ "warmup": 1, "seed": 18446744073709551615, "budget": "0.1%",
  "target_ci": 3e-2, /* c */ "policy": "in_order", // d
  "layers": { "a\u00e4\n": { "forward_events": ["e"], "forward_occurrence": 2,
              "events": [{"event": "x y", "occurrence": 3}] } },
  "patterns": [{ "match": "*", "kernel": "k", "op": "gemm", "enabled": false }] })";

// Parses as every format; what comes out must be usable.  Returns how many formats accepted it.
int survive(const std::string& text) {
  int accepted = 0;
  for (const char* name : {"s.json", "p.schedule", "p.events", "unknown"}) {
    try {
      const Request request = parse_request(text, name);
      ++accepted;
      static_cast<void>(select(request, {{"gemm", "", 0, ""}, {"e", "a", 2, "k"}}));
      if (const auto* list = std::get_if<SampleList>(&request)) {
        EXPECT_EQ(parse_prof_schedule(write_prof_schedule(*list), name), *list);
      }
    } catch (const ScheduleError& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  return accepted;
}

TEST(Garbage, ValidFilesAreAccepted) {
  EXPECT_EQ(survive(kSchedule), 2);  // by its name and by its content
  EXPECT_EQ(survive(kEvents), 2);
  EXPECT_GE(survive(kSpec), 2);
}

TEST(Garbage, FilesCutOffAtAnyByteAreSurvived) {
  for (const std::string& text : {kSchedule, kEvents, kSpec}) {
    for (std::size_t length = 0; length < text.size(); ++length) {
      survive(text.substr(0, length));
    }
  }
}

// A JSON text has no valid beginning but itself.
TEST(Garbage, EveryCutOffJsonIsRefused) {
  for (std::size_t length = 0; length < kSpec.size(); ++length) {
    EXPECT_THROW(static_cast<void>(parse_schedule_json(kSpec.substr(0, length), "s.json")),
                 ScheduleError)
        << length;
  }
}

TEST(Garbage, EveryChangedByteIsSurvived) {
  for (const std::string& text : {kSchedule, kEvents, kSpec}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const char byte : {'\0', '\n', ' ', '"', '9', '-', '\x80', '\xFF', '}', ','}) {
        std::string changed = text;
        changed[at] = byte;
        survive(changed);
      }
    }
  }
}

TEST(Garbage, RandomBytesAreSurvived) {
  std::mt19937 random(1);  // the same bytes on every machine: the standard fixes its output
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 200, '\0');
    for (char& byte : text) {
      byte = static_cast<char>(random() % 256);
    }
    survive(text);
  }
}

// Bytes that the formats are made of get further than others.
TEST(Garbage, RandomWordsAreSurvived) {
  constexpr std::array<const char*, 20> words{
      "{", "}",  "[",  "]",  "\"", ":",          ",",     "10",   "11",           "-",
      " ", "\n", "//", "/*", "*/", "\"layers\"", "\"a\"", "true", "\"patterns\"", "1e5"};
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto left = random() % 30; left > 0; --left) {
      text += words[random() % words.size()];
    }
    survive(text);
  }
}

TEST(Garbage, DeepNestingIsSurvived) {
  for (const char* opening : {"[", "{\"a\":", "{\"layers\":{\"a\":["}) {
    std::string text;
    while (text.size() < 1'000'000) {
      text += opening;
    }
    survive(text);
  }
}

}  // namespace
}  // namespace inline_prof::schedule
