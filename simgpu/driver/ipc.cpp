#include "driver/ipc.hpp"

#include "driver/call.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <linux/memfd.h>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace simgpu {
namespace {

std::uint64_t number_of(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

int make_memory_file(std::size_t bytes) {
  // glibc has memfd_create since 2.27.
  const int file = static_cast<int>(syscall(SYS_memfd_create, "simgpu", MFD_CLOEXEC));
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  close(file);
  return -1;
}

SharedName name_of(SharedKind kind, int descriptor, int device, std::size_t bytes) {
  return {.kind = kind,
          .process = static_cast<std::int32_t>(getpid()),
          .descriptor = descriptor,
          .device = device,
          .file = number_of(descriptor),
          .bytes = bytes};
}

int open_shared(const SharedName& name) {
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0 || number_of(file) == name.file) return file;
  close(file);
  return -1;
}

std::shared_ptr<SharedEvent> SharedEvent::map(int descriptor) {
  void* const page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED) {
    close(descriptor);
    return nullptr;
  }
  // A new file is all zeros, which is what the page begins with.
  return std::shared_ptr<SharedEvent>(new SharedEvent(descriptor, static_cast<Page*>(page)));
}

SharedEvent::~SharedEvent() {
  munmap(page_, sizeof(Page));
  close(descriptor_);
}

void SharedEvent::end_record(std::uint64_t number, Nanoseconds end) {
  page_->end = std::max(page_->end.load(), end);
  std::uint64_t before = page_->ended;
  while (before < number && !page_->ended.compare_exchange_weak(before, number)) {
  }
}

}  // namespace simgpu

using namespace simgpu;

namespace {

template <typename Handle>
void write_name(const SharedName& name, Handle* handle) {
  static_assert(sizeof name <= sizeof *handle);
  *handle = {};
  std::memcpy(handle, &name, sizeof name);
}

template <typename Handle>
SharedName read_name(const Handle& handle, SharedKind kind) {
  SharedName name{};
  std::memcpy(&name, &handle, sizeof name);
  if (name.kind != kind) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  return name;
}

struct Opened {
  CUdeviceptr address;
  int count;
};

// Memory of other processes, by its file.  Guarded by the simulator's mutex.
std::map<std::uint64_t, Opened>& opened_memory() {
  static auto* const all = new std::map<std::uint64_t, Opened>;
  return *all;
}

}  // namespace

SIMGPU_CALL(cuIpcGetMemHandle, cuIpcGetMemHandle_v4010, kOther, handle, address) {
  require(handle);
  Allocation* shared = s.memory.find(static_cast<std::uintptr_t>(address));
  // "an existing device memory allocation created with cuMemAlloc"
  require_value(shared != nullptr && shared->kind == MemoryKind::kDevice &&
                !shared->stream_ordered && shared->graph_memory_id == 0);
  if (!Memory::share(*shared)) throw Failure{CUDA_ERROR_MAP_FAILED};
  write_name(name_of(SharedKind::kMemory, shared->file, shared->context->device->index,
                     shared->mapped_bytes),
             handle);
}

SIMGPU_CALL(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle_v11000, kAllocate, address, handle, flags) {
  require(address);
  // "Must be specified as CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS"
  require_value(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  const SharedName name = read_name(handle, SharedKind::kMemory);
  // Its own memory is what a process cannot open.
  if (name.process == getpid()) throw Failure{CUDA_ERROR_INVALID_CONTEXT};
  auto& all = opened_memory();
  auto found = all.find(name.file);
  if (found != all.end() && s.memory.find(found->second.address) == nullptr) {
    all.erase(found);  // it went with its context
    found = all.end();
  }
  if (found == all.end()) {
    const int file = open_shared(name);
    if (file < 0) throw Failure{CUDA_ERROR_INVALID_HANDLE};
    const Allocation* made = s.memory.open(s.current(), file, name.bytes);
    if (made == nullptr) throw Failure{CUDA_ERROR_MAP_FAILED};
    found = all.emplace(name.file, Opened{static_cast<CUdeviceptr>(made->base), 0}).first;
  }
  ++found->second.count;
  *address = found->second.address;
}

SIMGPU_CALL(cuIpcCloseMemHandle, cuIpcCloseMemHandle_v4010, kAllocate, address) {
  auto& all = opened_memory();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& each) { return each.second.address == address; });
  require_value(found != all.end());
  if (--found->second.count > 0) return;
  const Allocation* open = s.memory.find(static_cast<std::uintptr_t>(address));
  if (open != nullptr) s.memory.release(*open);
  all.erase(found);
}

SIMGPU_CALL(cuIpcGetEventHandle, cuIpcGetEventHandle_v4010, kOther, handle, event) {
  require(handle);
  const auto shared = s.event(event);
  require_value((shared->flags & CU_EVENT_INTERPROCESS) != 0);
  s.refuse_if_captured(*shared);
  if (!shared->shared) {
    shared->shared = SharedEvent::map(make_memory_file(4096));
    if (!shared->shared) throw Failure{CUDA_ERROR_MAP_FAILED};
    shared->shared->set_begun(shared->record_number);
    if (shared->record && shared->record->done) {
      shared->shared->end_record(shared->record_number, shared->record->end);
    }
  }
  write_name(name_of(SharedKind::kEvent, shared->shared->descriptor(),
                     shared->context->device->index, 4096),
             handle);
}

SIMGPU_CALL(cuIpcOpenEventHandle, cuIpcOpenEventHandle_v4010, kOther, event, handle) {
  require(event);
  const SharedName name = read_name(handle, SharedKind::kEvent);
  const int file = open_shared(name);
  if (file < 0) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  Context& context = s.current();
  auto opened = std::make_shared<Event>();
  opened->context = &context;
  // "behaves like a locally created event with the CU_EVENT_DISABLE_TIMING flag"
  opened->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  opened->shared = SharedEvent::map(file);
  if (!opened->shared) throw Failure{CUDA_ERROR_MAP_FAILED};
  s.event_owner[opened.get()] = &context;
  *event = reinterpret_cast<CUevent>(opened.get());
  Event* key = opened.get();
  context.events.emplace(key, std::move(opened));
}
