// NCCL calls of known sizes on the first one or two GPUs, for two hosts: library_calls_nccl, whose
// operations are compared, and nccl_launches, which looks where they launch.
//
// One rank copies where it can.  It launches a kernel to scale (the mean of f32), and to send to
// itself; two ranks launch always.
#pragma once

#include <functional>
#include <string>

namespace inline_prof::gpu_test {

// Where a thread is, as the application knows it: the call of NCCL's that it is making, or null.
extern thread_local const char* nccl_call_of_this_thread;
// True: the application does not say so, and looks like an NCCL that launches on threads of its
// own.
extern bool nccl_calls_are_unsaid;

struct NcclCase {
  std::string name;
  bool is_grouped = false;
  bool launches_on_one_rank = false;
};

// A case at a time.  Throws Refused where NCCL does not take a call.
class NcclCalls {
 public:
  NcclCalls();
  ~NcclCalls();
  NcclCalls(const NcclCalls&) = delete;
  NcclCalls& operator=(const NcclCalls&) = delete;

  [[nodiscard]] int ranks() const;

  // `visit` is given each case, and what makes it on all ranks.  A case of several ranks outside of
  // a group has a thread for each.
  using CloneRun = std::function<void(const NcclCase&, const std::function<void()>&)>;
  void each(const CloneRun& visit) const;

  void synchronize() const;

 private:
  struct Ranks;
  Ranks* ranks_;
};

}  // namespace inline_prof::gpu_test
