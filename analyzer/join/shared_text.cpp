#include "join/shared_text.hpp"

#include <mutex>
#include <unordered_set>

namespace inline_prof::join {
namespace {

// Never destroyed, since rows may be looked at until the very end.
const std::string* find_or_add(std::string_view text) {
  static std::mutex& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return &*texts.emplace(text).first;  // elements of a set keep their place
}

}  // namespace

SharedText::SharedText(std::string_view text) {
  static const std::string* const empty = find_or_add({});
  // Rows come in the order of their files' events, so that the last text is often the next one.
  static thread_local const std::string* last = empty;
  if (text.empty()) {
    text_ = empty;
    return;
  }
  if (*last != text) last = find_or_add(text);
  text_ = last;
}

}  // namespace inline_prof::join
