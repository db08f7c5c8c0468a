// A user's own NVTX tool: writes every call that it gets to the file NVTX_TOOL_LOG.  It takes what
// NVTX_TOOL_TAKES asks for (all, ranges), and fails at its start where that is `nothing`.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;

void log(const std::string& line) {
  const std::lock_guard lock(mutex);
  static std::FILE* const file = std::fopen(std::getenv("NVTX_TOOL_LOG"), "a");
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

// Handles point to nothing of use; logged as numbers, which are the same in every run.
std::array<char, 4096> handles;

char* next_handle() {
  const std::lock_guard lock(mutex);
  static std::size_t last = 0;
  return &handles.at(++last);
}

std::string number(const void* handle) {
  if (handle == nullptr) return "none";
  return std::to_string(static_cast<const char*>(handle) - handles.data());
}

std::uint64_t next_id() {
  const std::lock_guard lock(mutex);
  static std::uint64_t last = 100;
  return ++last;
}

std::string message(const nvtxEventAttributes_t* event) {
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return event->message.ascii;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return "string " + number(event->message.registered);
    default:
      return "";
  }
}

int push_a(const char* text) {
  log(std::string("push ") + (text == nullptr ? "(null)" : text));
  return 7;
}
int push_w(const wchar_t*) {
  log("push wide");
  return 8;
}
int push_ex(const nvtxEventAttributes_t* event) {
  log("push attributes " + message(event));
  return 9;
}
int pop() {
  log("pop");
  return 6;
}
nvtxRangeId_t start_a(const char* text) {
  const std::uint64_t id = next_id();
  log("start " + std::string(text) + " " + std::to_string(id));
  return id;
}
void end(nvtxRangeId_t id) {
  log("end " + std::to_string(id));
}
void mark_a(const char* text) {
  log("mark " + std::string(text));
}
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  log("push in " + number(domain) + " " + message(event));
  return 3;
}
int domain_pop(nvtxDomainHandle_t domain) {
  log("pop in " + number(domain));
  return 2;
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::uint64_t id = next_id();
  log("start in " + number(domain) + " " + message(event) + " " + std::to_string(id));
  return id;
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  log("end in " + number(domain) + " " + std::to_string(id));
}
void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  log("mark in " + number(domain) + " " + message(event));
}
nvtxDomainHandle_t create_a(const char* name) {
  auto* made = reinterpret_cast<nvtxDomainHandle_t>(next_handle());
  log("domain " + std::string(name) + " " + number(made));
  return made;
}
nvtxDomainHandle_t create_w(const wchar_t*) {
  auto* made = reinterpret_cast<nvtxDomainHandle_t>(next_handle());
  log("wide domain " + number(made));
  return made;
}
void destroy(nvtxDomainHandle_t domain) {
  log("destroy " + number(domain));
}
nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char* text) {
  auto* made = reinterpret_cast<nvtxStringHandle_t>(next_handle());
  log("string " + std::string(text) + " in " + number(domain) + " " + number(made));
  return made;
}
nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t*) {
  auto* made = reinterpret_cast<nvtxStringHandle_t>(next_handle());
  log("wide string in " + number(domain) + " " + number(made));
  return made;
}

template <typename Function>
void take(NvtxFunctionTable table, unsigned id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr;
  NvtxFunctionTable core2 = nullptr;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, nullptr);
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, nullptr);
  const std::string takes = std::getenv("NVTX_TOOL_TAKES");
  take(core, NVTX_CBID_CORE_RangePushA, push_a);
  take(core, NVTX_CBID_CORE_RangePushW, push_w);
  take(core, NVTX_CBID_CORE_RangePushEx, push_ex);
  take(core, NVTX_CBID_CORE_RangePop, pop);
  take(core, NVTX_CBID_CORE_RangeStartA, start_a);
  take(core, NVTX_CBID_CORE_RangeEnd, end);
  take(core2, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  take(core2, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  take(core2, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  take(core2, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  if (takes == "nothing") return 0;
  if (takes == "ranges") return 1;
  take(core, NVTX_CBID_CORE_MarkA, mark_a);
  take(core2, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  take(core2, NVTX_CBID_CORE2_DomainCreateA, create_a);
  take(core2, NVTX_CBID_CORE2_DomainCreateW, create_w);
  take(core2, NVTX_CBID_CORE2_DomainDestroy, destroy);
  take(core2, NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
  take(core2, NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
  return 1;
}
