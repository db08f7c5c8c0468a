// A user's request: the three files that may hold it, as plain values. Every member has an
// initialiser, so that an initialiser list may name some of them only.
//
// The formats and their meaning are in docs/schedule.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inline_prof::schedule {

enum class Mode : std::uint8_t { kFineGrained, kOneShot, kData, kUnitTest };
enum class Policy : std::uint8_t { kInOrder, kInterleaved, kAdaptive };

// The words for them in files, in the environment and on command lines. `..._from_name` returns
// nothing for any other word.
[[nodiscard]] std::string_view mode_name(Mode mode);
[[nodiscard]] std::optional<Mode> mode_from_name(std::string_view name);
[[nodiscard]] std::string_view policy_name(Policy policy);
[[nodiscard]] std::optional<Policy> policy_from_name(std::string_view name);

// Limits on input. All are far above any real request; they keep a wrong file from taking the
// application's memory.
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10U;
inline constexpr std::int64_t kMaxSamples = 4'000'000;  // at 4 ms an iteration: 4.4 hours
inline constexpr std::size_t kMaxNames = 1'000'000;
inline constexpr std::int64_t kMaxWarmup = 1'000'000'000;
inline constexpr std::int64_t kMaxRepeat = 1'000'000;
inline constexpr std::int64_t kMaxIteration = 1'000'000'000'000;  // sums of three stay exact

// An event that can be measured.
struct EventKey {
  std::string event{};
  std::string layer{};  // empty: any layer
  int occurrence = 0;   // how often the event came before on

  bool operator==(const EventKey&) const = default;
  auto operator<=>(const EventKey&) const = default;
};

// `"fc.fprop" occurrence 2 in layer "TopMLP.fc5"`, for messages.
[[nodiscard]] std::string describe(const EventKey& key);

// prof.schedule: one line is one sample.
struct Sample {
  std::int64_t iteration = 0;  // counted from 1
  EventKey key{};

  bool operator==(const Sample&) const = default;
};

struct SampleList {
  std::int64_t warmup = 0;  // iterations before the first that may be measured
  std::vector<Sample> samples{};

  bool operator==(const SampleList&) const = default;
};

// prof.events: only these are measured, in every layer, at every occurrence.
struct EventNames {
  std::vector<std::string> names{};

  bool operator==(const EventNames&) const = default;
};

struct EventOccurrence {
  std::string event{};
  int occurrence = 0;

  bool operator==(const EventOccurrence&) const = default;
};

// schedule.json, one entry of "layers".
struct LayerEvents {
  std::string layer{};
  std::vector<std::string> forward_events{};
  std::vector<std::string> backward_events{};
  int forward_occurrence = 0;             // of each of forward_events
  int backward_occurrence = 0;            // of each of backward_events
  std::vector<EventOccurrence> events{};  // further ones, each with its own
  bool enabled = true;

  bool operator==(const LayerEvents&) const = default;
};

// schedule.json, one entry of "patterns".  Empty globs are not there; at least one is given, and an
// event must fit all that are given.
struct Pattern {
  std::string match{};   // glob on LAYER.EVENT, on EVENT alone where there is no layer
  std::string kernel{};  // glob on the kernel's name
  std::string op{};      // operation kind: information for the reader, no part in the choice
  bool enabled = true;   // false: what fits is not measured, whatever else asks for it

  bool operator==(const Pattern&) const = default;
};

// The settings of a request; an empty one is decided elsewhere (settings.hpp).
struct Choices {
  std::optional<std::int64_t> warmup{};  // iterations, up to kMaxWarmup
  std::optional<std::int64_t> repeat{};  // samples of each event, 1 to kMaxRepeat
  std::optional<Mode> mode{};
  std::optional<Policy> policy{};
  std::optional<std::uint64_t> seed{};
  std::optional<double> budget_percent{};  // of the iteration time, above 0 and up to 100
  std::optional<double> target_ci{};       // half width over median, between 0 and 1

  bool operator==(const Choices&) const = default;
};

// schedule.json
struct Spec : Choices {
  std::vector<LayerEvents> layers{};
  std::vector<Pattern> patterns{};
  std::vector<std::string> warnings{};  // whole messages, for the log

  bool operator==(const Spec&) const = default;
};

using Request = std::variant<std::monostate /* everything met */, SampleList, EventNames, Spec>;

// Returns the events of the layers that are not switched off, in the order in which the original
// profiler scheduled its dictionary: layer by layer, as written; in a layer forward, backward, the
// others.
[[nodiscard]] std::vector<EventKey> listed_events(const Spec& spec);

// Returns false if `spec` only says how to measure, or what to leave out; then everything else is
// measured.
[[nodiscard]] bool asks_for_events(const Spec& spec);

}  // namespace inline_prof::schedule
