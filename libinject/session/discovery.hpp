// The warm-up: which events the kernels, labels and graphs of an iteration are.
#pragma once

#include "record/event_record.hpp"
#include "session/label_events.hpp"
#include "session/launch_site.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inline_prof::libraries {
struct OpFrame;
}

namespace inline_prof::session {

class Session;

// Launches inside a label, beside further labels.
struct LabelInside {
  std::vector<record::EventRecord*> ops;  // library calls
  int other_launches = 0;
};

// With the session's mutex held, unless noted.
class Discovery {
 public:
  explicit Discovery(Session& session) : session_(session) {}

  // Both take the mutex.
  void meet(const hook::Launch& launch, bool is_captured);
  // Forgets what was launched so far, if no iteration has begun.
  void make_room_before_iterations();

  // Events are discovered anew, from this iteration on.
  void begin_anew();
  // Number of that discovery.
  [[nodiscard]] int number() const noexcept { return number_; }
  // Events were forgotten as this iteration began: true once.
  [[nodiscard]] bool take_fresh() noexcept { return std::exchange(is_fresh_, false); }
  // Every launch of this iteration is met: none is known from an earlier one.
  [[nodiscard]] bool is_first_iteration() const noexcept { return is_fresh_; }
  // An iteration of the warm-up begins.  Once the application has named the launches of one, its
  // names are not wanted until something else is launched, which waits for an iteration with names;
  // the last one is.
  void iteration_starts(std::int64_t position);
  // Needs no mutex.
  [[nodiscard]] bool are_names_wanted() const noexcept {
    return are_names_wanted_.load(std::memory_order_relaxed);
  }
  // Another phase begins: its events come after those that are known.
  void begin_phase() noexcept { first_index_ = next_index_; }

  // `op_name`: of the library call that begins with this launch; empty: none.  Null if the list is
  // full.
  record::EventRecord* add_event(LaunchSite& site, std::uint32_t launch_occurrence,
                                 const std::string& op_name);
  // Adds an event of a launch of `site` to the run's list.  Null if that is full.
  record::EventRecord* add(std::unique_ptr<record::EventRecord> event, LaunchSite& site,
                           std::uint32_t launch_occurrence);
  [[nodiscard]] std::int64_t next_index() noexcept { return next_index_++; }
  void set_indices(record::EventRecord& event) noexcept {
    event.start_index = next_index();
    event.end_index = next_index();
  }
  // Counts the events of one name on one stream, kernels' by the kernel.
  [[nodiscard]] int next_occurrence(const std::string& name, const StreamInfo& stream);
  [[nodiscard]] const std::string& event_name_of(const KernelInfo& kernel, const StreamInfo& stream,
                                                 int& occurrence);

  using Insides = std::unordered_map<const record::EventRecord*, LabelInside>;
  [[nodiscard]] Insides& insides() noexcept { return insides_; }

 private:
  // One kernel on one stream: its events, whichever of its handles is launched.
  struct KernelOnStream {
    std::string event_name;
    int handles = 0;
    int next_occurrence = 0;
  };

  [[nodiscard]] std::string unique_event_name(const KernelInfo& kernel, const StreamInfo& stream);
  void meet_before_iterations(LaunchSite& site);
  void meet_in_warmup(LaunchSite& site, const hook::Launch& launch, bool is_captured);
  void meet_inside_op(LaunchSite& site, const hook::Launch& launch, std::uint32_t occurrence,
                      libraries::OpFrame& op, const LabelEvents::Open* label);

  Session& session_;
  std::unordered_map<std::string, int> kernel_event_names_;  // how many kernels share a name
  std::map<std::pair<const KernelInfo*, int>, KernelOnStream> kernels_on_streams_;
  std::map<std::pair<std::string, int>, int> op_occurrences_;  // by name and stream index
  Insides insides_;
  std::int64_t next_index_ = 0;
  std::int64_t first_index_ = 0;  // next_index_ as the phase began
  int number_ = 0;
  bool is_fresh_ = false;
  bool waits_for_names_ = false;
  std::atomic<bool> are_names_wanted_{true};
};

void add_kernel_name(record::EventRecord& event, const std::string& kernel_name);

// Gives a kernel of XLA's its operation, if it has none, and the program's names as its layer.
void describe_by_xla(record::EventRecord& event, const std::string& kernel_name);

}  // namespace inline_prof::session
