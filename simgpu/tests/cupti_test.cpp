// The simulated CUPTI: what a subscriber is told, and what is recorded.
#include "driver_fixture.hpp"

#include <cupti.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace simgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Told {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  CUpti_ApiCallbackSite site;
  std::string function, symbol;
  CUfunction kernel;
  unsigned grid_x;
  CUstream stream;
  bool has_return_value;
  int return_value;
  std::uint32_t correlation_id;
  std::uint64_t data;
};

std::vector<Told>& told() {
  static std::vector<Told> all;
  return all;
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* data) {
  Told one{};
  one.domain = domain;
  one.id = id;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    one.site = call.callbackSite;
    one.function = call.functionName;
    one.symbol = call.symbolName == nullptr ? "" : call.symbolName;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
      const auto& parameters = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
      one.kernel = parameters.f;
      one.grid_x = parameters.gridDimX;
      one.stream = parameters.hStream;
    }
    one.has_return_value = call.functionReturnValue != nullptr;
    if (one.has_return_value) one.return_value = *static_cast<int*>(call.functionReturnValue);
    one.correlation_id = call.correlationId;
    if (call.callbackSite == CUPTI_API_ENTER) *call.correlationData = told().size() + 1;
    one.data = *call.correlationData;
  }
  told().push_back(one);
}

class CuptiTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    told().clear();
    ASSERT_EQ(cuptiSubscribe(&subscriber_, on_callback, nullptr), CUPTI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
    DriverTest::TearDown();
  }
  void enable(CUpti_CallbackId id, bool on = true) {
    ASSERT_EQ(cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id),
              CUPTI_SUCCESS);
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
};

TEST_F(CuptiTest, SubscribingAloneDeliversNothing) {
  launch(stream_);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(CuptiTest, DeliversWhatIsEnabledAndNothingElse) {
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  ASSERT_EQ(launch_with(nullptr), CUDA_SUCCESS);
  EXPECT_THAT(told(), IsEmpty());
  launch(stream_);
  EXPECT_THAT(told(), SizeIs(2));
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, false);
  launch(stream_);
  EXPECT_THAT(told(), SizeIs(2));
}

TEST_F(CuptiTest, TellsOfALaunchBeforeAndAfter) {
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  launch(stream_, 7);
  ASSERT_THAT(told(), SizeIs(2));
  const Told& enter = told()[0];
  const Told& exit = told()[1];
  EXPECT_EQ(enter.site, CUPTI_API_ENTER);
  EXPECT_EQ(exit.site, CUPTI_API_EXIT);
  EXPECT_EQ(enter.function, "cuLaunchKernel");
  EXPECT_EQ(enter.symbol, "empty");
  EXPECT_EQ(enter.kernel, kernel_);
  EXPECT_EQ(enter.grid_x, 7U);
  EXPECT_EQ(enter.stream, stream_);
  EXPECT_FALSE(enter.has_return_value);
  EXPECT_TRUE(exit.has_return_value);
  EXPECT_EQ(exit.return_value, CUDA_SUCCESS);
  EXPECT_EQ(enter.correlation_id, exit.correlation_id);
  EXPECT_EQ(exit.data, 1U);  // what ENTER stored
}

TEST_F(CuptiTest, TellsHowALaunchFailed) {
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  EXPECT_EQ(launch(stream_, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_THAT(told(), SizeIs(2));
  EXPECT_EQ(told()[1].return_value, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CuptiTest, TellsOfContextsThatComeAndGo) {
  ASSERT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  CUcontext other = out(cuCtxCreate, nullptr, 0, device_);
  ASSERT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  CUcontext primary = out(cuDevicePrimaryCtxRetain, device_);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, device_), CUDA_SUCCESS);  // not a second time
  ASSERT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);           // nor here
  ASSERT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);
  std::vector<CUpti_CallbackId> ids;
  for (const Told& one : told())
    ids.push_back(one.id);
  EXPECT_THAT(ids, ElementsAre(CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                               CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                               CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                               CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
}

TEST_F(CuptiTest, HasOneSubscriberAndNamesHim) {
  EXPECT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
  CUpti_SubscriberParams first{};
  first.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  first.subscriberName = "first";
  ASSERT_EQ(cuptiSubscribe_v2(&subscriber_, on_callback, nullptr, &first), CUPTI_SUCCESS);
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> holder{};
  CUpti_SubscriberParams second{};
  second.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  second.oldSubscriberName = holder.data();
  second.oldSubscriberSize = holder.size();
  CUpti_SubscriberHandle other = nullptr;
  EXPECT_EQ(cuptiSubscribe_v2(&other, on_callback, nullptr, &second),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder.data(), "CUPTI for first");
  EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_SUCCESS);
}

TEST_F(CuptiTest, RefusesCallbacksThatDoNotExist) {
  EXPECT_EQ(
      cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE),
      CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableCallback(1, nullptr, CUPTI_CB_DOMAIN_DRIVER_API, 307),
            CUPTI_ERROR_INVALID_PARAMETER);
}

// ---- activities

std::vector<CUpti_ActivityKernel10>& records() {
  static std::vector<CUpti_ActivityKernel10> all;
  return all;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  static std::array<CUpti_ActivityKernel10, 2> storage;  // two records at a time
  *buffer = reinterpret_cast<std::uint8_t*>(storage.data());
  *size = sizeof storage;
  *most = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    CUpti_ActivityKernel10 copy;
    std::memcpy(&copy, record, sizeof copy);
    records().push_back(copy);
  }
}

class CuptiActivities : public CuptiTest {
 protected:
  void SetUp() override {
    CuptiTest::SetUp();
    records().clear();
    ASSERT_EQ(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    CuptiTest::TearDown();
  }
};

TEST_F(CuptiActivities, HaveTheTimesOfTheKernelsAlone) {
  enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  for (int i = 0; i < 3; ++i)
    launch(stream_);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_THAT(records(), SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records()[i].end - records()[i].start, 10'000U);
    EXPECT_EQ(records()[i].correlationId, told()[2 * i].correlation_id);
    EXPECT_STREQ(records()[i].name, "empty");
  }
}

TEST_F(CuptiActivities, AreDeliveredWhenTheKernelsHaveEnded) {
  launch(stream_);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_THAT(records(), SizeIs(1));
}

TEST_F(CuptiActivities, CountKernelsInGraphsUnderTheGraphsLaunch) {
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  launch(stream_);
  launch(stream_);
  ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  CUgraphExec exec = out(cuGraphInstantiate, graph, 0);
  enable(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
  ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_THAT(told(), SizeIs(2));
  ASSERT_THAT(records(), SizeIs(2));
  EXPECT_EQ(records()[0].correlationId, told()[0].correlation_id);
  EXPECT_EQ(records()[1].correlationId, told()[0].correlation_id);
}

TEST_F(CuptiActivities, OfUnsupportedKindsAreRefused) {
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INVALID_KIND);
}

}  // namespace
}  // namespace simgpu
