#include "read/read_profile.hpp"

#include "read/file_text.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

// A whole third-generation file around the members of one event.
std::string with_event(const std::string& members) {
  return R"({"schema":"inline_prof/1","iter_time_ms":[1],"events":[{"event_name":"a","device_id":0,)"
         R"("stream":"0x1","start_index":0,"end_index":1,"met_times_within_this_stream":0)" +
         members + "}]}";
}

// The same around members of the top level.
std::string with_top(const std::string& members) {
  return R"({"schema":"inline_prof/1","iter_time_ms":[1],"events":[])" + members + "}";
}

TEST(ReadProfile, ShowsThePhaseThatTookMostOfTheTime) {
  const std::string event =
      R"("device_id":0,"stream":"0x1","start_index":0,"end_index":1,"met_times_within_this_stream":0,)"
      R"("measured_times_ms":[0.5]})";
  const Profile p = read_profile(
      R"({"schema":"inline_prof/1","iter_time_ms":[9,9,1,1,1],"phases":[)"
      R"({"stretches":[[1,12]],"iterations":12,"iteration_source":"auto","iteration_confidence":0.8,)"
      R"("reason":"the first iterations","kernel_launches":97,"measured":true,"iter_time_ms":[9,9]},)"
      R"({"stretches":[[20,400],[500,600]],"iterations":482,"iteration_source":"auto",)"
      R"("iteration_confidence":0.9,"graph_launches":1,"graph_kernels":97,"iter_time_ms":[1,1,1]}],)"
      R"("events":[{"event_name":"a","phase":0,)" +
          event + R"(,{"event_name":"b","phase":1,)" + event + "]}",
      "p.json");
  EXPECT_EQ(p.phase, 1U);
  ASSERT_EQ(p.events.size(), 1U);
  EXPECT_EQ(p.events[0].name, "b");
  EXPECT_THAT(p.iter_time_ms, ElementsAre(1, 1, 1));
  EXPECT_EQ(p.profiler.iteration_confidence, 0.9);
  ASSERT_EQ(p.phases.size(), 2U);
  EXPECT_NEAR(p.phases[0].share.value(), 108. / 590, 1e-9);
  EXPECT_EQ(p.phases[0].reason, "the first iterations");
  EXPECT_EQ(p.phases[1].stretches.back(), (std::pair<std::int64_t, std::int64_t>{500, 600}));
}

TEST(ReadProfile, ReadsEveryMemberOfTheThirdGeneration) {
  const Profile p =
      read_profile(std::filesystem::path(INLINE_PROF_TEST_DATA "/gen3/small_h200.prof.json"));
  EXPECT_EQ(p.capabilities.format, "prof.json generation 3");
  EXPECT_EQ(p.host_name, "n046");
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.world_size, 16);
  EXPECT_TRUE(p.complete);
  EXPECT_EQ(p.profiler.iteration_source, "macro");
  EXPECT_EQ(p.profiler.warmup_iterations, 10);
  ASSERT_EQ(p.devices.size(), 1U);
  EXPECT_EQ(p.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(p.devices[0].memory_bytes, 150754820096);
  ASSERT_EQ(p.calibration.size(), 2U);
  EXPECT_EQ(p.calibration[1].state, PairState::kIdle);
  EXPECT_DOUBLE_EQ(p.calibration[0].empty_pair_us->median, 5.0);
  EXPECT_DOUBLE_EQ(p.calibration[0].empty_kernel_pair_us->p95.value(), 6.9);
  EXPECT_FALSE(p.calibration[1].empty_kernel_pair_us) << "{} means: not measured";
  EXPECT_THAT(p.iter_time_ms, ElementsAre(0.99, 1.0, 1.0, 1.0, 1.01));
  ASSERT_EQ(p.events.size(), 6U);
  const Event& gemm = p.events[1];
  EXPECT_EQ(gemm.layer, "MLP.fc1");
  EXPECT_EQ(gemm.start_index, 1);
  EXPECT_EQ(gemm.calls, 1);
  EXPECT_THAT(gemm.launch.grid, ElementsAre(132, 1, 1));
  ASSERT_TRUE(gemm.op);
  EXPECT_EQ(gemm.op->kind, "gemm");
  EXPECT_EQ(gemm.op->source, "cublasGemmEx");
  EXPECT_EQ(gemm.op->get<std::int64_t>("m"), 4096);
  EXPECT_EQ(gemm.op->get<std::string>("a_type"), "bf16");
  EXPECT_EQ(gemm.op->get<bool>("trans_b"), true);
  EXPECT_THAT(gemm.measured_ms, ElementsAre(0.204, 0.205, 0.205, 0.205, 0.205, 0.205, 0.206));
  EXPECT_THAT(gemm.iterations, ElementsAre(21, 22, 23, 24, 25, 26, 27));
  EXPECT_EQ(gemm.tight[0], Tight::kYes);
  EXPECT_TRUE(p.events[0].has_flag("region"));
  ASSERT_TRUE(p.overhead);
  EXPECT_DOUBLE_EQ(p.overhead->slowdown_percent.value(), 0.05);
  EXPECT_DOUBLE_EQ(p.overhead->slowdown_percent_ci95->first, -0.02);
  EXPECT_EQ(p.overhead->iterations_needed, 0);
  EXPECT_THAT(p.dropped, Contains(Pair("interleaved_launch", 2)));
}

