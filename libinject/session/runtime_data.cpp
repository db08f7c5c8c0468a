#include "session/runtime_data.hpp"

#include "session/session.hpp"

#include <algorithm>
#include <string_view>

namespace inline_prof::session {
namespace {

// A run may request data in every iteration; beyond this the file would be unusable.
constexpr std::size_t kMostPerThread = 1'000'000;

}  // namespace

int record_data(Session& session, const char* label, void* stream, const char* data,
                int device_id) {
  if (label == nullptr) return 0;
  // The work of an iteration, as inline_prof.samples, is a fact of the run: its last value is kept.
  const bool is_fact = std::string_view(label).starts_with("inline_prof.");
  const std::int64_t after_warmup = session.iteration() - session.settings.warmup;
  if (!is_fact && (after_warmup < 1 || after_warmup > session.config.data_iterations)) return 0;
  if (data == nullptr) return 1;

  const std::lock_guard lock(session.run.mutex);
  auto& all = session.run.runtime_data;
  auto mine = std::find_if(all.begin(), all.end(), [&](const record::RuntimeData& known) {
    return known.name == label && known.stream == stream && known.device_id == device_id;
  });
  if (mine == all.end()) {
    mine = all.insert(all.end(),
                      {.name = label, .device_id = device_id, .stream = stream, .data = {}});
  }
  if (is_fact) mine->data.clear();
  if (mine->data.size() < kMostPerThread) mine->data.emplace_back(data);
  return 1;
}

}  // namespace inline_prof::session
