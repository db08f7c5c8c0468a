// The driver function of docs/how_to_add.md, simulated.
#include "driver/call.hpp"

using namespace simgpu;

SIMGPU_STREAM_CALL(cuStreamAttachMemAsync, cuStreamAttachMemAsync_v6000, kOther, stream, memory,
                   length, flags) {
  static_cast<void>(s.stream(stream, which));
  require(pointer(memory));
  require_value(length == 0 && flags >= CU_MEM_ATTACH_GLOBAL && flags <= CU_MEM_ATTACH_SINGLE);
}
