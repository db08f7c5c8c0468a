// Encloses its launches in NVTX ranges of every kind.  Each launch of an iteration is the next
// occurrence of one kernel, so that the layers in prof.json have the order of the code below.
//
// --marked: iterations are ranges "step N", and no macro says where they begin.
// --hostile=N: N different labels, and as many names of strings and domains, instead.
#include "host.hpp"

#include <nvtx3/nvToolsExt.h>

namespace {

CUfunction kernel = nullptr;
CUstream stream = nullptr;

void launch() {
  host::launch(kernel, stream);
}

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return event;
}

nvtxEventAttributes_t text(const char* message) {
  nvtxEventAttributes_t event = attributes();
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  return event;
}

nvtxEventAttributes_t string(nvtxStringHandle_t handle) {
  nvtxEventAttributes_t event = attributes();
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = handle;
  return event;
}

struct Names {
  nvtxDomainHandle_t model = nvtxDomainCreateA("model");
  nvtxDomainHandle_t other = nvtxDomainCreateW(L"other");
  nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");
  nvtxStringHandle_t narrow = nvtxDomainRegisterStringA(model, "narrow");
  nvtxStringHandle_t wide = nvtxDomainRegisterStringW(model, L"wide \u00e9");
};

void step(const Names& names) {
  const auto narrow = string(names.narrow);
  const auto wide = string(names.wide);
  const auto plain = text("plain");

  nvtxRangePushA("a");
  launch();  // a
  nvtxDomainRangePushEx(names.model, &narrow);
  launch();  // a.narrow
  nvtxRangePop();
  launch();  // narrow: each domain has a stack of its own
  nvtxDomainRangePop(names.model);
  launch();  // (none)
  {
    PROFILE_SCOPE("scope", stream);
    nvtxRangePushW(L"\u4e2d\U0001f600");
    launch();  // scope, the two characters
    nvtxRangePop();
    launch();  // scope
  }
  nvtxRangePop();
  nvtxDomainRangePop(names.model);
  launch();  // (none): pops without a push

  const nvtxRangeId_t first = nvtxRangeStartA("first");
  const nvtxRangeId_t second = nvtxDomainRangeStartEx(names.other, &wide);
  launch();  // first.wide
  std::thread([first] {
    nvtxRangeEnd(first);
    nvtxRangePushA("of another thread");
  }).join();
  launch();  // wide: the other thread has ended the first, and what it opened is its own
  nvtxDomainRangeEnd(names.other, second);
  launch();  // (none)

  nvtxDomainRangePushEx(names.nccl, &plain);
  nvtxMarkA("mark");
  nvtxDomainMarkEx(names.model, &plain);
  launch();  // (none): a library's own domain, and marks
  nvtxDomainRangePop(names.nccl);

  nvtxRangePushEx(&plain);
  const auto empty = attributes();
  nvtxRangePushEx(&empty);
  nvtxRangePushA(nullptr);
  nvtxRangePushA("");
  launch();  // plain
  for (int i = 0; i < 4; ++i)
    nvtxRangePop();

  for (int i = 0; i < 10000; ++i)
    nvtxRangePushA(i < 2 ? "deep" : "");
  launch();  // deep.deep
  for (int i = 0; i < 10000; ++i)
    nvtxRangePop();
  launch();  // (none)

  nvtxRangePushA("\x01\x1f\xff\xc3");
  launch();  // two control characters, two bytes that are no UTF-8
  nvtxRangePop();
}

long resident_kib() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void hostile(int count) {
  if (count == 0) return;
  const long before = resident_kib();
  for (int i = 0; i < count; ++i) {
    const std::string label = "label " + std::to_string(i) + std::string(200, 'x');
    nvtxRangePushA(label.c_str());
    static_cast<void>(nvtxDomainRegisterStringA(nullptr, label.c_str()));
    static_cast<void>(nvtxDomainCreateA(label.c_str()));
    static_cast<void>(nvtxRangeStartA(label.c_str()));  // never ended
    nvtxRangePop();
  }
  std::printf("grown by %ld KiB\n", resident_kib() - before);
}

}  // namespace

int main(int argc, char** argv) {
  host::open_context();
  kernel = host::load_kernels({"k"})[0];
  stream = host::open_stream();

  const Names names;
  // The application gets NVTX's own results, with or without the library.
  const int pushed = nvtxRangePushA("x");
  const int popped = nvtxRangePop();
  std::printf("push %d pop %d\n", pushed, popped);
  host::Arguments arguments(argc, argv);
  const bool is_marked = arguments.has("--marked");
  if (!is_marked) PROFILE_ITERATION();
  hostile(arguments.number("--hostile", 0));
  for (int i = 0; i < 4; ++i) {
    if (is_marked) nvtxRangePushA(("step " + std::to_string(i)).c_str());
    step(names);
    if (is_marked) {
      nvtxRangePop();
    } else {
      PROFILE_ITERATION();
    }
  }
  CHECK(cuCtxSynchronize());
  nvtxDomainDestroy(names.other);
  std::printf("host ok\n");
  return 0;
}