TEST(ReadProfile, NullMeansNotKnown) {
  const Profile p = read_profile(
      with_top(
          R"(,"rank":null,"overhead":{"slowdown_percent":null,"slowdown_percent_ci95":null,)"
          R"("method":"not measured: too short"},"calibration":[{"device_id":0,"state":"busy",)"
          R"("empty_pair_us":{"median":null,"p05":null,"p95":null,"count":0}}])"),
      "p.json");
  EXPECT_FALSE(p.rank);
  ASSERT_TRUE(p.overhead);
  EXPECT_FALSE(p.overhead->slowdown_percent);
  EXPECT_FALSE(p.calibration.at(0).empty_pair_us);
  const Profile q = read_profile(with_event(R"(,"measured_times_ms":[1,2],"tight":[null,false],)"
                                            R"("iter_start_to_event_start_times_ms":[null,-0.5])"),
                                 "p.json");
  EXPECT_THAT(q.events.at(0).tight, ElementsAre(Tight::kUnknown, Tight::kNo));
  EXPECT_TRUE(std::isnan(q.events[0].offsets_ms[0]));
  EXPECT_DOUBLE_EQ(q.events[0].offsets_ms[1], -0.5) << "offsets on other streams may be negative";
}

TEST(ReadProfile, SkipsMembersThatANewerWriterAdded) {
  const Profile p = read_profile(
      with_event(R"(,"measured_times_ms":[1],"colour":{"red":[1,{"x":null}]})"), "p.json");
  EXPECT_EQ(p.events.at(0).name, "a");
}

TEST(ReadProfile, KeepsKindsAndAttributesOfOperationsThatItDoesNotKnow) {
  const Profile p = read_profile(with_event(R"(,"measured_times_ms":[1],"op":{"kind":"fft",)"
                                            R"("points":1024,"scale":0.5,"in_place":true})"),
                                 "p.json");
  ASSERT_TRUE(p.events.at(0).op);
  EXPECT_EQ(p.events[0].op->kind, "fft");
  EXPECT_EQ(p.events[0].op->get<std::int64_t>("points"), 1024);
  EXPECT_EQ(p.events[0].op->get<double>("scale"), 0.5);
  EXPECT_EQ(p.events[0].op->get<bool>("in_place"), true);
}

