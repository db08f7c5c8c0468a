#include "driver/user_object.hpp"

#include "driver/call.hpp"
#include "driver/host_clock.hpp"

#include <algorithm>
#include <climits>
#include <memory>
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

using namespace simgpu;

namespace {

UserObject& object_of(Simulator& s, CUuserObject handle) {
  auto* object = reinterpret_cast<UserObject*>(handle);
  require_value(object != nullptr && s.user_objects.contains(object));
  return *object;
}

// "Must be nonzero and not larger than INT_MAX."
void require_count(unsigned count) {
  require_value(count > 0 && count <= INT_MAX);
}

}  // namespace

SIMGPU_CALL(cuUserObjectCreate, cuUserObjectCreate_v11030, kOther, object, data, destroy,
            references, flags) {
  require(object);
  require_value(destroy != nullptr);
  require_count(references);
  // "it is required to pass ::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC"
  require_value(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  auto owned = std::make_unique<UserObject>(data, destroy, references);
  *object = reinterpret_cast<CUuserObject>(owned.get());
  UserObject* key = owned.get();
  s.user_objects.emplace(key, std::move(owned));
}

SIMGPU_CALL(cuUserObjectRetain, cuUserObjectRetain_v11030, kOther, object, count) {
  require_count(count);
  object_of(s, object).retain(count);
}

SIMGPU_CALL(cuUserObjectRelease, cuUserObjectRelease_v11030, kOther, object, count) {
  require_count(count);
  release(s.user_objects, object_of(s, object), count);
}

SIMGPU_CALL(cuGraphRetainUserObject, cuGraphRetainUserObject_v11030, kOther, graph, object, count,
            flags) {
  require_count(count);
  require_value(flags == 0 || flags == CU_GRAPH_USER_OBJECT_MOVE);
  Graph& owner = s.graph(graph);
  UserObject& retained = object_of(s, object);
  // "transfers references from the calling thread, rather than create new references."
  if (flags != CU_GRAPH_USER_OBJECT_MOVE) retained.retain(count);
  owner.references.adopt(s.user_objects, retained, count);
}

SIMGPU_CALL(cuGraphReleaseUserObject, cuGraphReleaseUserObject_v11030, kOther, graph, object,
            count) {
  require_count(count);
  require_value(s.graph(graph).references.release(object_of(s, object), count));
}
