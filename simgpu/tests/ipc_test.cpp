// Memory and events that one process hands to another.
#include "driver_fixture.hpp"

#include <array>
#include <sys/wait.h>
#include <unistd.h>

namespace simgpu {
namespace {

constexpr std::size_t kSharedBytes = 3 << 20;
constexpr unsigned char kTheirs = 0x5a, kOurs = 0xa5;

struct Handed {
  CUipcMemHandle memory;
  CUipcEventHandle event;
};

// A context in a process that has none yet.
CUstream new_context() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuCtxCreate(&context, nullptr, 0, device);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

// Runs in the other process; returns 0, or the number of the step that failed.
int import(const Handed& handed) {
  CUstream stream = new_context();
  CUdeviceptr memory = 0, again = 0;
  if (cuIpcOpenMemHandle(&memory, handed.memory, 0) != CUDA_ERROR_INVALID_VALUE) return 1;
  constexpr unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  if (cuIpcOpenMemHandle(&memory, handed.memory, flags) != CUDA_SUCCESS) return 2;
  if (cuIpcOpenMemHandle(&again, handed.memory, flags) != CUDA_SUCCESS || again != memory) return 3;
  std::array<unsigned char, 2> ends{};
  cuMemcpyDtoH(ends.data(), memory, 1);
  cuMemcpyDtoH(&ends[1], memory + kSharedBytes - 1, 1);
  if (ends != std::array{kTheirs, kTheirs}) return 4;

  CUevent event = nullptr, after = nullptr;
  if (cuIpcOpenEventHandle(&event, handed.event) != CUDA_SUCCESS) return 5;
  if (cuEventQuery(event) != CUDA_ERROR_NOT_READY) return 6;  // theirs runs for a second
  if (cuStreamWaitEvent(stream, event, 0) != CUDA_SUCCESS) return 7;
  if (cuEventCreate(&after, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return 8;
  cuEventRecord(after, stream);
  if (cuEventQuery(after) != CUDA_ERROR_NOT_READY) return 9;
  if (cuEventSynchronize(event) != CUDA_SUCCESS) return 10;
  if (simgpu_host_now_ns() < 1'000'000'000) return 11;
  if (cuEventQuery(after) != CUDA_SUCCESS) return 12;

  if (cuMemsetD8(memory, kOurs, kSharedBytes) != CUDA_SUCCESS) return 13;
  if (cuEventRecord(event, stream) != CUDA_SUCCESS) return 14;
  if (cuIpcCloseMemHandle(memory) != CUDA_SUCCESS) return 15;
  if (cuIpcCloseMemHandle(memory) != CUDA_SUCCESS) return 16;
  return cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE ? 0 : 17;
}

// Starts the other process, before this one has a context; true in this one.
class Ipc : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(pipe_.data()), 0);
    other_ = fork();
    ASSERT_GE(other_, 0);
    if (other_ > 0) return;
    Handed handed{};
    const bool all = read(pipe_[0], &handed, sizeof handed) == sizeof handed;
    _exit(all ? import(handed) : 100);
  }

  int status_of_other(const Handed& handed) const {
    EXPECT_EQ(write(pipe_[1], &handed, sizeof handed), static_cast<ssize_t>(sizeof handed));
    int status = 0;
    EXPECT_EQ(waitpid(other_, &status, 0), other_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::array<int, 2> pipe_{};
  pid_t other_ = 0;
};

TEST_F(Ipc, SharesMemoryAndEvents) {
  CUstream stream = new_context();
  CUdeviceptr memory = out(cuMemAlloc, kSharedBytes);
  ASSERT_EQ(cuMemsetD8(memory, kTheirs, kSharedBytes), CUDA_SUCCESS);
  CUevent event = out(cuEventCreate, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module,
                             "//\n.version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry empty()\n{\n  ret;\n}\n"),
            CUDA_SUCCESS);
  CUfunction kernel = out(cuModuleGetFunction, module, "empty");
  constexpr unsigned one_second = 1'000'000'000;  // blocks of 1 ns
  ASSERT_EQ(cuLaunchKernel(kernel, one_second, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);

  Handed handed{};
  ASSERT_EQ(cuIpcGetMemHandle(&handed.memory, memory), CUDA_SUCCESS);
  ASSERT_EQ(cuIpcGetEventHandle(&handed.event, event), CUDA_SUCCESS);
  CUdeviceptr own = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&own, handed.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(status_of_other(handed), 0);

  std::array<unsigned char, 2> ends{};
  ASSERT_EQ(cuMemcpyDtoH(ends.data(), memory, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&ends[1], memory + kSharedBytes - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(ends, (std::array{kOurs, kOurs}));
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);  // the record of the other process
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
}

TEST_F(Ipc, RefusesWhatCannotBeShared) {
  const CUstream stream = new_context();
  CUipcMemHandle memory{};
  EXPECT_EQ(cuIpcGetMemHandle(&memory, 0x1000), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = out(cuMemAllocAsync, 16, stream);
  EXPECT_EQ(cuIpcGetMemHandle(&memory, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenMemHandle(&address, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_HANDLE);
  CUipcEventHandle handle{};
  CUevent event = out(cuEventCreate, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(cuIpcGetEventHandle(&handle, event), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_NE(status_of_other({}), 0);
}

}  // namespace
}  // namespace simgpu
