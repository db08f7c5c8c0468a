#include "labels/nvtx_ranges.hpp"

#include "hook/observer.hpp"
#include "labels/layer_path.hpp"
#include "labels/nvtx_names.hpp"

#include <cstdint>

namespace inline_prof::labels {

constinit std::array<std::atomic<NvtxFunctionPointer>, kNvtxFunctions> nvtx_tools_functions{};
constinit std::atomic<bool> has_nvtx_tool{false};

namespace {

// Indices into the table below.
enum Place : std::size_t {
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

// The chained tool's function; null if there is none.
template <typename Function>
Function tools(Place place) noexcept {
  return reinterpret_cast<Function>(nvtx_tools_functions[place].load(std::memory_order_relaxed));
}

// True if it is a range with which iterations begin.
bool encloses_iterations(const char* text) noexcept {
  hook::Observer* session = hook::observer();
  return text != nullptr && session != nullptr && session->range_opens(text);
}

void open_pushed(RangeOwner owner, const char* text) noexcept {
  if (owner == kNoLayers) return;
  push_range(owner, encloses_iterations(text) ? nullptr : text);
}

void close_pushed(RangeOwner owner) noexcept {
  if (owner != kNoLayers) pop_range(owner);
}

// Range ids if no tool provides them; 0 is never used.
constinit std::atomic<std::uint64_t> last_id{0};

nvtxRangeId_t open_started(RangeOwner owner, const char* text, nvtxRangeId_t tools_id) noexcept {
  const nvtxRangeId_t id =
      tools_id != 0 ? tools_id : last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  if (owner == kNoLayers) return id;
  start_range(id, encloses_iterations(text) ? nullptr : text);
  return id;
}

// --- push and pop.  Without a tool the result is that of NVTX alone: no level is tracked.

int push_ex(const nvtxEventAttributes_t* attributes) {
  NvtxText buffer;
  open_pushed(kDefaultRangeOwner, text_of(attributes, buffer));
  const auto tool = tools<nvtxRangePushEx_impl_fntype>(kRangePushEx);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool(attributes);
}

int push_a(const char* message) {
  open_pushed(kDefaultRangeOwner, message);
  const auto tool = tools<nvtxRangePushA_impl_fntype>(kRangePushA);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool(message);
}

int push_w(const wchar_t* message) {
  NvtxText buffer;
  open_pushed(kDefaultRangeOwner, utf8_of(message, buffer));
  const auto tool = tools<nvtxRangePushW_impl_fntype>(kRangePushW);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool(message);
}

int pop() {
  close_pushed(kDefaultRangeOwner);
  const auto tool = tools<nvtxRangePop_impl_fntype>(kRangePop);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool();
}

int domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  NvtxText buffer;
  open_pushed(owner_of(domain), text_of(attributes, buffer));
  const auto tool = tools<nvtxDomainRangePushEx_impl_fntype>(kDomainRangePushEx);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool(domain, attributes);
}

int domain_pop(nvtxDomainHandle_t domain) {
  close_pushed(owner_of(domain));
  const auto tool = tools<nvtxDomainRangePop_impl_fntype>(kDomainRangePop);
  return tool == nullptr ? NVTX_NO_PUSH_POP_TRACKING : tool(domain);
}

// --- start and end

nvtxRangeId_t start_ex(const nvtxEventAttributes_t* attributes) {
  NvtxText buffer;
  const auto tool = tools<nvtxRangeStartEx_impl_fntype>(kRangeStartEx);
  return open_started(kDefaultRangeOwner, text_of(attributes, buffer),
                      tool == nullptr ? 0 : tool(attributes));
}

nvtxRangeId_t start_a(const char* message) {
  const auto tool = tools<nvtxRangeStartA_impl_fntype>(kRangeStartA);
  return open_started(kDefaultRangeOwner, message, tool == nullptr ? 0 : tool(message));
}

nvtxRangeId_t start_w(const wchar_t* message) {
  NvtxText buffer;
  const auto tool = tools<nvtxRangeStartW_impl_fntype>(kRangeStartW);
  return open_started(kDefaultRangeOwner, utf8_of(message, buffer),
                      tool == nullptr ? 0 : tool(message));
}

void end(nvtxRangeId_t id) {
  end_range(id);
  if (const auto tool = tools<nvtxRangeEnd_impl_fntype>(kRangeEnd)) tool(id);
}

nvtxRangeId_t domain_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  NvtxText buffer;
  const auto tool = tools<nvtxDomainRangeStartEx_impl_fntype>(kDomainRangeStartEx);
  return open_started(owner_of(domain), text_of(attributes, buffer),
                      tool == nullptr ? 0 : tool(domain, attributes));
}

void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  end_range(id);
  const auto tool = tools<nvtxDomainRangeEnd_impl_fntype>(kDomainRangeEnd);
  if (tool != nullptr) tool(domain, id);
}

