// Copies and fills, against figures worked out by hand from the machines' files.
#include "model/roofline.hpp"
#include "profile_builder.hpp"
#include "testing.hpp"

namespace inline_prof::model {
namespace {

read::Op copy(const std::string& direction, std::int64_t bytes,
              const std::string& host_memory = "") {
  read::Op op;
  op.kind = "copy";
  op.attributes = {{"bytes", bytes}, {"direction", direction}};
  if (!host_memory.empty()) op.attributes.emplace_back("host_memory", host_memory);
  return op;
}

void expect_time(const read::Op& op, const std::string& id, double us, const char* bound) {
  const Outcome found = predict_copy(op, builtin_machine(id));
  ASSERT_TRUE(found.prediction) << found.reason;
  EXPECT_NEAR(in_microseconds(found.prediction->time), us, 0.01 * us);
  EXPECT_EQ(bound_name(found.prediction->bound), bound);
  EXPECT_EQ(found.prediction->model, "copies");
}

std::string reason(const read::Op& op, const std::string& id) {
  const Outcome found = predict_copy(op, builtin_machine(id));
  return found.prediction ? "predicted" : found.reason;
}

TEST(Copies, TakeTheLatencyAndTheirBytesAtWhatTheLinkReaches) {
  // 2 us, and 2^20 bytes at 0.8 of 64 GB/s.
  expect_time(copy("host_to_device", 1 << 20, "pinned"), "h200-sxm-141gb", 2 + 20.48, "link");
  expect_time(copy("device_to_host", 1 << 20, "pinned"), "a100-sxm4-80gb", 2 + 40.96, "link");
  expect_time(copy("peer", 1 << 20), "h200-sxm-141gb", 2 + 2.913, "link");
  // Read and written: twice 2^30 bytes at 0.8 of 4800 GB/s.
  expect_time(copy("device_to_device", 1 << 30), "h200-sxm-141gb", 2 + 559.2, "memory");
  // Bytes that fill no page, as B200 took 7.4 us for: 6 us, and twice 5.1 MB at 0.8 of 8000 GB/s.
  expect_time(copy("device_to_device", 5114880), "b200-sxm-180gb", 2 + 4 + 1.6, "launch");
  expect_time(copy("device_to_device", 5455872), "b200-sxm-180gb", 2 + 1.705, "launch");
  expect_time(copy("fill", 1 << 30), "h200-sxm-141gb", 2 + 279.6, "memory");
  expect_time(copy("host_to_device", 4, "pinned"), "h200-sxm-141gb", 2, "launch");
  expect_time(copy("write_value", 4), "h200-sxm-141gb", 2, "launch");
}

// Ends of the interval, from published runs: 55.6 GB/s on H100, 23.9 to 26.4 on RTX 4090, 24.8 on
// A100; 380 between two H100.
TEST(Copies, HaveAnIntervalThatHoldsPublishedRuns) {
  const auto is_inside = [](const std::string& direction, const std::string& id, double gb_per_s) {
    const Outcome found = predict_copy(copy(direction, 1 << 30, "pinned"), builtin_machine(id));
    const double us = (1 << 30) / (gb_per_s * 1e3);
    return in_microseconds(found.prediction->interval90->first) < us &&
           us < in_microseconds(found.prediction->interval90->second);
  };
  EXPECT_TRUE(is_inside("host_to_device", "h100-sxm5-80gb", 55.6));
  EXPECT_TRUE(is_inside("host_to_device", "rtx-4090", 23.9));
  EXPECT_TRUE(is_inside("device_to_host", "rtx-4090", 27.1));
  EXPECT_TRUE(is_inside("host_to_device", "a100-sxm4-80gb", 24.8));
  EXPECT_TRUE(is_inside("peer", "h100-sxm5-80gb", 380));
  EXPECT_FALSE(is_inside("host_to_device", "a100-sxm4-80gb", 11.2)) << "both directions at once";
}

TEST(Copies, OfPageableMemoryHaveABoundAlone) {
  const Outcome found =
      predict_copy(copy("host_to_device", 1 << 20, "pageable"), builtin_machine("h200-sxm-141gb"));
  ASSERT_TRUE(found.prediction);
  EXPECT_FALSE(found.prediction->interval90);
}

TEST(Copies, SayWhyThereIsNoPrediction) {
  EXPECT_EQ(reason(copy("wait_value", 4), "l40s"), "a wait for a value lasts until it is written");
  EXPECT_EQ(reason(copy("host_to_host", 4), "l40s"), "the host's memory has no model");
  EXPECT_EQ(reason(copy("peer", 4), "rtx-4090"), "rtx-4090 has no peer_link_gb_per_s");
  EXPECT_EQ(reason(copy("sideways", 4), "l40s"), "copy with direction sideways");
  EXPECT_EQ(reason(copy("fill", 0), "l40s"), "copy with bytes = 0");
  read::Op of_any_size;
  of_any_size.kind = "copy";
  of_any_size.attributes = {{"direction", std::string("fill")}};
  EXPECT_EQ(reason(of_any_size, "l40s"), "copies of several sizes");
}

TEST(Copies, AreRefusedByAMachineOfNoBandwidth) {
  read::Machine slow = builtin_machine("l40s");
  slow.host_link_gb_per_s = 1e-320;
  EXPECT_FALSE(predict_copy(copy("host_to_device", 1 << 20, "pinned"), slow).prediction);
}

}  // namespace
}  // namespace inline_prof::model
