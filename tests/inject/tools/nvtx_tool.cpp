// A user's own NVTX tool: writes every call that it gets to the file NVTX_TOOL_LOG.  It takes what
// NVTX_TOOL_TAKES asks for (all, ranges), and fails at its start where that is `nothing`.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

std::string in(nvtxDomainHandle_t domain) {
  return " in " + number(domain);
}

nvtxRangeId_t started(const std::string& line) {
  const std::uint64_t id = next_id();
  log(line + " " + std::to_string(id));
  return id;
}

template <typename Handle>
Handle made(const std::string& line) {
  auto* handle = reinterpret_cast<Handle>(next_handle());
  log(line + " " + number(handle));
  return handle;
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
  using Event = const nvtxEventAttributes_t*;
  using Domain = nvtxDomainHandle_t;
  take(
      core, NVTX_CBID_CORE_RangePushA, +[](const char* text) {
        log(std::string("push ") + (text == nullptr ? "(null)" : text));
        return 7;
      });
  take(
      core, NVTX_CBID_CORE_RangePushW, +[](const wchar_t*) { return log("push wide"), 8; });
  take(
      core, NVTX_CBID_CORE_RangePushEx,
      +[](Event event) { return log("push attributes " + message(event)), 9; });
  take(
      core, NVTX_CBID_CORE_RangePop, +[] { return log("pop"), 6; });
  take(
      core, NVTX_CBID_CORE_RangeStartA,
      +[](const char* text) { return started(std::string("start ") + text); });
  take(
      core, NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t id) { log("end " + std::to_string(id)); });
  take(
      core2, NVTX_CBID_CORE2_DomainRangePushEx, +[](Domain domain, Event event) {
        return log("push" + in(domain) + " " + message(event)), 3;
      });
  take(
      core2, NVTX_CBID_CORE2_DomainRangePop,
      +[](Domain domain) { return log("pop" + in(domain)), 2; });
  take(
      core2, NVTX_CBID_CORE2_DomainRangeStartEx, +[](Domain domain, Event event) {
        return started("start" + in(domain) + " " + message(event));
      });
  take(
      core2, NVTX_CBID_CORE2_DomainRangeEnd,
      +[](Domain domain, nvtxRangeId_t id) { log("end" + in(domain) + " " + std::to_string(id)); });
  if (takes == "nothing") return 0;
  if (takes == "ranges") return 1;
  take(
      core, NVTX_CBID_CORE_MarkA, +[](const char* text) { log(std::string("mark ") + text); });
  take(
      core2, NVTX_CBID_CORE2_DomainMarkEx,
      +[](Domain domain, Event event) { log("mark" + in(domain) + " " + message(event)); });
  take(
      core2, NVTX_CBID_CORE2_DomainCreateA,
      +[](const char* name) { return made<Domain>(std::string("domain ") + name); });
  take(
      core2, NVTX_CBID_CORE2_DomainCreateW,
      +[](const wchar_t*) { return made<Domain>("wide domain"); });
  take(
      core2, NVTX_CBID_CORE2_DomainDestroy,
      +[](Domain domain) { log("destroy " + number(domain)); });
  take(
      core2, NVTX_CBID_CORE2_DomainRegisterStringA, +[](Domain domain, const char* text) {
        return made<nvtxStringHandle_t>(std::string("string ") + text + in(domain));
      });
  take(
      core2, NVTX_CBID_CORE2_DomainRegisterStringW, +[](Domain domain, const wchar_t*) {
        return made<nvtxStringHandle_t>("wide string" + in(domain));
      });
  return 1;
}
