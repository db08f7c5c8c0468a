#include "driver/ipc.hpp"

#include <algorithm>
#include <fcntl.h>
#include <linux/memfd.h>
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
