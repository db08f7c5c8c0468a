// The wrappers of docs/how_to_add.md's driver function.  What a real one does beside the call goes
// into `fenced`.
#include "hook/driver_functions.hpp"
#include "hook/start.hpp"

namespace inline_prof::entry {

CUresult CUDAAPI hooked_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr memory,
                                               std::size_t length, unsigned flags) {
  hook::start_once();
  return original_cuStreamAttachMemAsync(stream, memory, length, flags);
}

CUresult CUDAAPI hooked_cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr memory,
                                                    std::size_t length, unsigned flags) {
  hook::start_once();
  return original_cuStreamAttachMemAsync_ptsz(stream, memory, length, flags);
}

}  // namespace inline_prof::entry
