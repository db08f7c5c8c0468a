// Programs that are allowed to do what they do, and that a careless library harms.
//
//   host_unusual WAY [FOLDER]     FOLDER: where the copies of a vendor's library lie
//
// Without a known WAY it prints the known ones, one a line.  What it prints, and its exit status,
// are those of the way alone: a library beside it must change neither.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <alloca.h>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace {

std::string program;  // the way
std::string folder;

struct Gpu {
  CUcontext context = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
};
Gpu gpu;

void open_gpu() {
  gpu.context = host::open_context();
  gpu.kernel = host::load_kernels({"k"}).front();
  gpu.stream = host::open_stream();
}

void launch() {
  CHECK(cuLaunchKernel(gpu.kernel, 1, 1, 1, 32, 1, 1, 0, gpu.stream, nullptr, nullptr));
}

void train(int iterations) {
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    // Said at each of them, as a program with a slip does.
    PROFILE_RECORD("never_started.stop", gpu.stream);
    launch();
    CHECK(cuStreamSynchronize(gpu.stream));
  }
}

// --- stderr

// Again, with `file` for stderr from the start.
void become_with_stderr(int file) {
  if (std::getenv("HOST_UNUSUAL_AGAIN") != nullptr) return;
  setenv("HOST_UNUSUAL_AGAIN", "1", 1);
  dup2(file, STDERR_FILENO);
  execl("/proc/self/exe", "host_unusual", program.c_str(), static_cast<char*>(nullptr));
  std::_Exit(98);
}

std::array<int, 2> new_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::_Exit(97);
  return ends;
}

void broken_stderr() {
  if (std::getenv("HOST_UNUSUAL_AGAIN") == nullptr) {
    const auto ends = new_pipe();
    close(ends[0]);
    become_with_stderr(ends[1]);
  }
  open_gpu();
  train(30);
}

void full_stderr() {
  if (std::getenv("HOST_UNUSUAL_AGAIN") == nullptr) {
    const auto ends = new_pipe();
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::array<char, 4096> block{};
    while (write(ends[1], block.data(), block.size()) > 0) {
    }
    while (write(ends[1], block.data(), 1) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
    become_with_stderr(ends[1]);
  }
  open_gpu();
  train(30);
}

void data_as_descriptor_two() {
  close(STDERR_FILENO);
  const int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
  std::printf("descriptor %d\n", file);
  open_gpu();
  train(30);
  std::printf("%ld bytes\n", static_cast<long>(lseek(file, 0, SEEK_END)));
}

// --- functions of the application's under names of glibc's

void named_like_glibc() {
  open_gpu();
  train(200);
}

// --- jumps out of a library call

sigjmp_buf place;

void leave() {
  launch();
  raise(SIGUSR1);
}

using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                      int, const float*, float*, int);
Sgemm sgemm = nullptr;

int multiply(void (*inside)()) {
  return sgemm(reinterpret_cast<void*>(inside), 0, 0, inside == nullptr ? 1 : -2, 1, 1, nullptr,
               nullptr, 1, nullptr, 1, nullptr, nullptr, 1);
}

// Deeper on the stack than the call that was left.
[[gnu::noinline]] void launch_deep_down() {
  auto* const below = static_cast<volatile char*>(alloca(20'000));
  std::memset(const_cast<char*>(below), 0xFF, 20'000);
  launch();
}

void jump() {
  void* const library = dlopen((folder + "/libcublas.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::_Exit(96);
  sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cublasSgemm_v2"));
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(place, 1); };
  sigaction(SIGUSR1, &action, nullptr);
  open_gpu();
  int jumps = 0;
  for (int i = 0; i < 60; ++i) {
    PROFILE_ITERATION();
    if (sigsetjmp(place, 1) == 0) {
      multiply(leave);
    } else {
      ++jumps;
    }
    launch_deep_down();
    if (multiply(nullptr) != 1) std::printf("another copy\n");
    multiply(launch);
    CHECK(cuStreamSynchronize(gpu.stream));
  }
  std::printf("%d jumps\n", jumps);
}

// --- memory

void little_address_space() {
  open_gpu();
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  // What is there stays; nothing new of any size can be had.
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_AS, &limit);
  for (int i = 0; i < 100; ++i) {
    PROFILE_ITERATION();
    launch();
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
  CHECK(cuStreamSynchronize(gpu.stream));
}

struct Way {
  const char* name;
  void (*run)();
};
const Way ways[] = {
    {"stderr is a pipe without a reader", broken_stderr},
    {"stderr is a full pipe", full_stderr},
    {"descriptor 2 is a data file", data_as_descriptor_two},
    {"functions are named like those of glibc", named_like_glibc},
    {"a signal handler jumps out of library calls", jump},
    {"there is no more address space", little_address_space},
};

[[noreturn]] void called_by_mistake(const char* name) {
  std::printf("%s was called\n", name);
  std::fflush(stdout);
  std::_Exit(95);
}

}  // namespace

// ISO C leaves these names to the application, and nobody but us would call them.
extern "C" [[gnu::visibility("default")]] int link(const char*, const char*) noexcept {
  called_by_mistake("link");
}
extern "C" [[gnu::visibility("default")]] int unlink(const char*) noexcept {
  called_by_mistake("unlink");
}
extern "C" [[gnu::visibility("default")]] int fsync(int) {
  called_by_mistake("fsync");
}
extern "C" [[gnu::visibility("default")]] int usleep(useconds_t) {
  called_by_mistake("usleep");
}
extern "C" [[gnu::visibility("default")]] int gethostname(char*, std::size_t) noexcept {
  called_by_mistake("gethostname");
}
extern "C" [[gnu::visibility("default")]] char* getcwd(char*, std::size_t) noexcept {
  called_by_mistake("getcwd");
}

int main(int argc, char** argv) {
  if (argc > 1) program = argv[1];
  if (argc > 2) folder = argv[2];
  for (const Way& way : ways) {
    if (program != way.name) continue;
    way.run();
    std::printf("host ok\n");
    return 0;
  }
  for (const Way& way : ways)
    std::printf("%s\n", way.name);
  return argc < 2 ? 0 : 2;
}