// --- names.  With a tool, the application's handles are the tool's, even if they are null: it must
// get back only its own.

template <typename Handle, typename Make, typename Remember>
Handle handle_for(const char* where, Handle tools_handle, const Make& make,
                  const Remember& remember) noexcept {
  Handle handle = tools_handle;
  hook::fenced(where, [&] {
    if (!has_nvtx_tool.load(std::memory_order_relaxed)) {
      handle = make();
    } else if (handle != nullptr) {
      remember();
    }
  });
  return handle;
}

nvtxStringHandle_t registered(const char* text, nvtxStringHandle_t tools_string) noexcept {
  return handle_for(
      "nvtxDomainRegisterString", tools_string, [&] { return string_handle(text); },
      [&] { remember_string(tools_string, text); });
}

nvtxStringHandle_t register_string_a(nvtxDomainHandle_t domain, const char* text) {
  const auto tool = tools<nvtxDomainRegisterStringA_impl_fntype>(kDomainRegisterStringA);
  return registered(text, tool == nullptr ? nullptr : tool(domain, text));
}

nvtxStringHandle_t register_string_w(nvtxDomainHandle_t domain, const wchar_t* text) {
  NvtxText buffer;
  const auto tool = tools<nvtxDomainRegisterStringW_impl_fntype>(kDomainRegisterStringW);
  return registered(utf8_of(text, buffer), tool == nullptr ? nullptr : tool(domain, text));
}

nvtxDomainHandle_t created(const char* name, nvtxDomainHandle_t tools_domain) noexcept {
  return handle_for(
      "nvtxDomainCreate", tools_domain, [&] { return domain_handle(name); },
      [&] { remember_domain(tools_domain, name); });
}

nvtxDomainHandle_t domain_create_a(const char* name) {
  const auto tool = tools<nvtxDomainCreateA_impl_fntype>(kDomainCreateA);
  return created(name, tool == nullptr ? nullptr : tool(name));
}

nvtxDomainHandle_t domain_create_w(const wchar_t* name) {
  NvtxText buffer;
  const auto tool = tools<nvtxDomainCreateW_impl_fntype>(kDomainCreateW);
  return created(utf8_of(name, buffer), tool == nullptr ? nullptr : tool(name));
}

template <typename Function>
NvtxFunctionPointer as_pointer(Function* function) noexcept {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

const std::array<NvtxFunction, kNvtxFunctions>& nvtx_functions() noexcept {
  static const std::array<NvtxFunction, kNvtxFunctions> functions{{
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartEx, as_pointer(start_ex)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartA, as_pointer(start_a)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartW, as_pointer(start_w)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeEnd, as_pointer(end)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, as_pointer(push_ex)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, as_pointer(push_a)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushW, as_pointer(push_w)},
      {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, as_pointer(pop)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeStartEx, as_pointer(domain_start_ex)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeEnd, as_pointer(domain_end)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, as_pointer(domain_push_ex)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, as_pointer(domain_pop)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, as_pointer(register_string_a)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringW, as_pointer(register_string_w)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, as_pointer(domain_create_a)},
      {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateW, as_pointer(domain_create_w)},
  }};
  return functions;
}

}  // namespace inline_prof::labels
