// Looks vendor functions up that are not there, then reaches two copies of one library: from
// plug-ins that were linked with them, and by pointers.  Prints what it finds; with the injected
// library it must be what it is without.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

// Declared as in a program that can run without the library.
extern "C" [[gnu::weak]] int cublasSgemm_v2(void*, int, int, int, int, int, const float*,
                                            const float*, int, const float*, int, const float*,
                                            float*, int);
extern "C" [[gnu::weak]] int cudnnBackendExecute(void*, void*, void*);

namespace {

using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                      int, const float*, float*, int);

const char* presence(const void* address) {
  return address == nullptr ? "absent" : "present";
}

void* open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  return library;
}

int call(void* function, int m) {
  return reinterpret_cast<Sgemm>(function)(nullptr, 0, 0, m, 1, 1, nullptr, nullptr, 1, nullptr, 1,
                                           nullptr, nullptr, 1);
}

void probe(const char* when) {
  for (const char* name : {"cublasSgemm_v2", "cublasLtMatmul", "cudnnBackendExecute",
                           "ncclAllReduce", "ncclGroupEnd", "InitializeInjectionNvtx2"}) {
    void* by_default = dlsym(RTLD_DEFAULT, name);
    const char* error = dlerror();
    std::printf("%s %s default %s error %s", when, name, presence(by_default),
                error == nullptr ? "no" : "yes");
    void* by_next = dlsym(RTLD_NEXT, name);
    std::printf(" next %s", presence(by_next));
    void* self = dlopen(nullptr, RTLD_NOW);
    std::printf(" main %s\n", presence(dlsym(self, name)));
    dlerror();
  }
}

// The library that `address` is in: by its end, since builds differ in their folders.
void say_where(const char* what, const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return;
  const std::string path = info.dli_fname;
  std::fprintf(stderr, "%s in %s\n", what, path.substr(path.rfind('/') + 1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  std::printf("weak %s %s\n", presence(reinterpret_cast<void*>(&cublasSgemm_v2)),
              presence(reinterpret_cast<void*>(&cudnnBackendExecute)));
  probe("before");

  void* const first_user = open(folder + "/libuser_1.so");
  void* const second_user = open(folder + "/libuser_2.so");
  probe("local");
  using Call = int (*)(int);
  using LookUp = void* (*)();
  const auto first = reinterpret_cast<Call>(dlsym(first_user, "call_blas"));
  const auto second = reinterpret_cast<Call>(dlsym(second_user, "call_blas"));
  std::printf("linked %d %d %d\n", first(1), second(1), first(1));
  const auto in_first = reinterpret_cast<LookUp>(dlsym(first_user, "look_up_in_scope"));
  const auto in_second = reinterpret_cast<LookUp>(dlsym(second_user, "look_up_in_scope"));
  std::printf("in scope %d %d\n", call(in_first(), 1), call(in_second(), 1));

  // By pointers, whoever calls them: three copies, and there are two wrappers.
  void* const one = dlsym(open(folder + "/libcublas.so.13"), "cublasSgemm_v2");
  void* const two = dlsym(open(folder + "/libcublas-copy.so.13"), "cublasSgemm_v2");
  void* const three = dlsym(open(folder + "/libcublas-third.so.13"), "cublasSgemm_v2");
  std::printf("looked up %d %d %d\n", call(one, 1), call(two, 1), call(three, 1));
  say_where("first", one);
  say_where("third", three);

  // Exceptions that the library throws pass through.
  int caught = 0;
  try {
    call(one, -1);
  } catch (int thrown) {
    caught = thrown;
  }
  try {
    second(-1);
  } catch (int thrown) {
    caught += 10 * thrown;
  }
  std::printf("thrown %d, then %d\n", caught, call(one, 1));
  return 0;
}
