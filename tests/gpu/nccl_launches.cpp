// Where NCCL launches its kernels, as CUPTI sees it without the injected library: inside the call
// that the host makes, or inside ncclGroupEnd, and on the thread that made it (claim 43).
//
//   nccl_launches [--unsaid]
//
// --unsaid: the application does not say where it is, as if NCCL launched on a thread of its own:
// that must fail.
#include "answers.hpp"
#include "gpu_check.hpp"
#include "named_calls.hpp"
#include "nccl_calls.hpp"

#include <cuda.h>
#include <cupti.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace {

using inline_prof::gpu_test::Answers;
using inline_prof::gpu_test::kSkipped;
using inline_prof::gpu_test::nccl_call_of_this_thread;
using inline_prof::gpu_test::NcclCalls;
using inline_prof::gpu_test::NcclCase;
using inline_prof::gpu_test::Refused;
using inline_prof::gpu_test::text_of;

constexpr std::array kLaunches{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

constexpr const char* kOutside = "outside of every call";

// Kernels that were launched since the last look, by where the launching thread was, and their
// names.
struct Seen {
  std::mutex mutex;
  std::map<std::string, int> by_place;
  std::map<std::string, int> by_name;
};

// Never destroyed: CUPTI calls back until the process ends.
Seen& seen() {
  static auto* const the_seen = new Seen;
  return *the_seen;
}

// CUPTI calls back on the thread that launches.
void CUPTIAPI on_launch(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* callback_data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(callback_data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  const char* place = nccl_call_of_this_thread;
  const std::lock_guard lock(seen().mutex);
  ++seen().by_place[place != nullptr ? place : kOutside];
  ++seen().by_name[call.symbolName != nullptr ? call.symbolName : "(no name)"];
}

// Empty if all went well.
std::string watch_launches() {
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = cuptiSubscribe(&subscriber, on_launch, nullptr);
  for (const auto id : kLaunches) {
    if (result == CUPTI_SUCCESS) {
      result = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }
  if (result == CUPTI_SUCCESS) return "";
  const char* text = "unknown";
  cuptiGetResultString(result, &text);
  return text;
}

std::string words_of(const std::map<std::string, int>& counts) {
  std::string words;
  for (const auto& [name, count] : counts)
    words += (words.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return words;
}

struct Totals {
  int inside = 0;
  int outside = 0;
  int in_group_end = 0;
};

void look_at(Answers& answers, const NcclCalls& nccl, const NcclCase& each,
             const std::function<void()>& make, Totals& totals) {
  {
    const std::lock_guard lock(seen().mutex);
    seen().by_place.clear();
    seen().by_name.clear();
  }
  try {
    make();
  } catch (const Refused& error) {
    answers.expect(false, text_of("43: %s: %s", each.name.c_str(), error.what()));
    return;
  }
  nccl.synchronize();
  const std::lock_guard lock(seen().mutex);
  for (const auto& [place, count] : seen().by_place) {
    (place == kOutside ? totals.outside : totals.inside) += count;
    if (place == "ncclGroupEnd") totals.in_group_end += count;
  }
  answers.figure(text_of("43: %s, ranks %d: ", each.name.c_str(), nccl.ranks()) +
                 (seen().by_place.empty() ? "launches no kernel, it copies"
                                          : "kernels launched in: " + words_of(seen().by_place) +
                                                "; " + words_of(seen().by_name)));
}

void judge(Answers& answers, const Totals& totals, int ranks) {
  answers.expect(totals.outside == 0,
                 text_of("43: ranks %d: %d kernels launched inside NCCL's calls on the caller's "
                         "thread, %d of them in ncclGroupEnd; %d outside or on another thread",
                         ranks, totals.inside, totals.in_group_end, totals.outside));
}

}  // namespace

int main(int argc, char** argv) {
  inline_prof::gpu_test::nccl_calls_are_unsaid = argc == 2 && std::strcmp(argv[1], "--unsaid") == 0;
  inline_prof::gpu_test::skip_without_gpu();
  Answers answers;
  const std::string complaint = watch_launches();
  if (!complaint.empty()) {
    std::fprintf(stderr, "skipped: CUPTI: %s\n", complaint.c_str());
    return kSkipped;
  }
  Totals totals;
  try {
    const NcclCalls nccl;
    nccl.each([&](const NcclCase& each, const std::function<void()>& make) {
      look_at(answers, nccl, each, make, totals);
    });
    if (totals.inside + totals.outside == 0) {
      std::fprintf(stderr, "skipped: %d ranks launch no kernel, they copy\n", nccl.ranks());
      return kSkipped;
    }
    judge(answers, totals, nccl.ranks());
  } catch (const Refused& error) {
    answers.expect(false, text_of("43: %s", error.what()));
  }
  return answers.exit_status();
}
