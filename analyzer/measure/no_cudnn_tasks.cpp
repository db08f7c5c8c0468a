// In place of cudnn_works.cpp where this was built without cuDNN's header.
#include "measure/tasks.hpp"

namespace inline_prof::measure {

struct CudnnTasks::Handles {};

CudnnTasks::CudnnTasks(Gpu& gpu) : gpu_(gpu) {}
CudnnTasks::~CudnnTasks() = default;

Work CudnnTasks::convolution(const read::Op&, Choice&) {
  throw Skipped("built without cudnn.h");
}
Work CudnnTasks::attention(const read::Op&, std::string_view, Choice&) {
  throw Skipped("built without cudnn.h");
}
Work CudnnTasks::norm(const read::Op&, std::string_view, Choice&) {
  throw Skipped("built without cudnn.h");
}

}  // namespace inline_prof::measure