TEST(ReadProfile, TakesTheComputeTypeFromTheKernelWhereTheCallDoesNotSay) {
  const auto compute_type = [](const std::string& op, const std::string& kernel) {
    const Profile p = read_profile(with_event(R"(,"measured_times_ms":[1],"kernel_name":")" +
                                              kernel + R"(","op":{)" + op + "}"),
                                   "p.json");
    return p.events.at(0).op->get<std::string>("compute_type").value_or("none");
  };
  const std::string tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw";
  const std::string conv = R"("kind":"conv","type":"f32")";
  const std::string gemm = R"("kind":"gemm","a_type":"f32")";
  EXPECT_EQ(compute_type(conv, tf32), "tf32");
  EXPECT_EQ(compute_type(conv, "ampere_scudnn_128x64_relu_medium_nn_v1"), "none");
  EXPECT_EQ(compute_type(R"("kind":"conv","type":"f16")", tf32), "none");
  EXPECT_EQ(compute_type(gemm, "cutlass_80_tensorop_s1688gemm_128x128"), "tf32");
  EXPECT_EQ(compute_type(gemm + R"(,"compute_type":"f32")", tf32), "f32");
}

TEST(ReadProfile, AYesOrNoOfAnOperationMayBeANumber) {
  const auto trans_a = [](const std::string& value) {
    return read_profile(with_event(R"(,"measured_times_ms":[1],"op":{"kind":"gemm","trans_a":)" +
                                   value + "}"),
                        "p.json")
        .events.at(0)
        .op->get<bool>("trans_a");
  };
  EXPECT_EQ(trans_a("1"), true) << "PROFILE_OP carries integers and strings";
  EXPECT_EQ(trans_a("0"), false);
  EXPECT_EQ(trans_a("true"), true);
}

TEST(ReadProfile, AnEventWithoutSamplesIsAnEvent) {
  EXPECT_TRUE(read_profile(with_event(R"(,"measured_times_ms":[])"), "p.json")
                  .events.at(0)
                  .measured_ms.empty());
}

void expect_complaints(std::initializer_list<test::BadText> rows) {
  test::expect_complaints([](const std::string& text) { return read_profile(text, "p.json"); },
                          rows);
}

TEST(ReadProfileRefuses, Documents) {
  expect_complaints(
      {{"", "p.json: byte 1: empty, expected JSON"},
       {" \n\t", "p.json: byte 1: empty, expected JSON"},
       {R"({"schema": "inline_prof/1", "events": [)",
        "p.json: byte 40: not valid JSON: the file ends too early"},
       {"\x7f"
        "ELF\x02\x01",
        "p.json: byte 1: not valid JSON: found byte 0x7f, expected a value"},
       {std::string(100, '\0'),
        "p.json: byte 1: not valid JSON: found byte 0x00, expected a value"},
       {R"({"schema":"inline_prof/1"} x)",
        "p.json: byte 28: not valid JSON: found x, expected end of input"},
       {R"({"schema":"inline_prof/1" 7})",
        "p.json: byte 27: not valid JSON: found 7, expected '}'"},
       {with_event(R"(,"measured_times_ms":[NaN])"),
        "p.json: byte 187: not valid JSON: found N, expected a value"},
       {"{\"schema\":\"\xff\"}",
        "p.json: byte 12: not valid JSON: found byte 0xff, expected a string of UTF-8 "
        "without control characters"},
       {with_event(R"(,"measured_times_ms":[1,1e999])"),
        "p.json: /events/0/measured_times_ms/1: the number is too large for a 64-bit "
        "floating-point value"},
       {std::string(65, '['),
        "p.json: "
        "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"
        "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: "
        "nested deeper than 64 levels"},
       {"[]", "p.json: /: expected an object, found an array"},
       {"{}", R"(p.json: /: missing "schema" and "events": not a prof.json)"},
       {R"({"schema":"trace/1"})", R"(p.json: /schema: expected "inline_prof/1", found "trace/1")"},
       {R"({"schema":"inline_prof/one"})",
        R"(p.json: /schema: expected "inline_prof/1", found "inline_prof/one")"},
       {R"({"schema":1})", "p.json: /schema: expected a string, found 1"},
       {R"({"events":{},"schema":"inline_prof/2"})",
        "p.json: /schema: this build reads inline_prof/1, the file is inline_prof/2: take a "
        "newer prof-analyze"},
       {R"({"schema":"inline_prof/0"})",
        "p.json: /schema: this build reads inline_prof/1, the file is inline_prof/0"},
       {R"({"schema":"inline_prof/1","iter_time_ms":[]})", R"(p.json: /: missing "events")"},
       {R"({"schema":"inline_prof/1","events":[]})", R"(p.json: /: missing "iter_time_ms")"},
       {with_top(R"(,"host_name":"a","host_name":"b")"),
        "p.json: /host_name: appears twice in its object"},
       {with_top(R"(,"new":[0,{"a":1,"a":1}])"), "p.json: /new/1/a: appears twice in its object"}});
}

