#include "record/metrics_text.hpp"

#include "base/median.hpp"
#include "base/prometheus.hpp"
#include "record/overhead_measurement.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::record {
namespace {

using base::Gauge;
using base::Labels;

constexpr std::array<std::string_view, 5> kPasses{"forward", "backward", "optimizer", "collective",
                                                  "other"};

// Returns the pass that the operation names, else the one that the words of the label suggest.  A
// named layer without such a word is a module's forward pass.
std::string_view pass_of(const EventRecord& event) {
  std::string words = event.layer_name + "." + event.event_name;
  if (event.op) {
    if (event.op->kind == "collective") return "collective";
    for (const auto& [name, value] : event.op->attributes) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && (name == "pass" || name == "direction")) words = *text;
    }
  }
  const auto has = [&](std::string_view word) { return words.find(word) != std::string::npos; };
  if (has("bprop") || has("backward")) return "backward";
  if (has("fprop") || has("forward")) return "forward";
  if (has("optimizer") || has("update")) return "optimizer";
  return event.layer_name.empty() ? "other" : "forward";
}

// An event with a time, and what encloses it on its stream.
struct Timed {
  const EventRecord* event = nullptr;
  double in_iteration_s = 0;
  bool is_outermost_of_layer = true;
  bool is_leaf = true;
};

class MetricsText {
 public:
  MetricsText(const RunRecord& run, const WriteFacts& facts, const std::string& run_name)
      : run_(run), facts_(facts) {
    labels_ = Labels{{"host", run.host_name}};
    if (run.rank) labels_ = labels_.with("rank", std::to_string(*run.rank));
    labels_ = labels_.with("run", run_name);
  }

