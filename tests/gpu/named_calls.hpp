// Library calls of known shapes, each with a name, by which library_calls.json has what they
// compute. A call that a library refuses is said and left out; the others go on.
//
//   call NAME            it was made in every iteration
//   refused NAME: WORDS  the library did not take it
//   skipped NAME: WORDS  not for this GPU
//   about NAME: WORDS    what a table may want to know: an algorithm
#pragma once

#include "gpu_check.hpp"

#include <inline_prof/profile.hpp>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::gpu_test {

// Thrown by a call that this GPU does not have; a refusal is any other std::runtime_error.
struct NotHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class NamedCalls {
 public:
  using Call = std::function<void()>;

  // --only WORD and --without WORD choose calls by the beginning of their names.
  NamedCalls(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // an application that is ended has said what it knew
    if (argc != 3) return;
    is_only_ = std::string(argv[1]) == "--only";
    word_ = argv[2];
  }

  // `prepare` makes what the call needs, and returns the call; it is made once to see whether it
  // works.
  void add(const std::string& name, const std::function<Call()>& prepare) {
    if (!word_.empty() && is_only_ != (name.rfind(word_, 0) == 0)) return;
    try {
      Call call = prepare();
      call();
      calls_.emplace_back(name, std::move(call));
    } catch (const NotHere& error) {
      std::printf("skipped %s: %s\n", name.c_str(), error.what());
    } catch (const std::runtime_error& error) {
      std::printf("refused %s: %s\n", name.c_str(), error.what());
    }
  }

  // Adds a call that needs no preparation.
  void add_plain(const std::string& name, const Call& call) {
    add(name, [&] { return call; });
  }

  // Makes all calls in each iteration; returns false if one was refused.
  bool make_all(int iterations) const {
    std::string name;
    try {
      for (int i = 0; i < iterations; ++i) {
        PROFILE_ITERATION();
        for (const auto& [each, call] : calls_) {
          name = each;
          call();
        }
      }
    } catch (const std::runtime_error& error) {
      std::printf("refused %s: %s\n", name.c_str(), error.what());
      return false;
    }
    for (const auto& [each, call] : calls_)
      std::printf("call %s\n", each.c_str());
    return true;
  }

 private:
  bool is_only_ = false;
  std::string word_;
  std::vector<std::pair<std::string, Call>> calls_;
};

// The whole of a program with one stream: `add` opens the library and adds its calls.
inline int make_calls(int argc, char** argv,
                      const std::function<void(NamedCalls&, cudaStream_t)>& add) {
  constexpr int kIterations = 45;
  skip_without_gpu();
  NamedCalls calls(argc, argv);
  try {
    add(calls, make_stream());
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  check(cudaDeviceSynchronize(), "the first calls");
  const bool is_good = calls.make_all(kIterations);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return is_good ? 0 : 1;
}

}  // namespace inline_prof::gpu_test
