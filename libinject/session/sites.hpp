// The launch sites that are known, their kernels and their events.  With the session's mutex held,
// unless noted.
#pragma once

#include "launch/kernel_handles.hpp"
#include "session/launch_site.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace inline_prof::session {

class Session;

class Sites {
 public:
  explicit Sites(Session& session) : session_(session) {}

  // In order of first appearance.
  [[nodiscard]] const std::vector<std::unique_ptr<LaunchSite>>& all() const noexcept {
    return sites_;
  }
  // Null if it is not known.
  [[nodiscard]] LaunchSite* find(const void* function, CUstream stream) const noexcept;
  // The same, added if missing; null if there is no room, or the driver does not know the stream.
  [[nodiscard]] LaunchSite* of_launch(const hook::Launch& launch);
  [[nodiscard]] LaunchSite* of_label(labels::Label& label, CUstream stream);
  // The site has another function or stream from now on.  False if there is no room.
  [[nodiscard]] bool move(LaunchSite& site, const void* function, const void* key);

  // Null if the event's launches are not known in this phase.
  [[nodiscard]] LaunchSite* of_event(const record::EventRecord* event) const noexcept;
  void set_event(const record::EventRecord* event, LaunchSite& site, LaunchRange inside = {}) {
    of_event_[event] = {.site = &site, .inside = inside};
  }
  // The launch lies inside the label that the event is of.
  void add_to_label(const record::EventRecord* event, LaunchSite& site, std::uint32_t occurrence);
  // Null unless the event is of a label whose launches can stand in for its start and stop: their
  // kernels are launched equally often in each iteration.
  [[nodiscard]] const LaunchRange* range_of(const record::EventRecord* event) const noexcept;
  struct OfEvent {
    LaunchSite* site = nullptr;
    LaunchRange inside{};
  };
  using EventSites = std::unordered_map<const record::EventRecord*, OfEvent>;
  [[nodiscard]] EventSites take_events() { return std::exchange(of_event_, {}); }
  // Removes events of the present phase from the run's list.
  void forget_events(const std::function<bool(const record::EventRecord&)>& unwanted);

  [[nodiscard]] const KernelInfo* kernel_of(CUfunction function);
  // The kernel is kept until one of its name is loaded again.
  void unload(const KernelInfo* kernel);
  [[nodiscard]] std::vector<const KernelInfo*> kernels_of(const void* module) const;

  // An iteration ends: counts go to the totals.
  void fold_counts();
  void begin_counts() noexcept;
  // Launches from now on count as new.
  void forget();
  // The same before the first iteration: there was no more room.
  void forget_what_was_tried();
  [[nodiscard]] bool some_were_forgotten() const noexcept { return some_were_forgotten_; }

  // More kernels, streams or events than there is room for.  Needs no mutex.
  void note_full() noexcept { is_full_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool are_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] LaunchSite* add(const Launched& launched, CUstream stream, const void* key);
  [[nodiscard]] timer::LaunchSlot* free_slot(const void* function, const void* key);

  Session& session_;
  std::vector<std::unique_ptr<LaunchSite>> sites_;
  EventSites of_event_;
  std::map<launch::KernelIdentity, std::unique_ptr<KernelInfo>> kernels_;
  std::vector<std::unique_ptr<KernelInfo>> unloaded_kernels_;
  int iterations_ = 0;  // counted since sites were forgotten
  bool some_were_forgotten_ = false;
  std::atomic<bool> is_full_{false};
};

// The launch as the occupancy calculator and prof.json have it.
[[nodiscard]] record::LaunchShape shape_of(const hook::Launch& launch, const KernelInfo& kernel);

}  // namespace inline_prof::session