  std::string write() {
    gather();
    add_iteration();
    add_passes();
    add_layers();
    add_samples();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Labels labels_of(int device_id) const {
    return labels_.with("gpu", std::to_string(device_id));
  }

  void gather() {
    std::map<std::pair<int, int>, std::vector<Timed>> by_stream;
    for (const EventRecord& event : run_.events) {
      std::vector<float> times_ms;
      for (const Sample& sample : event.samples())
        times_ms.push_back(sample.measured_ms);
      samples_ += times_ms.size();
      if (times_ms.empty()) continue;
      double middle_us = base::median_and_interval95(times_ms).median * 1e3;
      if (event.history && !event.history->bins().empty())
        middle_us = event.history->bins().back().sketch.quantile(0.5) * 1e-3;
      auto calls = static_cast<double>(event.calls.load(std::memory_order_relaxed));
      if (event.has(Flag::kAnyOccurrence))  // these count the whole run
        calls /= std::max(1.0, static_cast<double>(run_.iteration_times.size()));
      const double time_us = std::max(0.0, middle_us - pair_bias_us(run_, event.device_id));
      by_stream[{event.device_id, event.stream_index}].push_back(
          {.event = &event, .in_iteration_s = calls * time_us * 1e-6});
    }
    for (auto& [stream, events] : by_stream) {
      std::ranges::stable_sort(events, [](const Timed& a, const Timed& b) {
        if (a.event->start_index != b.event->start_index)
          return a.event->start_index < b.event->start_index;
        return a.event->end_index > b.event->end_index;
      });
      std::vector<Timed*> open;
      for (Timed& timed : events) {
        while (!open.empty() && open.back()->event->end_index < timed.event->end_index)
          open.pop_back();
        for (Timed* outer : open) {
          outer->is_leaf = false;
          if (outer->event->layer_name == timed.event->layer_name)
            timed.is_outermost_of_layer = false;
        }
        open.push_back(&timed);
      }
      auto& of_device = timed_[stream.first];
      of_device.insert(of_device.end(), events.begin(), events.end());
    }
  }

  void add_iteration() {
    const std::size_t count = run_.iteration_times.size();
    Gauge(out_, "inline_prof_live_iterations", "Iterations that were timed so far.")
        .add(labels_, static_cast<double>(count));
    if (count == 0) return;
    std::vector<float> times_ms;
    for (std::size_t i = count - std::min(count, kRecentIterations); i < count; ++i)
      times_ms.push_back(run_.iteration_times[i]);
    base::MedianAndInterval middle = base::median_and_interval95(times_ms);
    if (run_.watch && !run_.watch->iteration.bins().empty()) {
      middle = {.median = run_.watch->iteration.bins().back().sketch.quantile(0.5) * 1e-6,
                .ci95 = std::nullopt};
    }
    iteration_s_ = middle.median * 1e-3;
    // The iteration times are those of the device with the lowest number.
    int first = timed_.empty() ? 0 : timed_.begin()->first;
    for (const DeviceInfo& device : run_.devices)
      first = std::min(first, device.device_id);
    const Labels labels = labels_of(first);
    Gauge(out_, "inline_prof_live_iteration_seconds",
          "Median time of the last 1024 iterations at most.")
        .add(labels, *iteration_s_);
    if (!middle.ci95) return;
    Gauge(out_, "inline_prof_live_iteration_lower_seconds",
          "Lower end of the 95 % interval of that median.")
        .add(labels, middle.ci95->lower * 1e-3);
    Gauge(out_, "inline_prof_live_iteration_upper_seconds",
          "Upper end of the 95 % interval of that median.")
        .add(labels, middle.ci95->upper * 1e-3);
  }

  void add_passes() {
    if (!iteration_s_ || !(*iteration_s_ > 0)) return;
    Gauge gauge(out_, "inline_prof_live_phase_share_ratio",
                "Time of a phase's measured events over the time of an iteration.");
    for (const auto& [device_id, events] : timed_) {
      std::map<std::string_view, double> seconds;
      for (const Timed& timed : events) {
        if (timed.is_leaf) seconds[pass_of(*timed.event)] += timed.in_iteration_s;
      }
      for (const std::string_view pass : kPasses)
        gauge.add(labels_of(device_id).with("phase", pass), seconds[pass] / *iteration_s_);
    }
  }

  void add_layers() {
    Gauge gauge(out_, "inline_prof_live_layer_seconds",
                "Time of a layer in an iteration, of the 20 largest of each GPU.");
    for (const auto& [device_id, events] : timed_) {
      std::map<std::string_view, double> seconds;
      for (const Timed& timed : events) {
        if (timed.is_outermost_of_layer && !timed.event->layer_name.empty())
          seconds[timed.event->layer_name] += timed.in_iteration_s;
      }
      std::vector<std::pair<std::string_view, double>> layers(seconds.begin(), seconds.end());
      std::ranges::stable_sort(layers, std::greater{},
                               &std::pair<std::string_view, double>::second);
      layers.resize(std::min(layers.size(), kMostLayersInMetrics));
      for (const auto& [layer, time_s] : layers)
        gauge.add(labels_of(device_id).with("layer", layer), time_s);
    }
  }

  void add_samples() {
    const OverheadMeasurement overhead = measure_overhead(run_.overhead_blocks);
    if (overhead.slowdown_percent) {
      Gauge(out_, "inline_prof_live_overhead_ratio",
            "Part by which profiling made iterations longer, as the run itself measured it.")
          .add(labels_, *overhead.slowdown_percent * 0.01);
    }
    const Dropped& dropped = run_.dropped;
    const std::uint64_t missing = dropped.ring_full + dropped.not_ready_at_exit +
                                  dropped.capture_skipped + dropped.stale_graph +
                                  dropped.interleaved_launch + dropped.irregular_iteration +
                                  dropped.destroyed + facts_.cuda_errors;
    Gauge(out_, "inline_prof_live_samples", "Samples that were taken so far.")
        .add(labels_, static_cast<double>(samples_));
    Gauge(out_, "inline_prof_live_samples_missing",
          "Samples that were lost; prof.json has the reasons.")
        .add(labels_, static_cast<double>(missing));
    if (run_.watch) {
      Gauge(out_, "inline_prof_live_changes",
            "Events, layers and iterations that became slower or faster since they are watched.")
          .add(labels_, static_cast<double>(run_.watch->changes_found));
    }
    Gauge(
        out_, "inline_prof_live_complete",
        "1 once the profile is complete: nothing here changes from then on, unless it is watched.")
        .add(labels_, facts_.complete ? 1 : 0);
  }

  const RunRecord& run_;
  const WriteFacts& facts_;
  Labels labels_;
  std::string out_;
  std::uint64_t samples_ = 0;
  std::optional<double> iteration_s_;
  std::map<int, std::vector<Timed>> timed_;  // by device
};

}  // namespace

std::string metrics_text(const RunRecord& run, const WriteFacts& facts,
                         const std::string& run_name) {
  return MetricsText(run, facts, run_name).write();
}

}  // namespace inline_prof::record
