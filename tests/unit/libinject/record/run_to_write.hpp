// A made-up run for the tests of the file's writer.
#pragma once

#include "record/run_record.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace inline_prof::record {

inline const void* handle(std::uintptr_t value) {
  return reinterpret_cast<const void*>(value);  // NOLINT(performance-no-int-to-ptr): made up
}

inline EventRecord& add_event(RunRecord& run, const std::string& name, int device_id = 0,
                              int occurrence = 0) {
  auto event = std::make_unique<EventRecord>();
  event->event_name = name;
  event->device_id = device_id;
  event->stream = handle(0x7f7cf66c3d20);
  event->start_index = static_cast<std::int64_t>(2 * run.events.size());
  event->end_index = event->start_index + 1;
  event->occurrence = occurrence;
  return *run.events.add(std::move(event));
}

inline Sample sample(float measured_ms, float offset_ms, std::int64_t iteration,
                     std::int8_t tight = -1) {
  return {.measured_ms = measured_ms,
          .offset_ms = offset_ms,
          .iteration = iteration,
          .tight = tight,
          .extra = nullptr};
}

// A run in which everything has a value of its own.
inline void fill(RunRecord& run) {
  run.host_name = "n046";
  run.command = "train";
  run.started_at = "2026-11-21T01:02:03Z";
  run.rank = 3;
  run.world_size = 16;
  run.local_rank = 1;
  run.policy = "interleaved";
  run.schedule = "/x/prof.schedule";
  run.warmup = 10;
  run.repeat = 50;
  run.iteration_source = "macro";
  run.devices.push_back({.device_id = 0,
                         .name = "NVIDIA H200",
                         .uuid = "GPU-1",
                         .sm_count = 132,
                         .compute_capability = "9.0",
                         .memory_bytes = 150'000'000'000,
                         .l2_bytes = 62'914'560,
                         .sm_clock_khz = 1'980'000,
                         .memory_clock_khz = 3'201'000,
                         .driver_version = "580.159",
                         .cuda_version = "13.0"});
  run.calibrations.push_back(
      {.device_id = 0,
       .state = "busy",
       .empty_pair = {.median_us = 4.5, .p05_us = 4.25, .p95_us = 5, .count = 64},
       .empty_kernel_pair = Distribution{.median_us = 6.5, .p05_us = 6, .p95_us = 7, .count = 63},
       .added_kernel = Distribution{.median_us = 1.5, .p05_us = 1.25, .p95_us = 2, .count = 16}});
  run.iteration_times.restart(2);
  run.iteration_times.add(11, 4.5F);
  run.iteration_times.add(12, 4.75F);
  run.iteration_launches = 97;
  run.other_period = 13;
  run.last_iteration = 12;
  run.phases.push_back({.stretches = {{.first = 1, .last = 11}},
                        .source = "macro",
                        .reason = "the first iterations",
                        .kernel_launches = 97,
                        .is_measured = true});
  run.phases.push_back({.stretches = {{.first = 12, .last = 11}},
                        .started_after_s = 0.5,
                        .source = "auto",
                        .confidence = 0.75,
                        .reason = "other launches",
                        .graph_launches = 1,
                        .graph_kernels = 97});
  run.runtime_data.push_back(
      {.name = "batch", .device_id = 0, .stream = handle(1), .data = {"6912", "x\"y"}});
  run.not_seen.emplace_back("libcublas inside libfoo.so: static copy");
  run.warnings.emplace_back("INLINE_PROF_X: unknown variable");
  run.dropped.ring_full = 1;
  run.dropped.not_ready_at_exit = 2;
  run.dropped.capture_skipped = 3;
  run.dropped.stale_graph = 4;
  run.dropped.interleaved_launch = 5;
  run.dropped.irregular_iteration = 6;
  run.armed_iterations = 6;
  run.unarmed_iterations = 7;
  run.launches_seen = 8;
  run.host_bytes = 9;

  EventRecord& event = add_event(run, "fprop.gemm", 0, 2);
  event.layer_name = "TopMLP.fc5";
  event.kernel_names = {"sm90_gemm", "splitk_reduce"};
  event.stream_index = 1;
  event.shape = LaunchShape{.grid = {7, 8, 9},
                            .block = {128, 2, 1},
                            .cluster = {2, 1, 1},
                            .dynamic_shared_bytes = 2048,
                            .static_shared_bytes = 1024,
                            .registers = 96,
                            .max_blocks_per_sm = 3};
  event.calls = 40;
  event.op = std::make_unique<Op>(
      Op{.kind = "gemm", .attributes = {{"m", 6912}, {"a_type", "f16"}}, .source = "PROFILE_OP"});
  event.reserve(3);
  static_cast<void>(event.add(sample(0.04F, -0.5F, 11, 1)));
  static_cast<void>(event.add(sample(0.041F, 0.25F, 12, 0)));
  static_cast<void>(event.add(sample(0.042F, 0.5F, 13, -1)));
}

// Adds what a watched run has.
inline void fill_watch(RunRecord& run) {
  EventRecord& event = run.events[0];
  event.history = std::make_unique<watch::History>();
  event.history->add(90.5, 2000, 41'000);
  event.history->add(91.5, 2010, 42'000);

  run.watch = std::make_unique<WatchRecord>();
  run.watch->budget = 0.0002;
  run.watch->started_s = 90;
  run.watch->until_s = 120;
  run.watch->pairs = 3;
  run.watch->pair_cost_us = 7.5;
  run.watch->cost_share = 0.000125;
  run.watch->iteration.add(90.75, 2001, 4'500'000);
  auto& readings = run.watch->machine.emplace_back().readings;
  readings.add({.time_s = 90, .sm_clock_mhz = 1980});
  readings.add({.time_s = 105,
                .sm_clock_mhz = 1410,
                .memory_clock_mhz = 3201,
                .power_w = 699.5,
                .temperature_c = 71,
                .throttle_reasons = 4,
                .ecc_errors = 0,
                .nvlink_errors = 0});
  using Of = FoundChange::Of;
  const watch::Change change{.began_s = 100,
                             .detected_s = 110,
                             .began_iteration = 2500,
                             .before_ns = 40'000,
                             .after_ns = 41'200,
                             .ratio = 1.03,
                             .ratio_low = 1.02,
                             .ratio_high = 1.04};
  run.watch->changes.push_back({.of = Of::kEvent,
                                .event = &event,
                                .layer_name = event.layer_name,
                                .device_id = 0,
                                .change = change,
                                .reason = "SM clock 1980 -> 1410 MHz: power cap"});
  run.watch->changes.push_back({.of = Of::kIteration, .change = change});
}

}  // namespace inline_prof::record
