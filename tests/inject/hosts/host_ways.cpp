// A program that ends in one of many ways, or does something that it may do and that a careless
// library breaks.
//
//   host_ways ends|unusual|stuck [WAY [FOLDER]]     FOLDER: of the copies of a vendor's library
//
// Without a known WAY it prints the known ones of that kind, one a line.  Output and exit status
// are those of the way alone: a library beside it must change neither.
#include "host.hpp"

#include <alloca.h>
#include <csetjmp>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>

namespace {

std::string chosen_way;
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
  host::launch(gpu.kernel, gpu.stream);
}

// A slip makes the library print in each iteration.
void train(int iterations, bool has_a_slip = false) {
  CHECK(cuCtxSetCurrent(gpu.context));
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    if (has_a_slip) PROFILE_RECORD("never_started.stop", gpu.stream);
    launch();
    CHECK(cuStreamSynchronize(gpu.stream));
  }
}

void open_gpu_and_train_with_a_slip(int iterations = 30) {
  open_gpu();
  train(iterations, true);
}

struct Way {
  const char* name;
  void (*run)();
};

// --- ways to end

void say(const char* words) {
  const std::size_t length = std::strlen(words);
  if (write(STDOUT_FILENO, words, length) != static_cast<ssize_t>(length)) std::_Exit(98);
}

struct sigaction before {};

void end_in_handler(int) {
  say("handled\n");
  std::exit(3);
}
// As libraries do that do not want to be the only ones.
void pass_on_and_end(int signal) {
  say(before.sa_handler == SIG_DFL ? "the first handler\n" : "handled\n");
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
  say("passed on\n");
  _exit(4);
}
void restore_and_raise(int signal) {
  say("handled\n");
  sigaction(signal, &before, nullptr);
  raise(signal);
}
// As Python does after a KeyboardInterrupt that nobody catches.
void end_by_default(int signal) {
  say(std::signal(signal, SIG_DFL) == end_by_default ? "handled\n" : "not ours\n");
  raise(signal);
}
void end_by(int signal) {
  raise(signal);
  say("code behind the signal ran\n");
  _exit(5);
}
void end_handled(int signal, void (*handler)(int)) {
  struct sigaction ours {};
  ours.sa_handler = handler;
  sigaction(signal, &ours, &before);
  end_by(signal);
}

// With a handler of the exit.
void exit_through(void (*handler)()) {
  std::atexit(handler);
  std::exit(7);
}

void exec_a_shell() {
  execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr));
}

template <typename Work>
void in_a_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(90);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

void* leave_thread(void*) {
  train(5);
  pthread_exit(nullptr);
}
void* train_until_cancelled(void*) {
  while (true) {
    train(1);
    pthread_testcancel();
  }
}
void* train_a_moment(void*) {
  train(20);
  say("the other thread is done\n");
  return nullptr;
}
pthread_t start(void* (*work)(void*)) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, work, nullptr) != 0) std::_Exit(97);
  return thread;
}

struct AtTheEnd {
  ~AtTheEnd() { say("a static object was destroyed\n"); }
};

