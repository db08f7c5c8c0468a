// Moves memory in every way that the driver has: each iteration has one of each, and one kernel.
// Checks what has arrived, and with "graph" replays copies as nodes of a graph.
#include "host.hpp"

#include <string_view>

namespace {

constexpr std::size_t kBytes = 4096;  // of each allocation
constexpr std::size_t kWidth = 64;    // of rows, which stand twice as far apart
constexpr std::size_t kRows = 4;
constexpr std::size_t kSlices = 2;

struct Memory {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  std::array<unsigned char, kBytes> pageable{};
  unsigned char* pinned = nullptr;
};

struct Place {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUfunction kernel = nullptr;
  Memory memory;
};

CUdeviceptr on_device() {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, kBytes));
  return address;
}

Place open_place() {
  Place place;
  place.context = host::open_context();
  place.stream = host::open_stream();
  place.kernel = host::load_kernels({"kernel"}).front();
  place.memory.first = on_device();
  place.memory.second = on_device();
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, kBytes, 0));
  place.memory.pinned = static_cast<unsigned char*>(pinned);
  return place;
}

void expect(const Place& place, CUdeviceptr at, unsigned char value, const char* what) {
  unsigned char found = 0;
  CHECK(cuStreamSynchronize(place.stream));
  CHECK(cuMemcpyDtoH(&found, at, 1));
  if (found != value) host::fail(what, found);
}

CUDA_MEMCPY2D plane_of(const Place& place) {
  CUDA_MEMCPY2D plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = place.memory.pinned;
  plane.srcPitch = 2 * kWidth;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = place.memory.first;
  plane.dstPitch = 2 * kWidth;
  plane.WidthInBytes = kWidth;
  plane.Height = kRows;
  return plane;
}

CUDA_MEMCPY3D box_of(const Place& place) {
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = place.memory.first;
  box.srcPitch = 2 * kWidth;
  box.srcHeight = kRows;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = place.memory.second;
  box.dstPitch = 2 * kWidth;
  box.dstHeight = kRows;
  box.WidthInBytes = kWidth;
  box.Height = kRows;
  box.Depth = kSlices;
  return box;
}

// Each call copies the result of the one before.
void step(Place& place, unsigned char value) {
  Memory& memory = place.memory;
  CUstream stream = place.stream;
  host::launch(place.kernel, stream);
  std::memset(memory.pinned, value, kBytes);
  errno = 4711;
  CHECK(cuMemcpyHtoDAsync(memory.first, memory.pinned, 1000, stream));
  CHECK(cuMemcpyDtoDAsync(memory.second, memory.first, 1000, stream));
  expect(place, memory.second, value, "cuMemcpyDtoDAsync");
  memory.pageable.fill(static_cast<unsigned char>(value + 1));
  CHECK(cuMemcpyHtoDAsync(memory.second, memory.pageable.data(), 2000, stream));
  expect(place, memory.second, static_cast<unsigned char>(value + 1), "cuMemcpyHtoDAsync");
  // The same function whatever the addresses are.
  CHECK(cuMemcpyAsync(memory.first, memory.second, 3000, stream));
  CHECK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(memory.pinned), memory.first, 500, stream));
  CHECK(cuStreamSynchronize(stream));
  if (memory.pinned[0] != static_cast<unsigned char>(value + 1))
    host::fail("cuMemcpyAsync", memory.pinned[0]);
  CHECK(cuMemsetD8Async(memory.first, static_cast<unsigned char>(value + 2), 100, stream));
  CHECK(cuMemsetD32Async(memory.second, 0x01010101U * value, 100, stream));
  CHECK(cuMemsetD2D16Async(memory.second + 2048, 256, 7, 10, 3, stream));
  expect(place, memory.first, static_cast<unsigned char>(value + 2), "cuMemsetD8Async");
  expect(place, memory.second, value, "cuMemsetD32Async");
  const CUDA_MEMCPY2D plane = plane_of(place);
  CHECK(cuMemcpy2DAsync(&plane, stream));
  const CUDA_MEMCPY3D box = box_of(place);
  CHECK(cuMemcpy3DAsync(&box, stream));
  expect(place, memory.second, static_cast<unsigned char>(value + 1), "cuMemcpy3DAsync");
  CHECK(cuMemcpyPeerAsync(memory.second, place.context, memory.first, place.context, 700, stream));