TEST(ReadProfileRefuses, TopMembers) {
  expect_complaints(
      {{with_top(R"(,"host_name":1)"), "p.json: /host_name: expected a string, found 1"},
       {with_top(R"(,"rank":-1)"), "p.json: /rank: expected an integer >= 0, found -1"},
       {with_top(R"(,"world_size":"8")"),
        R"(p.json: /world_size: expected an integer >= 0, found "8")"},
       {with_top(R"(,"local_rank":1.0)"),
        "p.json: /local_rank: expected an integer >= 0, found 1.0"},
       {with_top(R"(,"process_id":99999999999999999999)"),
        "p.json: /process_id: expected an integer >= 0, found 1e+20"},
       {with_top(R"(,"command":["train"])"), "p.json: /command: expected a string, found an array"},
       {with_top(R"(,"started_at":0)"), "p.json: /started_at: expected a string, found 0"},
       {with_top(R"(,"complete":1)"), "p.json: /complete: expected true or false, found 1"},
       {with_top(R"(,"profiler":[])"), "p.json: /profiler: expected an object, found an array"},
       {with_top(R"(,"profiler":{"warmup_iterations":"10"})"),
        R"(p.json: /profiler/warmup_iterations: expected an integer >= 0, found "10")"},
       {with_top(R"(,"phases":[{"stretches":[[3]]}])"),
        "p.json: /phases/0/stretches/0: expected a first and a last iteration"},
       {with_top(R"(,"profiler":{"other_period":-1})"),
        R"(p.json: /profiler/other_period: expected an integer >= 0, found -1)"},
       {with_top(R"(,"profiler":{"iteration_confidence":"high"})"),
        R"(p.json: /profiler/iteration_confidence: expected a number, found "high")"},
       {with_top(R"(,"devices":{})"), "p.json: /devices: expected an array, found an object"},
       {with_top(R"(,"devices":[{"name":"x"}])"), R"(p.json: /devices/0: missing "device_id")"},
       {with_top(R"(,"devices":[{"device_id":0,"sm_count":-132}])"),
        "p.json: /devices/0/sm_count: expected an integer >= 0, found -132"},
       {with_top(R"(,"libraries":{"nccl":2})"),
        "p.json: /libraries/nccl: expected a string, found 2"},
       {with_top(R"(,"calibration":[{"device_id":0,"state":"hot"}])"),
        R"(p.json: /calibration/0/state: expected "busy", "idle" or "graph", found "hot")"},
       {with_top(R"(,"calibration":[{"device_id":0}])"),
        R"(p.json: /calibration/0: missing "state")"},
       {with_top(R"(,"calibration":[{"device_id":0,"state":"busy","empty_pair_us":)"
                 R"({"median":-1}}])"),
        "p.json: /calibration/0/empty_pair_us: expected a median >= 0, found -1"},
       {with_top(R"(,"overhead":{"slowdown_percent_ci95":[2,1]})"),
        "p.json: /overhead/slowdown_percent_ci95: expected [lower, upper] or null"},
       {with_top(R"(,"dropped":{"ring/full":1.5})"),
        "p.json: /dropped/ring~1full: expected an integer >= 0, found 1.5"},
       {with_top(R"(,"not_seen":[1])"), "p.json: /not_seen/0: expected a string, found 1"},
       {with_top(R"(,"warnings":"none")"), R"(p.json: /warnings: expected an array, found "none")"},
       {with_top(R"(,"runtime_data":[{"data":"1"}])"),
        R"(p.json: /runtime_data/0/data: expected an array, found "1")"},
       {R"({"schema":"inline_prof/1","iter_time_ms":[1,"2"],"events":[]})",
        R"(p.json: /iter_time_ms/1: expected a number, found "2")"},
       {R"({"schema":"inline_prof/1","iter_time_ms":[1,-2],"events":[]})",
        "p.json: /iter_time_ms/1: expected a time from 0 to 1e+12 ms, found -2"}});
}