const std::vector<Way> kWaysToEnd = {
    // The process
    {"main returns", [] {}},
    {"exit()", [] { std::exit(7); }},
    {"exit() on another thread", [] { std::thread([] { std::exit(7); }).join(); }},
    {"exit() while another thread launches",
     [] {
       start(train_until_cancelled);
       std::exit(7);
     }},
    {"exit(), and again in an exit handler", [] { exit_through([] { _exit(8); }); }},
    {"exit(), and a launch in an exit handler", [] { exit_through([] { train(1); }); }},
    {"exit() with static objects",
     [] {
       static const AtTheEnd object;
       std::exit(7);
     }},
    {"quick_exit()", [] { std::quick_exit(7); }},
    {"_exit()", [] { _exit(7); }},
    {"the system call exit in main", [] { syscall(SYS_exit, 7); }},
    {"abort()", [] { std::abort(); }},
    {"an exception that nobody catches", [] { throw 1; }},
    {"pthread_exit() in main", [] { pthread_exit(nullptr); }},
    {"pthread_exit() in main, another thread goes on",
     [] {
       pthread_detach(start(train_a_moment));
       pthread_exit(nullptr);
     }},
    {"exec", exec_a_shell},
    {"exec on another thread", [] { std::thread(exec_a_shell).join(); }},
    // Signals
    {"SIGTERM", [] { end_by(SIGTERM); }},
    {"SIGTERM while another thread launches",
     [] {
       start(train_until_cancelled);
       end_by(SIGTERM);
     }},
    {"SIGTERM to a thread that is not main", [] { std::thread(end_by, SIGTERM).join(); }},
    {"SIGINT", [] { end_by(SIGINT); }},
    {"SIGHUP", [] { end_by(SIGHUP); }},
    {"SIGQUIT", [] { end_by(SIGQUIT); }},
    {"SIGUSR1", [] { end_by(SIGUSR1); }},
    {"SIGALRM", [] { end_by(SIGALRM); }},
    {"SIGPIPE", [] { end_by(SIGPIPE); }},
    {"SIGXCPU", [] { end_by(SIGXCPU); }},
    {"SIGSEGV", [] { end_by(SIGSEGV); }},
    {"SIGKILL", [] { end_by(SIGKILL); }},
    {"SIGTERM ignored",
     [] {
       signal(SIGTERM, SIG_IGN);
       raise(SIGTERM);
       std::exit(6);
     }},
    {"SIGTERM blocked",
     [] {
       sigset_t only;
       sigemptyset(&only);
       sigaddset(&only, SIGTERM);
       pthread_sigmask(SIG_BLOCK, &only, nullptr);
       raise(SIGTERM);
       std::exit(6);
     }},
    {"SIGTERM handled, exit() in the handler", [] { end_handled(SIGTERM, end_in_handler); }},
    {"a handler calls exit() that has most likely interrupted the driver",
     [] {
       std::signal(SIGALRM, end_in_handler);
       ualarm(1000, 0);
       while (true)
         train(1);
     }},
    {"SIGTERM handled and passed on to the handler before",
     [] { end_handled(SIGTERM, pass_on_and_end); }},
    {"SIGTERM handled, the handler before restored and raised",
     [] { end_handled(SIGTERM, restore_and_raise); }},
    {"SIGINT handled, the system's handling restored and raised",
     [] { end_handled(SIGINT, end_by_default); }},
    // Children
    {"fork, the child calls exit()", [] { in_a_child([] { std::exit(11); }); }},
    {"fork, the child calls _exit()", [] { in_a_child([] { _exit(11); }); }},
    {"fork, the child gets SIGTERM", [] { in_a_child([] { end_by(SIGTERM); }); }},
    {"fork, the child execs", [] { in_a_child(exec_a_shell); }},
    {"fork, the child leaves main by pthread_exit()",
     [] { in_a_child([] { pthread_exit(nullptr); }); }},
    {"fork, the parent leaves and the child goes on",
     [] {
       if (fork() != 0) _exit(12);
       _exit(13);
     }},
    // Threads
    {"a thread returns", [] { pthread_join(start(train_a_moment), nullptr); }},
    {"a thread calls pthread_exit()", [] { pthread_join(start(leave_thread), nullptr); }},
    {"a thread is cancelled",
     [] {
       const pthread_t thread = start(train_until_cancelled);
       pthread_cancel(thread);
       void* result = nullptr;
       pthread_join(thread, &result);
       say(result == PTHREAD_CANCELED ? "cancelled\n" : "not cancelled\n");
     }},
    {"a detached thread launches when main returns",
     [] { pthread_detach(start(train_until_cancelled)); }},
};

// --- unusual ways: stderr

// Again, with `file` for stderr from the start.
void become_with_stderr(int file) {
  if (std::getenv("HOST_WAYS_AGAIN") != nullptr) return;
  setenv("HOST_WAYS_AGAIN", "1", 1);
  dup2(file, STDERR_FILENO);
  execl("/proc/self/exe", "host_ways", "unusual", chosen_way.c_str(), static_cast<char*>(nullptr));
  std::_Exit(98);
}

std::array<int, 2> new_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::_Exit(97);
  return ends;
}

void broken_stderr() {
  if (std::getenv("HOST_WAYS_AGAIN") == nullptr) {
    const auto ends = new_pipe();
    close(ends[0]);
    become_with_stderr(ends[1]);
  }
  open_gpu_and_train_with_a_slip();
}

