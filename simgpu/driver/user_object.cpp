#include "driver/user_object.hpp"

#include "driver/host_calls.hpp"

#include <algorithm>
#include <utility>

namespace simgpu {

bool UserObject::release(std::uint64_t count) {
  references_ -= std::min(references_, count);
  if (references_ > 0) return false;
  auto call = std::make_shared<HostCall>();
  call->function = destroy_;
  call->data = data_;
  start_host_call(call);
  return true;
}

void release(UserObjects& objects, UserObject& object, std::uint64_t count) {
  if (object.release(count)) objects.erase(&object);
}

UserReferences& UserReferences::operator=(UserReferences&& other) noexcept {
  if (this == &other) return *this;
  clear();
  objects_ = other.objects_;
  counts_ = std::exchange(other.counts_, {});
  return *this;
}

void UserReferences::adopt(UserObjects& objects, UserObject& object, std::uint64_t count) {
  objects_ = &objects;
  counts_[&object] += count;
}

bool UserReferences::release(UserObject& object, std::uint64_t count) {
  const auto at = counts_.find(&object);
  if (at == counts_.end() || at->second < count) return false;
  at->second -= count;
  if (at->second == 0) counts_.erase(at);
  simgpu::release(*objects_, object, count);
  return true;
}

void UserReferences::clear() {
  for (const auto& [object, count] : std::exchange(counts_, {}))
    simgpu::release(*objects_, *object, count);
}

void UserReferences::add_copies_of(const UserReferences& other) {
  if (other.empty()) return;
  objects_ = other.objects_;
  for (const auto& [object, count] : other.counts_) {
    object->retain(count);
    counts_[object] += count;
  }
}

}  // namespace simgpu