TEST(ReadProfileRefuses, Events) {
  expect_complaints(
      {{R"({"schema":"inline_prof/1","iter_time_ms":[],"events":[7]})",
        "p.json: /events/0: expected an object, found 7"},
       {R"({"schema":"inline_prof/1","iter_time_ms":[],"events":[{"device_id":0}]})",
        R"(p.json: /events/0: missing "event_name")"},
       {with_event(""), R"(p.json: /events/0: missing "measured_times_ms")"},
       {with_event(R"(,"measured_times_ms":[1,"9us"])"),
        R"(p.json: /events/0/measured_times_ms/1: expected a number, found "9us")"},
       {with_event(R"(,"measured_times_ms":[null])"),
        "p.json: /events/0/measured_times_ms/0: expected a number, found null"},
       {with_event(R"(,"measured_times_ms":[1,-0.25])"),
        "p.json: /events/0/measured_times_ms/1: expected a time from 0 to 1e+12 ms, found "
        "-0.25"},
       {with_event(R"(,"measured_times_ms":[1e300])"),
        "p.json: /events/0/measured_times_ms/0: expected a time from 0 to 1e+12 ms, found "
        "1e+300"},
       {with_event(R"(,"measured_times_ms":[1,2],"iterations":[1])"),
        "p.json: /events/0/iterations: expected 2 values, one for each of "
        "measured_times_ms, found 1"},
       {with_event(R"(,"measured_times_ms":[1],"tight":[true,false])"),
        "p.json: /events/0/tight: expected 1 values, one for each of measured_times_ms, "
        "found 2"},
       {with_event(R"(,"measured_times_ms":[1,2],"iter_start_to_event_start_times_ms":[1])"),
        "p.json: /events/0/iter_start_to_event_start_times_ms: expected 2 values, one for "
        "each of measured_times_ms, found 1"},
       {with_event(R"(,"measured_times_ms":[1],"tight":[1])"),
        "p.json: /events/0/tight/0: expected true or false, found 1"},
       {with_event(R"(,"measured_times_ms":[],"flags":"region")"),
        R"(p.json: /events/0/flags: expected an array, found "region")"},
       {with_event(R"(,"measured_times_ms":[],"grid":[1,1])"),
        "p.json: /events/0/grid: expected 3 numbers, found 2"},
       {with_event(R"(,"measured_times_ms":[],"grid":[1,1,1,1])"),
        "p.json: /events/0/grid/3: expected 3 numbers, found more"},
       {with_event(R"(,"measured_times_ms":[],"calls":"1")"),
        R"(p.json: /events/0/calls: expected an integer >= 0, found "1")"},
       {with_event(R"(,"measured_times_ms":[],"op":"gemm")"),
        R"(p.json: /events/0/op: expected an object, found "gemm")"},
       {with_event(R"(,"measured_times_ms":[],"op":{"m":1})"),
        R"(p.json: /events/0/op: missing "kind")"},
       {with_event(R"(,"measured_times_ms":[],"op":{"kind":"gemm","m":"1"})"),
        R"(p.json: /events/0/op/m: expected an integer >= 0, found "1")"},
       {with_event(R"(,"measured_times_ms":[],"op":{"kind":"gemm","a_type":16})"),
        "p.json: /events/0/op/a_type: expected a string, found 16"},
       {with_event(R"(,"measured_times_ms":[],"op":{"kind":"gemm","trans_a":2})"),
        "p.json: /events/0/op/trans_a: expected true, false, 1 or 0, found 2"},
       {R"({"schema":"inline_prof/1","iter_time_ms":[],"events":[{"event_name":"a",)"
        R"("device_id":0,"stream":"0x1","start_index":2,"end_index":1,)"
        R"("met_times_within_this_stream":0,"measured_times_ms":[]}]})",
        "p.json: /events/0: expected end_index >= start_index, found 1 < 2"}});
}

}  // namespace
}  // namespace inline_prof::read
