#pragma once

#include "model/units.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::model {

// The resource that keeps an operation from being faster.
enum class Bound { kCompute, kMemory, kLink, kLaunch };

[[nodiscard]] constexpr std::string_view bound_name(Bound bound) {
  constexpr std::array<std::string_view, 4> names{"compute", "memory", "link", "launch"};
  return names.at(static_cast<std::size_t>(bound));
}

// From the words that models have for it, which are finer.
[[nodiscard]] constexpr Bound bound_from_name(std::string_view name) {
  if (name == bound_name(Bound::kCompute)) return Bound::kCompute;
  if (name == "memory" || name == "l2") return Bound::kMemory;
  if (name == "bandwidth") return Bound::kLink;  // of a collective
  return Bound::kLaunch;
}

// The shares of held-out measurements that were as slow, and as fast, beside their predictions:
// one-sided p-values.
struct TailProbability {
  double slower = 1.0, faster = 1.0;
};

struct Prediction {
  Seconds time;
  Bound bound = Bound::kLaunch;
  std::optional<std::pair<Seconds, Seconds>>
      interval90;          // empty: the model has no error of its own
  std::string model;       // e.g. "roofline"
  std::string parameters;  // what it was fitted on; empty: it has no parameters
  // The time of the best kernel that is known for the operation, or what no kernel can do without;
  // empty: nothing better is known.
  std::optional<Seconds> attainable;
  std::string remedy;            // how to get there; empty: nothing is known
  bool is_extrapolated = false;  // nothing was measured that is like the operation
  // How likely a measured time is; empty: not known.
  std::function<TailProbability(Seconds measured)> tail_probability;
};

// A prediction, or the reason why there is none.
struct Outcome {
  std::optional<Prediction> prediction;
  std::string reason;  // empty if there is a prediction

  static Outcome none(std::string why) { return {std::nullopt, std::move(why)}; }
};

}  // namespace inline_prof::model
