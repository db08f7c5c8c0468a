#include "join/rows/shared_text.hpp"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace inline_prof::join {
namespace {

// Never destroyed, since rows may be looked at until the very end.
const std::string* find_or_add(std::string_view text) {
  // A thread finds a text that it has met before without waiting for the others.
  static thread_local std::unordered_map<std::string_view, const std::string*> known;
  if (const auto it = known.find(text); it != known.end()) return it->second;
  static std::mutex& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string* const shared = &*texts.emplace(text).first;  // elements keep their place
  known.emplace(*shared, shared);
  return shared;
}

}  // namespace

SharedText::SharedText(std::string_view text) {
  static const std::string* const empty = find_or_add({});
  text_ = text.empty() ? empty : find_or_add(text);
}

}  // namespace inline_prof::join
