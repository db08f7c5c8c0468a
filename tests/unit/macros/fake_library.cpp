#include "fake_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;  // of the two lists
std::deque<std::string> calls;
std::vector<const inline_prof_site*> sites;
std::atomic<int> lookups{0};
uint32_t gate = 1;  // read by the macros without a lock, hence the atomic built-ins

const char* or_dash(const char* text) {
  return text == nullptr ? "-" : text;
}

std::size_t number_of(inline_prof_site* site) {
  if (site == nullptr) return 0;
  const std::scoped_lock lock(mutex);
  const auto found = std::find(sites.begin(), sites.end(), site);
  const auto number = static_cast<std::size_t>(found - sites.begin()) + 1;
  if (found == sites.end()) sites.push_back(site);
  __atomic_store_n(&site->gate, &gate, __ATOMIC_RELEASE);
  return number;
}

template <typename... Values>
void write_down(fmt::format_string<Values...> format, Values&&... values) {
  std::string line = fmt::format(format, std::forward<Values>(values)...);
  const std::scoped_lock lock(mutex);
  calls.push_back(std::move(line));
}

void op(inline_prof_site* site, const char* label, const char* kind,
        const inline_prof_attribute* attributes, int attribute_count) {
  std::string line = fmt::format("op {} site {} {}", label, number_of(site), kind);
  for (int i = 0; i < attribute_count; ++i) {
    const auto& attribute = attributes[i];
    line += attribute.text == nullptr ? fmt::format(" {}={}", attribute.name, attribute.value)
                                      : fmt::format(" {}='{}'", attribute.name, attribute.text);
  }
  write_down("{}", line);
}

inline_prof_abi table{
    .size = sizeof(inline_prof_abi),
    .initialize =
        [](int use_cuda_graph, int exit_when_finished) {
          write_down("initialize {} {}", use_cuda_graph, exit_when_finished);
        },
    .iteration = [] { write_down("iteration"); },
    .record =
        [](inline_prof_site* site, const char* label, void* stream, int device_id,
           int could_be_in_cuda_graph, const char* extra_info) {
          write_down("record {} site {} stream {} device {} graph {} extra {}", label,
                     number_of(site), stream, device_id, could_be_in_cuda_graph,
                     or_dash(extra_info));
        },
    .record_data =
        [](const char* label, void* stream, const char* data, int device_id) {
          write_down("record_data {} stream {} data {} device {}", label, stream, or_dash(data),
                     device_id);
          return 1;
        },
    .scope_push = [](const char* label,
                     void* stream) { write_down("push {} stream {}", label, stream); },
    .scope_pop = [] { write_down("pop"); },
    .unit_test_start = [](const char* test_name) { write_down("unit_test_start {}", test_name); },
    .unit_test_stop = [] { write_down("unit_test_stop"); },
    .op = op,
    .wants = [] { return __atomic_load_n(&gate, __ATOMIC_RELAXED); },
    .layer_set = [](uint64_t id,
                    const char* path) { write_down("layer_set {} {}", id, or_dash(path)); },
    .layer_end = [](uint64_t id) { write_down("layer_end {}", id); },
    .layer_follow =
        [](uint64_t id, const char* const* path) {
          write_down("layer_follow {} {}", id, or_dash(path == nullptr ? nullptr : *path));
        },
    .call_open = [] { write_down("call_open"); },
    .call_launches = [] { return 0; },
    .call_close =
        [](const char* name, const char* layer, const inline_prof_work*, int work_count) {
          write_down("call_close {} {} {}", or_dash(name), or_dash(layer), work_count);
        },
    .wake = [](int (*)(int (*)(void*), void*), int (*)(void*)) {}};

constexpr inline_prof_fake kControl{
    .call_count =
        [] {
          const std::scoped_lock lock(mutex);
          return static_cast<int>(calls.size());
        },
    .call =
        [](int index) {
          const std::scoped_lock lock(mutex);
          return calls.at(static_cast<std::size_t>(index)).c_str();
        },
    .clear =
        [] {
          const std::scoped_lock lock(mutex);
          calls.clear();
          sites.clear();
          table.size = sizeof table;
          __atomic_store_n(&gate, 1, __ATOMIC_RELAXED);
        },
    .set_gate = [](uint32_t open) { __atomic_store_n(&gate, open, __ATOMIC_RELAXED); },
    .set_size = [](uint64_t size) { table.size = size; },
    .lookup_count = []() -> int { return lookups; }};

}  // namespace

FAKE_EXPORT const inline_prof_abi* inline_prof_abi_v1() {
  ++lookups;
  return &table;
}

FAKE_EXPORT const inline_prof_fake* fake_library_control() {
  return &kControl;
}
