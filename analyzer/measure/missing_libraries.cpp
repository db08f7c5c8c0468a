// Tasks of libraries whose headers were absent when this was built.
#include "measure/tasks.hpp"

namespace inline_prof::measure {

#ifndef INLINE_PROF_HAS_CUDNN
struct CudnnTasks::Handles {};

CudnnTasks::CudnnTasks(Gpu& gpu) : gpu_(gpu) {}
CudnnTasks::~CudnnTasks() = default;

Work CudnnTasks::convolution(const read::Op&) {
  throw Skipped("built without cudnn.h");
}
Work CudnnTasks::attention(const read::Op&) {
  throw Skipped("built without cudnn.h");
}
#endif

#ifndef INLINE_PROF_HAS_NCCL
struct NcclTasks::Communicators {};

NcclTasks::NcclTasks(Gpu& gpu) : gpu_(gpu) {}
NcclTasks::~NcclTasks() = default;

Work NcclTasks::collective(const read::Op&) {
  throw Skipped("built without nccl.h");
}
#endif

}  // namespace inline_prof::measure
