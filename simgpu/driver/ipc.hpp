// Memory and events that one process hands to another by a handle.
#pragma once

#include "driver/model.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace simgpu {

// A file in memory of `bytes` zeros, without a name; -1 if the system has no more.
[[nodiscard]] int make_memory_file(std::size_t bytes);

enum class SharedKind : std::uint32_t { kMemory = 1, kEvent = 2 };

// The contents of a handle: a file that a process holds open.  It has room for 64 bytes.
struct SharedName {
  SharedKind kind;
  std::int32_t process;
  std::int32_t descriptor;
  std::int32_t device;
  std::uint64_t file;  // its number in the file system: descriptors are used again
  std::uint64_t bytes;
};

[[nodiscard]] SharedName name_of(SharedKind kind, int descriptor, int device, std::size_t bytes);

// A descriptor of that file in this process, or -1 where its owner no longer has it.
[[nodiscard]] int open_shared(const SharedName& name);

// The records of an event that processes share.  Each record has a number, in one order.
class SharedEvent {
 public:
  // Maps `descriptor`, and owns it.  Null if that fails.
  [[nodiscard]] static std::shared_ptr<SharedEvent> map(int descriptor);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  std::uint64_t begin_record() { return ++page_->begun; }
  void end_record(std::uint64_t number, Nanoseconds end);
  // For an event that was recorded before it was shared.
  void set_begun(std::uint64_t number) { page_->begun = number; }

  [[nodiscard]] std::uint64_t last_begun() const { return page_->begun; }
  [[nodiscard]] bool has_ended(std::uint64_t number) const { return page_->ended >= number; }
  [[nodiscard]] Nanoseconds end() const { return page_->end; }  // of the last that has ended
  // A word that reaches `number` when that record has ended.
  [[nodiscard]] std::uintptr_t ended_word() const {
    return reinterpret_cast<std::uintptr_t>(&page_->ended);
  }

 private:
  struct Page {
    std::atomic<std::uint64_t> begun, ended;
    std::atomic<Nanoseconds> end;
  };

  SharedEvent(int descriptor, Page* page) : descriptor_(descriptor), page_(page) {}

  int descriptor_;
  Page* page_;
};

}  // namespace simgpu