void full_stderr() {
  if (std::getenv("HOST_WAYS_AGAIN") == nullptr) {
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
  open_gpu_and_train_with_a_slip();
}

void full_file_as_stderr() {
  if (std::getenv("HOST_WAYS_AGAIN") == nullptr)
    become_with_stderr(open("log", O_WRONLY | O_CREAT | O_APPEND, 0644));
  const rlimit none{0, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &none);
  open_gpu_and_train_with_a_slip();
}

void data_as_descriptor_two() {
  close(STDERR_FILENO);
  const int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
  std::printf("descriptor %d\n", file);
  open_gpu_and_train_with_a_slip();
  std::printf("%ld bytes\n", static_cast<long>(lseek(file, 0, SEEK_END)));
}

// --- a driver that does not answer

void* terminate_twice(void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  kill(getpid(), SIGTERM);
  return nullptr;
}

void terminated_twice() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  start(terminate_twice);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  open_gpu();
  while (true)
    train(1);
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
  // Memory that is mapped stays; no more can be mapped.
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

// --- an allocator with a lock, as an application may have that has no threads

std::atomic<bool> has_lock{false};
std::atomic<bool> is_freeing_slowly{false};
std::atomic_flag allocator_lock;

// At a time when another thread has the lock, if there is one: at a checkpoint.
void fork_while_the_allocator_is_locked() {
  setenv("INLINE_PROF_CHECKPOINT", "1", 1);
  open_gpu();
  train(2);
  has_lock = true;
  for (int waited_ms = 0; waited_ms < 2000 && !is_freeing_slowly; ++waited_ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  in_a_child([] {
    std::free(std::malloc(100));
    _exit(0);
  });
}

// --- look-ups beside calls

void look_launches_up() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  const auto found = reinterpret_cast<decltype(&cuLaunchKernel)>(dlsym(driver, "cuLaunchKernel"));
  open_gpu();
  CHECK(found(gpu.kernel, 1, 1, 1, 32, 1, 1, 0, gpu.stream, nullptr, nullptr));
  train(30);
}

// --- threads

bool no_threads = false;

void without_threads() {
  no_threads = true;
  open_gpu_and_train_with_a_slip(2000);  // until the overhead is measured
}

// A new user namespace is for a process with one thread.
void leave_for_a_namespace() {
  open_gpu_and_train_with_a_slip(5);
  std::printf("unshare %d\n", unshare(CLONE_NEWUSER));
  train(30);
}

// A child that shares the memory of this process has none of its threads, and is refused.
void let_a_child_of_vfork_leave() {
  open_gpu_and_train_with_a_slip(5);
  const pid_t child = vfork();
  if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
  train(30);
}

// --- process 1, which signals do not end that are left to the system

void first_process() {
  // Without such namespaces it is a process as any other.
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return;
  in_a_child([] {
    open_gpu_and_train_with_a_slip();
    kill(getpid(), SIGTERM);
    train(30);
    std::exit(getpid());
  });
}

const std::vector<Way> kUnusualWays = {
    {"no thread can be started", without_threads},
    {"it leaves for a user namespace", leave_for_a_namespace},
    {"a child of vfork() leaves for a user namespace", let_a_child_of_vfork_leave},
    {"it is the first process of a container", first_process},
    {"stderr is a pipe without a reader", broken_stderr},
    {"stderr is a full pipe", full_stderr},
    {"stderr is a file that may not grow", full_file_as_stderr},
    {"descriptor 2 is a data file", data_as_descriptor_two},
    {"its allocator has a lock, and it forks", fork_while_the_allocator_is_locked},
    {"it looks launches up, too", look_launches_up},
    {"functions are named like those of glibc", [] { open_gpu_and_train_with_a_slip(200); }},
    {"a signal handler jumps out of library calls", jump},
    {"there is no more address space", little_address_space},
};

const std::vector<Way> kStuckWays = {{"terminated twice", terminated_twice}};

[[noreturn]] void called_by_mistake(const char* name) {
  std::printf("%s was called\n", name);
  std::fflush(stdout);
  std::_Exit(95);
}

}  // namespace

// ISO C leaves these names to the application, and nobody but us would call them.
#define NAMED_LIKE_GLIBC(result, name, parameters)                   \
  extern "C" [[gnu::visibility("default")]] result name parameters { \
    called_by_mistake(#name);                                        \
  }
NAMED_LIKE_GLIBC(int, link, (const char*, const char*) noexcept)
NAMED_LIKE_GLIBC(int, unlink, (const char*) noexcept)
NAMED_LIKE_GLIBC(int, fsync, (int))
NAMED_LIKE_GLIBC(int, usleep, (useconds_t))
NAMED_LIKE_GLIBC(int, gethostname, (char*, std::size_t) noexcept)
NAMED_LIKE_GLIBC(char*, getcwd, (char*, std::size_t) noexcept)

// Another thread than the first one takes long, once.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's own name
extern "C" void __libc_free(void* memory) noexcept;
extern "C" [[gnu::visibility("default")]] void free(void* memory) noexcept {
  if (!has_lock) return __libc_free(memory);
  while (allocator_lock.test_and_set())
    std::this_thread::yield();
  if (gettid() != getpid() && !is_freeing_slowly.exchange(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  __libc_free(memory);
  allocator_lock.clear();
}

using StartThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread,
                                                             const pthread_attr_t* attributes,
                                                             void* (*main)(void*), void* argument) {
  if (no_threads) return EAGAIN;
  static auto* const real = reinterpret_cast<StartThread*>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, main, argument);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string kind = argv[1];
  const bool ends = kind == "ends";
  const auto& ways = ends ? kWaysToEnd : kind == "stuck" ? kStuckWays : kUnusualWays;
  if (argc > 2) chosen_way = argv[2];
  if (argc > 3) folder = argv[3];
  for (const Way& way : ways) {
    if (chosen_way != way.name) continue;
    if (ends) {
      open_gpu();
      train(30);
      say("trained\n");
    }
    way.run();
    if (!ends) std::printf("host ok\n");
    return 0;
  }
  for (const Way& way : ways)
    std::printf("%s\n", way.name);
  return argc < 3 ? 0 : 2;
}
