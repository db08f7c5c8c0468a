// Data of the process that any thread may need, also during exit.
#pragma once

#include <mutex>

namespace inline_prof::sys {

// Gives access to the one `Book`, and holds its mutex.  The Book is made at its first use, and
// never destroyed: hooks may still be called while the process ends.
template <typename Book>
class Locked {
 public:
  Locked() : lock_(one().mutex) {}
  Book* operator->() const { return &one().book; }
  Book& operator*() const { return one().book; }

 private:
  struct Kept {
    std::mutex mutex;
    Book book;
  };
  static Kept& one() {
    static auto* const kept = new Kept;
    return *kept;
  }

  std::lock_guard<std::mutex> lock_;
};

}  // namespace inline_prof::sys
