// In place of nccl_works.cpp where this was built without NCCL's header.
#include "measure/works.hpp"

namespace inline_prof::measure {

struct NcclWorks::Communicators {};

NcclWorks::NcclWorks(Gpu& gpu) : gpu_(gpu) {}
NcclWorks::~NcclWorks() = default;

Work NcclWorks::collective(const read::Op&) {
  throw Skipped("built without nccl.h");
}

}  // namespace inline_prof::measure