#if CUDA_VERSION >= 13000
  std::array<CUdeviceptr, 2> to{memory.second, memory.second + 1024};
  std::array<CUdeviceptr, 2> from{memory.first, memory.first + 1024};
  std::array<std::size_t, 2> bytes{300, 400};
  std::size_t zero = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK(cuMemcpyBatchAsync(to.data(), from.data(), bytes.data(), to.size(), &attributes, &zero, 1,
                           stream));
  CUDA_MEMCPY3D_BATCH_OP solid{};
  solid.src.type = solid.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  solid.src.op.ptr.ptr = memory.first;
  solid.dst.op.ptr.ptr = memory.second;
  solid.extent = {.width = 20, .height = 3, .depth = 2};
  solid.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK(cuMemcpy3DBatchAsync(1, &solid, 0, stream));
#endif
  CHECK(cuStreamWriteValue32(stream, memory.second, value, 0));
  CHECK(cuStreamWaitValue32(stream, memory.second, value, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(cuMemcpyHtoDAsync(memory.first, memory.pinned, 0, stream));  // nothing
  if (errno != 4711) host::fail("errno was changed by a copy", errno);
  CHECK(cuStreamSynchronize(stream));
}

// Copies of other threads, on streams of their own.
void copy_beside(Place& place) {
  CHECK(cuCtxSetCurrent(place.context));
  CUstream stream = host::open_stream();
  std::vector<unsigned char> data(600);
  for (int i = 0; i < 5; ++i)
    CHECK(cuMemcpyDtoHAsync(data.data(), place.memory.second, data.size(), stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
}

CUgraphExec capture(Place& place) {
  CUgraph graph = host::captured(place.stream, [&] {
    host::launch(place.kernel, place.stream);
    CHECK(cuMemcpyHtoDAsync(place.memory.first, place.memory.pinned, 1000, place.stream));
    CHECK(cuMemcpyDtoDAsync(place.memory.second, place.memory.first, 2000, place.stream));
    CHECK(cuMemsetD32Async(place.memory.first, 3, 50, place.stream));
  });
  std::size_t nodes = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 4) host::fail("nodes in the captured graph", static_cast<int>(nodes));
  CUgraphExec exec = host::instantiated(graph);
  CHECK(cuGraphDestroy(graph));
  return exec;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool has_marks = mode != "unmarked";
  Place place = open_place();
  CUgraphExec exec = mode == "graph" ? capture(place) : nullptr;
  // A program fills its memory before it begins: no iterations.
  for (int i = 0; i < 200; ++i)
    CHECK(cuMemcpyHtoDAsync(place.memory.first, place.memory.pinned, kBytes, place.stream));
  // The copy of a graph with events is built beside the program, which ends when all is measured.
  const int iterations = exec != nullptr ? 1'000'000 : 400;
  for (int i = 0; i < iterations; ++i) {
    if (has_marks) PROFILE_ITERATION();
    const auto value = static_cast<unsigned char>(i % 100);
    if (exec != nullptr) {
      CHECK(cuGraphLaunch(exec, place.stream));
      expect(place, place.memory.first, 3, "cuGraphLaunch");
    } else {
      step(place, value);
      if (mode == "threads") std::thread(copy_beside, std::ref(place)).join();
    }
    if (mode == "logs" && i % 10 == 0)
      expect(place, place.memory.first, place.memory.pinned[0], "log");
  }
  return host::finish();
}
