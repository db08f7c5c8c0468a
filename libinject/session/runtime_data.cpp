#include "session/runtime_data.hpp"

#include "session/state.hpp"

#include <algorithm>

namespace inline_prof::hook {
namespace {

// A run may request data in every iteration; beyond this the file would be unusable.
constexpr std::size_t kMostPerThread = 1'000'000;

}  // namespace

int record_data(const char* label, void* stream, const char* data, int device_id) {
  State* run = state();
  if (run == nullptr || label == nullptr) return 0;
  const std::int64_t after_warmup = run->iteration.load() - run->settings.warmup;
  if (after_warmup < 1 || after_warmup > run->config.data_iterations) return 0;
  if (data == nullptr) return 1;

  const std::lock_guard lock(run->run.mutex);
  auto& all = run->run.runtime_data;
  auto mine = std::find_if(all.begin(), all.end(), [&](const record::RuntimeData& known) {
    return known.name == label && known.stream == stream && known.device_id == device_id;
  });
  if (mine == all.end()) {
    mine = all.insert(all.end(),
                      {.name = label, .device_id = device_id, .stream = stream, .data = {}});
  }
  if (mine->data.size() < kMostPerThread) mine->data.emplace_back(data);
  return 1;
}

}  // namespace inline_prof::hook
