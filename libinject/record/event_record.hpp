// One event of prof.json, and its samples.
#pragma once

#include "watch/history.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace inline_prof::record {

// A list has one number for each dimension.
using OpValue = std::variant<std::int64_t, std::string, bool, std::vector<std::int64_t>>;

struct Op {
  std::string kind;  // a name from op_kind.hpp
  std::vector<std::pair<std::string, OpValue>> attributes;
  std::string source;  // who described it: "PROFILE_OP", "cublasGemmEx"
};

struct LaunchShape {
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> cluster{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  int static_shared_bytes = 0;
  int registers = 0;
  int max_blocks_per_sm = 0;  // 0: unknown
};

// Extra information that the application has passed with a label; most samples have none.
struct ExtraInfos {
  std::string start;
  std::string stop;
};

struct Sample {
  float measured_ms = 0;  // the pair's own time, never corrected
  float offset_ms = 0;    // from the iteration's origin event; negative on other streams at times
  std::int64_t iteration = 0;
  std::int8_t tight = -1;  // 1, 0, or -1: not known
  float after_wait_us =
      -1;  // since the launching thread waited for the device; below 0: it has not
  std::uint32_t correlation_id = 0;  // CUPTI's, of the launch; 0: not known, or several launches
  std::unique_ptr<ExtraInfos> extra;
};

// The kind of an event, unless it is a kernel or a label on a stream; names in prof_writer.cpp.
enum class Flag : std::uint8_t {
  kAnyOccurrence,  // samples come from any of its occurrences
  kGraphNode,      // kernels inside a CUDA graph
  kGraphChild,     // a graph inside a CUDA graph
  kGraphWhole,     // a whole CUDA graph
  kRecaptured,     // captured anew in each iteration
  kNotMeasurable,
  kPdlRemoved,  // it may overlap with a neighbour, but not while it is timed
};

// Application threads write it, the writer thread reads it. Only `calls` and the samples change
// once the event is in an EventList.
struct EventRecord {
  std::string event_name;
  std::string layer_name;
  std::vector<std::string> kernel_names;
  int device_id = 0;
  const void* stream = nullptr;
  int stream_index = 0;
  std::int64_t start_index = 0;
  std::int64_t end_index = 0;
  int occurrence = 0;
  std::uint32_t launch_occurrence = 0;  // of its first kernel, or of the label
  int phase = 0;                        // index in RunRecord::phases
  std::string class_name;               // of launches that are alike; empty: not known
  bool is_copy = false;   // no kernel: a copy, a fill, or a stream's operation on memory
  bool spans_op = false;  // several launches of one library call, timed from first to last
  int first_node = -1;    // of kernels inside a graph: places in ExecutableGraph::nodes
  int last_node = -1;
  std::uint8_t flags = 0;            // bits of Flag; changed with RunRecord::mutex held
  std::string reason;                // why it is not timed as others are; the same mutex
  std::optional<LaunchShape> shape;  // of the first launch; labels have none
  std::unique_ptr<Op> op;
  // Samples since it was characterised, uncorrected as all are; RunRecord::mutex.  Null: none.
  std::unique_ptr<watch::History> history;

  std::atomic<std::uint64_t> calls{1};
  // The label was still open when the next iteration began.
  std::atomic<bool> was_left_open{false};
  // A sample was of a launch with another grid than `shape` has.
  std::atomic<bool> has_other_grids{false};
  // Launches in their turn: with the grid of `shape`, with another one, and those of the latter
  // since the last of the former.
  std::atomic<int> same_grids{0};
  std::atomic<int> other_grids{0};
  std::atomic<int> other_grids_in_a_row{0};

  void add_flag(Flag flag) {
    flags |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(flag));
  }
  [[nodiscard]] bool has(Flag flag) const {
    return ((flags >> static_cast<unsigned>(flag)) & 1U) != 0;
  }
  [[nodiscard]] bool is_inside_graph() const { return first_node >= 0; }

