// Many independent pieces of work on two threads, whose results are used in their order.
//
// Two, because one thread alone does not keep up with a disk, and each more is one more file in
// memory.
#pragma once

#include <cstddef>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace inline_prof::base {

// Calls make(i) for every i below `count`, two at a time, and take(i, result) in the order of i,
// one at a time.  After an exception nothing new is begun; the one with the smallest i is thrown.
template <typename Make, typename Take>
void in_two_threads(std::size_t count, const Make& make, const Take& take) {
  using Result = std::invoke_result_t<const Make&, std::size_t>;
  std::mutex mutex;  // of all below
  std::size_t next_made = 0;
  std::size_t next_taken = 0;
  std::map<std::size_t, Result> waiting;
  std::size_t failed = count;
  std::exception_ptr failure;

  const auto next = [&]() -> std::optional<std::size_t> {
    const std::lock_guard lock(mutex);
    if (failure || next_made == count) return std::nullopt;
    return next_made++;
  };
  const auto work = [&] {
    for (std::optional<std::size_t> i = next(); i; i = next()) {
      try {
        Result result = make(*i);
        const std::lock_guard lock(mutex);
        waiting.emplace(*i, std::move(result));
        while (!waiting.empty() && waiting.begin()->first == next_taken) {
          take(next_taken++, std::move(waiting.begin()->second));
          waiting.erase(waiting.begin());
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (*i < failed) {
          failed = *i;
          failure = std::current_exception();
        }
      }
    }
  };
  std::future<void> helper;
  if (count > 1) helper = std::async(std::launch::async, work);
  work();
  if (helper.valid()) helper.get();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace inline_prof::base
