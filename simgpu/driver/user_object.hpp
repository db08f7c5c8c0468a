// User objects: what the host wants to hear the end of.
#pragma once

#include "driver/vendor_cuda.hpp"

#include <cstdint>
#include <map>
#include <memory>

namespace simgpu {

// Its destructor is called by the simulator's own thread for calls into the host: cuda.h,
// cuUserObjectCreate, "they are executed by a shared internal thread".
class UserObject {
 public:
  UserObject(void* data, CUhostFn destroy, std::uint64_t references)
      : data_(data), destroy_(destroy), references_(references) {}

  void retain(std::uint64_t count) { references_ += count; }
  // True if that was the last one: the object is to be forgotten.
  [[nodiscard]] bool release(std::uint64_t count);

 private:
  void* data_;
  CUhostFn destroy_;
  std::uint64_t references_;
};

using UserObjects = std::map<UserObject*, std::unique_ptr<UserObject>>;

// The references that one graph or executable graph owns.
class UserReferences {
 public:
  UserReferences() = default;
  ~UserReferences() { clear(); }
  UserReferences(const UserReferences&) = delete;
  UserReferences& operator=(const UserReferences&) = delete;
  UserReferences(UserReferences&& other) noexcept
      : objects_(other.objects_), counts_(std::move(other.counts_)) {
    other.counts_.clear();
  }
  UserReferences& operator=(UserReferences&& other) noexcept;

  // The caller has counted these in already.
  void adopt(UserObjects& objects, UserObject& object, std::uint64_t count);
  // False if there are fewer.
  [[nodiscard]] bool release(UserObject& object, std::uint64_t count);
  void clear();
  // Adds as many of its own as `other` has.
  void add_copies_of(const UserReferences& other);

  [[nodiscard]] bool empty() const { return counts_.empty(); }

 private:
  UserObjects* objects_ = nullptr;
  std::map<UserObject*, std::uint64_t> counts_;
};

// Lets go of `count` references, and of the object with the last one.
void release(UserObjects& objects, UserObject& object, std::uint64_t count);

}  // namespace simgpu