  // True if a launch in its turn is not to be a sample. An iteration that evaluates, too, has
  // something else in this place: at most two of another grid in a row, and a fifth of all launches
  // (a kernel whose grid varies more often is measured with all its grids), if eight samples or
  // more are wanted.
  [[nodiscard]] bool passes_over(bool has_other_grid) {
    if (!has_other_grid) {
      same_grids.fetch_add(1, std::memory_order_relaxed);
      other_grids_in_a_row.store(0, std::memory_order_relaxed);
      return false;
    }
    const int in_a_row = 1 + other_grids_in_a_row.fetch_add(1, std::memory_order_relaxed);
    const int others = 1 + other_grids.fetch_add(1, std::memory_order_relaxed);
    const bool is_rare = others <= 2 || 4 * others <= same_grids.load(std::memory_order_relaxed);
    return in_a_row <= 2 && is_rare && capacity_ >= 8;
  }

  // Makes room for `capacity` samples, whose memory is not touched before they are taken. Only the
  // first call has an effect.
  void reserve(std::uint32_t capacity) {
    if (capacity_ != 0) return;
    samples_.reserve(capacity);
    capacity_ = capacity;
  }
  // Returns false if it is full. One writer at a time.
  bool add(Sample sample) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == capacity_) return false;
    if (count == samples_.size()) {
      samples_.push_back(std::move(sample));
    } else {
      samples_[count] = std::move(sample);
    }
    count_.store(count + 1, std::memory_order_release);
    return true;
  }
  // Drops the samples of iterations after `last`. Called with RunRecord::mutex held.
  void forget_samples_after(std::int64_t last) {
    std::uint32_t count = count_.load(std::memory_order_relaxed);
    while (count > 0 && samples_[count - 1].iteration > last)
      --count;
    count_.store(count, std::memory_order_release);
  }
  [[nodiscard]] std::uint32_t sample_count() const {
    return count_.load(std::memory_order_acquire);
  }
  // Returns those that are there now.
  [[nodiscard]] std::span<const Sample> samples() const {
    return {samples_.data(), sample_count()};
  }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

 private:
  std::vector<Sample> samples_;  // never moves; those behind `count_` are used again
  std::uint32_t capacity_ = 0;
  std::atomic<std::uint32_t> count_{0};
};

// The list of events, in the order of their first launch. It only grows and never moves an event,
// so readers need no lock.
class EventList {
 public:
  // 65536: a step of a thousand layers with a few dozen launches each. More are counted as not
  // seen.
  static constexpr std::size_t kCapacity = 65536;

  // Returns null if the list is full. One caller at a time.
  EventRecord* add(std::unique_ptr<EventRecord> event) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count >= kCapacity) return nullptr;
    if (!events_) events_ = std::make_unique<std::unique_ptr<EventRecord>[]>(kCapacity);
    events_[count] = std::move(event);
    count_.store(count + 1, std::memory_order_release);
    return events_[count].get();
  }
  // Hides the events that are `unwanted`. They are kept, since samples may still arrive. Called
  // only while there are no readers.
  template <typename Predicate>
  void remove_if(const Predicate& unwanted) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (unwanted(*events_[i])) {
        removed_.push_back(std::move(events_[i]));
      } else {
        std::swap(events_[kept++], events_[i]);
      }
    }
    count_.store(kept, std::memory_order_release);
  }

  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] EventRecord& operator[](std::size_t i) const { return *events_[i]; }

  // For loops over the events that are in the list when the loop begins.
  struct Iterator {
    const std::unique_ptr<EventRecord>* at;
    EventRecord& operator*() const { return **at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  [[nodiscard]] Iterator begin() const { return {events_.get()}; }
  [[nodiscard]] Iterator end() const { return {events_.get() + size()}; }

 private:
  std::unique_ptr<std::unique_ptr<EventRecord>[]> events_;
  std::vector<std::unique_ptr<EventRecord>> removed_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace inline_prof::record
