#include "labels/label.hpp"

#include "sys/large_stack.hpp"
#include "sys/locked.hpp"
#include "sys/log.hpp"

#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>

namespace inline_prof::labels {
namespace {

struct LabelBook {
  std::unordered_map<std::string, std::unique_ptr<Label>> labels;
  bool gates_open = true;
  bool complained_of_ending = false;
  bool had_no_room = false;
};

// Beyond this the names probably contain numbers, and are no labels.
constexpr std::size_t kMostLabels = 16'384;

Label* label_in(LabelBook& labels, const std::string& name) {
  if (labels.labels.size() >= kMostLabels && !labels.labels.contains(name)) {
    labels.had_no_room = true;
    return nullptr;
  }
  auto& label = labels.labels[name];
  if (!label) {
    label = std::make_unique<Label>();
    label->name = name;
    label->open_gate(labels.gates_open);
  }
  return label.get();
}

constexpr std::string_view kStart = ".start";
constexpr std::string_view kStop = ".stop";

const LabelEnd* end_named(const char* text) {
  const sys::Locked<LabelBook> labels;
  const std::string_view whole(text);
  const bool is_start = whole.ends_with(kStart);
  const std::size_t ending = is_start ? kStart.size() : kStop.size();
  if ((!is_start && !whole.ends_with(kStop)) || whole.size() == ending) {
    if (!labels->complained_of_ending) {
      sys::say(sys::LogLevel::kWarning,
               "PROFILE_RECORD(\"%s\"): expected a name that ends in .start or .stop", text);
    }
    labels->complained_of_ending = true;
    return nullptr;
  }
  const Label* label = label_in(*labels, std::string(whole.substr(0, whole.size() - ending)));
  if (label == nullptr) return nullptr;
  return is_start ? &label->start : &label->stop;
}

// The gate of call sites that are not needed any more.
constinit std::uint32_t shut_for_ever = 0;

}  // namespace

void open_all_gates(bool open) {
  const sys::Locked<LabelBook> labels;
  labels->gates_open = open;
  for (const auto& [name, label] : labels->labels)
    label->open_gate(open);
}

std::string met_label_names() {
  const sys::Locked<LabelBook> labels;
  std::string text;
  sys::on_large_stack([&] {  // a tree is cleared level by level
    std::set<std::string_view> names;
    for (const auto& [name, label] : labels->labels)
      names.insert(name);
    for (const std::string_view name : names)
      text.append(text.empty() ? "" : ", ").append(name);
  });
  return text;
}

bool had_no_room() {
  const sys::Locked<LabelBook> labels;
  return labels->had_no_room;
}

Label* label_named(const std::string& name) {
  const sys::Locked<LabelBook> labels;
  return label_in(*labels, name);
}

const LabelEnd* end_at(inline_prof_site* site, const char* text) {
  if (site != nullptr) {
    const void* known = __atomic_load_n(&site->label, __ATOMIC_ACQUIRE);
    if (known != nullptr) return static_cast<const LabelEnd*>(known);
  }
  const LabelEnd* end = end_named(text);
  if (end == nullptr) {
    shut(site);
  } else if (site != nullptr) {
    // The gate is set last: a thread that sees it also sees the label.
    __atomic_store_n(&site->label, const_cast<LabelEnd*>(end), __ATOMIC_RELEASE);
    __atomic_store_n(&site->gate, &end->label->gate, __ATOMIC_RELEASE);
  }
  return end;
}

void shut(inline_prof_site* site) noexcept {
  if (site != nullptr) __atomic_store_n(&site->gate, &shut_for_ever, __ATOMIC_RELEASE);
}

}  // namespace inline_prof::labels
