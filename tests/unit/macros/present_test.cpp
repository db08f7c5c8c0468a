// The macros in a program that was started with the library preloaded.
#include "fake.hpp"
#include "host_calls.h"

#include <inline_prof/profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace inline_prof::test {

const inline_prof_fake& fake() {
  void* const symbol = dlsym(RTLD_DEFAULT, "fake_library_control");
  if (symbol == nullptr)
    throw std::runtime_error("start this test with the fake library in LD_PRELOAD");
  decltype(&fake_library_control) control = nullptr;
  std::memcpy(&control, &symbol, sizeof control);
  return *control();
}

namespace {

using testing::ElementsAre;

void* const kStream = reinterpret_cast<void*>(0x10);

// A call of PROFILE_RECORD with nothing but the label and kStream.
std::string recorded(const std::string& label, int site) {
  return "record " + label + " site " + std::to_string(site) +
         " stream 0x10 device -1 graph 1 extra -";
}

// Forgets what the process knows about the library, so that each test starts with the first use.
class Macros : public testing::Test {
 protected:
  Macros() {
    fake().clear();
    ask_again();
  }
  static void ask_again() {
    __atomic_store_n(&inline_prof_table_v1, &inline_prof_table_v1, __ATOMIC_SEQ_CST);
  }
};

TEST_F(Macros, AskForTheTableOnceForAllFilesAndLanguages) {
  const int before = fake().lookup_count();
  PROFILE_RECORD("cpp.start", kStream);
  c_record(kStream);
  PROFILE_ITERATION();
  EXPECT_EQ(fake().lookup_count(), before + 1);
  EXPECT_THAT(calls(), ElementsAre(recorded("cpp.start", 1), recorded("c.start", 2), "iteration"));
}

TEST_F(Macros, LeaveErrnoAsItWasOnTheFirstUse) {
  errno = 77;
  PROFILE_ITERATION();
  EXPECT_EQ(errno, 77);
}

TEST_F(Macros, RefuseATableThatIsTooShort) {
  fake().set_size(offsetof(inline_prof_abi, op));
  PROFILE_ITERATION();
  EXPECT_EQ(fake().call_count(), 0);
  EXPECT_EQ(inline_prof_table(), nullptr);
}

TEST_F(Macros, AcceptATableThatHasGrown) {
  fake().set_size(sizeof(inline_prof_abi) + 8);
  PROFILE_ITERATION();
  EXPECT_THAT(calls(), ElementsAre("iteration"));
}

TEST_F(Macros, LoseNoCallWhenThreadsRaceForTheFirstUse) {
  std::vector<std::thread> threads(8);
  std::latch start(static_cast<std::ptrdiff_t>(threads.size()));
  for (std::thread& thread : threads) {
    thread = std::thread([&start] {
      start.arrive_and_wait();
      PROFILE_RECORD("race.start", kStream);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(calls().size(), threads.size());
}

TEST_F(Macros, FindTheLibraryFromAHiddenPlugIn) {
  void* const plugin = dlopen(MACROS_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  void* const symbol = dlsym(plugin, "plugin_record");
  ASSERT_NE(symbol, nullptr);
  decltype(&plugin_record) record = nullptr;
  std::memcpy(&record, &symbol, sizeof record);
  record(kStream);
  EXPECT_THAT(calls(), ElementsAre(recorded("plugin.start", 1)));
}

struct Stream;  // as incomplete as CUstream_st

// Like PyTorch's and RMM's stream classes.
struct StreamWrapper {
  operator Stream*() const { return reinterpret_cast<Stream*>(0x20); }
};

TEST_F(Macros, TakeEveryKindOfStream) {
  PROFILE_RECORD("a.start", StreamWrapper());
  PROFILE_RECORD("a.start", reinterpret_cast<Stream*>(0x30));
  PROFILE_RECORD("a.start", nullptr);
  PROFILE_RECORD("a.start", NULL);
  PROFILE_RECORD("a.start", 0);
  EXPECT_THAT(calls(), ElementsAre("record a.start site 1 stream 0x20 device -1 graph 1 extra -",
                                   "record a.start site 2 stream 0x30 device -1 graph 1 extra -",
                                   "record a.start site 3 stream 0x0 device -1 graph 1 extra -",
                                   "record a.start site 4 stream 0x0 device -1 graph 1 extra -",
                                   "record a.start site 5 stream 0x0 device -1 graph 1 extra -"));
}

TEST_F(Macros, TellTheThirdArgumentOfRecordByItsType) {
  PROFILE_RECORD("a.start", kStream, false);
  PROFILE_RECORD("a.start", kStream, 2);
  PROFILE_RECORD("a.start", kStream, std::size_t{3});
  EXPECT_THAT(calls(), ElementsAre("record a.start site 1 stream 0x10 device -1 graph 0 extra -",
                                   "record a.start site 2 stream 0x10 device 2 graph 1 extra -",
                                   "record a.start site 3 stream 0x10 device 3 graph 1 extra -"));
}

TEST_F(Macros, TakeTheLongFormOfRecord) {
  PROFILE_RECORD("a.start", kStream, true, 5);
  PROFILE_RECORD("a.start", kStream, false, 6, "text");
  PROFILE_RECORD("a.start", kStream, false, 7, std::string("string"));
  EXPECT_THAT(calls(),
              ElementsAre("record a.start site 1 stream 0x10 device 5 graph 1 extra -",
                          "record a.start site 2 stream 0x10 device 6 graph 0 extra text",
                          "record a.start site 3 stream 0x10 device 7 graph 0 extra string"));
}

#define HOST_LABEL(name) "host." name ".start"

TEST_F(Macros, KeepASiteForALiteralOnly) {
  const std::string text = "string.start";
  const char* const pointer = "pointer.start";
  PROFILE_RECORD("literal.start", kStream);
  PROFILE_RECORD(HOST_LABEL("macro"), kStream);
  PROFILE_RECORD(text, kStream);
  PROFILE_RECORD(pointer, kStream);
  PROFILE_RECORD("prefix." + text, kStream);
  PROFILE_RECORD(&"xoffset.start"[text.size() / 12], kStream);
  EXPECT_THAT(calls(),
              ElementsAre(recorded("literal.start", 1), recorded("host.macro.start", 2),
                          recorded("string.start", 0), recorded("pointer.start", 0),
                          recorded("prefix.string.start", 0), recorded("offset.start", 0)));
}

TEST_F(Macros, SeeThatTheContentOfABufferHasChanged) {
  for (const char letter : {'x', 'y'}) {
    char variable[] = "_.start";
    variable[0] = letter;
    const char constant[] = {letter, letter, '\0'};
    PROFILE_RECORD(variable, kStream);
    PROFILE_RECORD(constant, kStream);
  }
  EXPECT_THAT(calls(), ElementsAre(recorded("x.start", 0), recorded("xx", 0),
                                   recorded("y.start", 0), recorded("yy", 0)));
}

TEST_F(Macros, GiveInlinedCopiesInCNoCommonSite) {
  c_record_names_in_turn(kStream);
  char buffer[] = "x.start";
  c_record_label(buffer, kStream);
  EXPECT_THAT(calls(), ElementsAre(recorded("one.start", 0), recorded("two.start", 0),
                                   recorded("x.start", 0)));
}

template <typename Value>
void record_in_template(Value) {
  PROFILE_RECORD("template.start", kStream);
}

TEST_F(Macros, KeepASiteForEachInstanceOfATemplate) {
  for (int i = 0; i < 2; ++i) {
    record_in_template(1);
    record_in_template('c');
  }
  EXPECT_THAT(calls(), ElementsAre(recorded("template.start", 1), recorded("template.start", 2),
                                   recorded("template.start", 1), recorded("template.start", 2)));
}

TEST_F(Macros, SkipASiteWhoseGateIsClosed) {
  int evaluations = 0;
  const auto run = [&] {
    PROFILE_RECORD("a.start", (++evaluations, kStream));
    PROFILE_OP("a", "gemm", "m", ++evaluations);
    c_record(kStream);
  };
  run();
  fake().set_gate(0);
  run();
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(fake().call_count(), 3);
  fake().set_gate(1);
  run();
  EXPECT_EQ(evaluations, 4);
  EXPECT_EQ(fake().call_count(), 6);
}

TEST_F(Macros, CallThroughAClosedGateWhereTheLabelIsNoLiteral) {
  const std::string label = "a.start";
  const auto run = [&] { PROFILE_RECORD(label, kStream); };
  run();
  fake().set_gate(0);
  run();
  EXPECT_EQ(fake().call_count(), 2);
}

TEST_F(Macros, EvaluateEachArgumentOnce) {
  int count = 0;
  const auto counted = [&count](auto value) {
    ++count;
    return value;
  };
  const std::string text = "text";
  PROFILE_RECORD(counted(text), counted(kStream), counted(true), counted(1), counted(text));
  PROFILE_OP(counted(text), counted("gemm"), counted("m"), counted(1), "type", counted(text));
  EXPECT_TRUE(PROFILE_RECORD_DATA(counted(text), counted(kStream), counted(text), counted(1)));
  { PROFILE_SCOPE(counted(text), counted(kStream)); }
  PROFILE_UNIT_TEST_START(counted(text));
  INITIALIZE_PROFILER(counted(true), counted(false));
  EXPECT_EQ(count, 5 + 5 + 4 + 2 + 1 + 2);
}

TEST_F(Macros, EvaluateEachArgumentOnceInC) {
  EXPECT_EQ(c_count_evaluations(kStream), 1 + 2 + 3 + 2 + 100 + 2 + 1 + 2);
}

TEST_F(Macros, DescribeAnOperation) {
  const std::string type = "f16";
  PROFILE_OP("gemm", "gemm", "m", 1, "n", -2L, "k", std::size_t{1} << 40, "flag", true, "a_type",
             "f32", "b_type", type);
  PROFILE_OP(std::string("all"), "region");
  EXPECT_THAT(
      calls(),
      ElementsAre("op gemm site 1 gemm m=1 n=-2 k=1099511627776 flag=1 a_type='f32' b_type='f16'",
                  "op all site 0 region"));
}

TEST_F(Macros, DescribeAnOperationInC) {
  c_op(kStream);
  EXPECT_THAT(
      calls(),
      ElementsAre(
          "op gemm site 1 gemm m=1 n=-2 k=1099511627776 flag=1 letter=65 short=7 "
          "a_type='f32' b_type='f16' c_type='bf16'",
          "op all site 2 region",
          "op long site 3 conv a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10 k=11 l=12 m=13 n=14 "
          "o=15 p=16 q=17 r=18 s=19 t=20 u=21 v=22 w=23 x=24"));
}

TEST_F(Macros, NestScopesAndLeaveThemOnEveryPath) {
  const auto run = [] {
    PROFILE_SCOPE("outer", kStream);
    PROFILE_SCOPE(std::string("inner"), nullptr);
    throw 1;
  };
  EXPECT_THROW(run(), int);
  EXPECT_THAT(calls(),
              ElementsAre("push outer stream 0x10", "push inner stream 0x0", "pop", "pop"));
}

TEST_F(Macros, AreOneStatementEach) {
  bool is_even = true;
  for (int i = 0; i < 2; ++i, is_even = !is_even)
    if (is_even)
      PROFILE_RECORD("even.start", kStream);
    else
      PROFILE_RECORD("odd.start", kStream);
  EXPECT_THAT(calls(), ElementsAre(recorded("even.start", 1), recorded("odd.start", 2)));
}

TEST_F(Macros, CallTheFunctionsOfTheirNames) {
  INITIALIZE_PROFILER(true, false);
  PROFILER_ITER_CHECK();
  PROFILER_ITER_CHECK(true);
  PROFILE_UNIT_TEST_START("a test");
  PROFILE_UNIT_TEST_START(std::string("another"));
  PROFILE_UNIT_TEST_STOP();
  EXPECT_TRUE(PROFILE_RECORD_DATA("batch", kStream));
  EXPECT_TRUE(PROFILE_RECORD_DATA("batch", kStream, std::to_string(7)));
  EXPECT_TRUE(PROFILE_RECORD_DATA("batch", kStream, "8", 2));
  EXPECT_THAT(calls(),
              ElementsAre("initialize 1 0", "iteration", "iteration", "unit_test_start a test",
                          "unit_test_start another", "unit_test_stop",
                          "record_data batch stream 0x10 data - device -1",
                          "record_data batch stream 0x10 data 7 device -1",
                          "record_data batch stream 0x10 data 8 device 2"));
}

TEST_F(Macros, CallTheFunctionsOfTheirNamesInC) {
  c_every_macro(kStream);
  EXPECT_THAT(calls(), ElementsAre("initialize 1 0", "iteration", "iteration", "iteration",
                                   recorded("a.start", 1),
                                   "record a.stop site 2 stream 0x10 device 3 graph 1 extra -",
                                   "record null.start site 3 stream 0x0 device -1 graph 1 extra -",
                                   "push outer stream 0x10", "push inner stream 0x0", "iteration",
                                   "pop", "pop", "unit_test_start a test", "unit_test_stop",
                                   "record_data batch stream 0x10 data - device -1",
                                   "record_data batch stream 0x10 data 7 device -1",
                                   "record_data batch stream 0x10 data 8 device 2"));
}

}  // namespace
}  // namespace inline_prof::test
