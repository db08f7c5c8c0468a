// Launches for a while, one thread an iteration's mark, and then ends in the way that it is told.
//
//   host_ends WAY
//
// Without a known WAY it prints the known ones, one a line.  What it prints, and its exit status,
// are those of the way alone: a library beside it must change neither.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

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

void train(int iterations) {
  CHECK(cuCtxSetCurrent(gpu.context));
  for (int i = 0; i < iterations; ++i) {
    PROFILE_ITERATION();
    CHECK(cuLaunchKernel(gpu.kernel, 1, 1, 1, 32, 1, 1, 0, gpu.stream, nullptr, nullptr));
    CHECK(cuStreamSynchronize(gpu.stream));
  }
}

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
  say("handled\n");
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
  say("passed on\n");
  _exit(4);
}
void restore_and_raise(int signal) {
  say("handled\n");
  sigaction(signal, &before, nullptr);
  raise(signal);
}
void handle(int signal, void (*handler)(int)) {
  struct sigaction ours {};
  ours.sa_handler = handler;
  sigaction(signal, &ours, &before);
}

void end_by(int signal) {
  raise(signal);
  say("code behind the signal ran\n");
  _exit(5);
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

struct Way {
  const char* name;
  void (*end)();
};

const Way ways[] = {
    // The process
    {"main returns", [] {}},
    {"exit()", [] { std::exit(7); }},
    {"exit() on another thread", [] { std::thread([] { std::exit(7); }).join(); }},
    {"exit() while another thread launches",
     [] {
       start(train_until_cancelled);
       std::exit(7);
     }},
    {"exit(), and again in an exit handler",
     [] {
       std::atexit([] { _exit(8); });
       std::exit(7);
     }},
    {"exit(), and a launch in an exit handler",
     [] {
       std::atexit([] { train(1); });
       std::exit(7);
     }},
    {"exit() with static objects",
     [] {
       static const AtTheEnd object;
       std::exit(7);
     }},
    {"quick_exit()", [] { std::quick_exit(7); }},
    {"_exit()", [] { _exit(7); }},
    {"abort()", [] { std::abort(); }},
    {"an exception that nobody catches", [] { throw 1; }},
    {"pthread_exit() in main", [] { pthread_exit(nullptr); }},
    {"pthread_exit() in main, another thread goes on",
     [] {
       pthread_detach(start(train_a_moment));
       pthread_exit(nullptr);
     }},
    {"exec", [] { execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr)); }},
    {"exec on another thread",
     [] {
       std::thread([] {
         execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr));
       }).join();
     }},
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
    {"SIGTERM handled, exit() in the handler",
     [] {
       handle(SIGTERM, end_in_handler);
       end_by(SIGTERM);
     }},
    {"SIGTERM handled and passed on to the handler before",
     [] {
       handle(SIGTERM, pass_on_and_end);
       end_by(SIGTERM);
     }},
    {"SIGTERM handled, the handler before restored and raised",
     [] {
       handle(SIGTERM, restore_and_raise);
       end_by(SIGTERM);
     }},
    // Children
    {"fork, the child calls exit()", [] { in_a_child([] { std::exit(11); }); }},
    {"fork, the child calls _exit()", [] { in_a_child([] { _exit(11); }); }},
    {"fork, the child gets SIGTERM", [] { in_a_child([] { end_by(SIGTERM); }); }},
    {"fork, the child execs",
     [] {
       in_a_child([] { execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr)); });
     }},
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

}  // namespace

int main(int argc, char** argv) {
  for (const Way& way : ways) {
    if (argc < 2 || std::strcmp(argv[1], way.name) != 0) continue;
    open_gpu();
    train(30);
    say("trained\n");
    way.end();
    return 0;
  }
  for (const Way& way : ways)
    std::printf("%s\n", way.name);
  return argc < 2 ? 0 : 2;
}
