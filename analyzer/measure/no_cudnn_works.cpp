// In place of cudnn_works.cpp where this was built without cuDNN's header.
#include "measure/works.hpp"

namespace inline_prof::measure {

struct CudnnWorks::Handles {};

CudnnWorks::CudnnWorks(Gpu& gpu) : gpu_(gpu) {}
CudnnWorks::~CudnnWorks() = default;

Work CudnnWorks::convolution(const read::Op&, Choice&) {
  throw Skipped("built without cudnn.h");
}
Work CudnnWorks::attention(const read::Op&, std::string_view, Choice&) {
  throw Skipped("built without cudnn.h");
}
Work CudnnWorks::norm(const read::Op&, std::string_view, Choice&) {
  throw Skipped("built without cudnn.h");
}

}  // namespace inline_prof::measure
