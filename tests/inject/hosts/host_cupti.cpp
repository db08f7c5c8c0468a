// A program that is a client of CUPTI itself, as PyTorch with its profiler is.
//
//   host_cupti first|later
//
// first: subscribes before its first launch, and must be told of every launch it makes.
// later: trains for 60 iterations, then tries until the subscription is free.
// Prints "host ok" and exits with 0 if all is as it should be.
#include "host.hpp"

#include <cupti.h>

namespace {

int launches = 0;
int entered = 0;
int left = 0;

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  // Launches of the injected library's calibration are not this program's.
  if (call.symbolName == nullptr || std::strcmp(call.symbolName, "host_kernel") != 0) return;
  ++(call.callbackSite == CUPTI_API_ENTER ? entered : left);
}

CUptiResult subscribe() {
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "host";
  CUpti_SubscriberHandle handle = nullptr;
  const CUptiResult result = cuptiSubscribe_v2(&handle, on_callback, nullptr, &parameters);
  if (result == CUPTI_SUCCESS) {
    CHECK(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  }
  return result;
}

void train(CUfunction kernel, CUstream stream, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    for (int k = 0; k < 2; ++k) {
      host::launch(kernel, stream);
      ++launches;
    }
  }
  CHECK(cuStreamSynchronize(stream));
}

}  // namespace

int main(int argc, char** argv) {
  const bool later = argc > 1 && std::strcmp(argv[1], "later") == 0;
  if (!later) CHECK(subscribe());
  host::open_context();
  CUfunction kernel = host::load_kernels({"host_kernel"})[0];
  CUstream stream = host::open_stream();
  if (later) {
    train(kernel, stream, 60);
    CUptiResult result = CUPTI_ERROR_UNKNOWN;
    // The injected library unsubscribes on a thread of its own.
    for (int tries = 0; tries < 2000 && (result = subscribe()) != CUPTI_SUCCESS; ++tries)
      usleep(1000);
    CHECK(result);
    launches = 0;
  }
  train(kernel, stream, 60);
  if (entered != launches || left != launches) {
    std::printf("host: %d launches, %d entered, %d left\n", launches, entered, left);
    return 1;
  }
  std::printf("host ok\n");
  return 0;
}
