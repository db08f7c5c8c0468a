#include "labels/nvtx_ranges.hpp"

#include "hook/observer.hpp"
#include "labels/layer_path.hpp"
#include "labels/xla_fusions.hpp"
#include "sys/locked.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

namespace inline_prof::labels {

constinit std::array<std::atomic<NvtxFunctionPointer>, kNvtxFunctions> nvtx_tools_functions{};
constinit std::atomic<bool> has_nvtx_tool{false};

namespace {

// --- the texts of what is passed to NVTX: event attributes, registered strings, domains

// As long as a layer path may be; longer texts are cut.
using NvtxText = std::array<char, 257>;

// The owner of ranges in a library's domain.
constexpr RangeOwner kNoLayers = 0;

// Limits of what an application can make us keep.  Further strings have no text, and further
// domains share one record.
// 16384: XLA registers one for each instruction that it compiles.
constexpr std::size_t kMostStrings = 16384;
constexpr std::size_t kMostDomains = 256;

// Maps handles of a chained tool to our records.  It has twice as many slots as records, so that
// probes stay short; entries are replaced but never removed.
template <typename Value, std::size_t kMost>
class HandleTable {
 public:
  [[nodiscard]] const Value* find(const void* handle) const noexcept {
    for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
      const Entry& entry = entries_[place_of(handle, probe)];
      const void* key = entry.key.load(std::memory_order_acquire);
      if (key == handle) return entry.value.load(std::memory_order_acquire);
      if (key == nullptr) return nullptr;
    }
    return nullptr;
  }
  // One caller at a time.  If all probed slots are taken, the handle stays unknown.
  void put(const void* handle, const Value* value) noexcept {
    for (std::size_t probe = 0; probe < kLongestProbe; ++probe) {
      Entry& entry = entries_[place_of(handle, probe)];
      const void* key = entry.key.load(std::memory_order_relaxed);
      if (key != nullptr && key != handle) continue;
      entry.value.store(value, std::memory_order_release);
      entry.key.store(handle, std::memory_order_release);
      return;
    }
  }

 private:
  static constexpr std::size_t kSize = 2 * kMost;
  static constexpr std::size_t kLongestProbe = 32;

  struct Entry {
    std::atomic<const void*> key;
    std::atomic<const Value*> value;
  };
  static std::size_t place_of(const void* handle, std::size_t probe) noexcept {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
    return (((address * 0x9E3779B97F4A7C15ULL) >> 32) + probe) % kSize;
  }

  std::array<Entry, kSize> entries_{};
};

// Our own handles are addresses of these records.
struct String {
  const char* text;  // never freed
};
struct Domain {
  RangeOwner owner;
};

template <typename Record, std::size_t kMost>
bool is_one_of(const std::array<Record, kMost>& records, const void* handle) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(handle);
  const auto begin = reinterpret_cast<std::uintptr_t>(records.data());
  return address >= begin && address < begin + sizeof records &&
         (address - begin) % sizeof(Record) == 0;
}

// Read without a lock: other threads get a handle from the application, which synchronizes them.
constinit std::array<String, kMostStrings> strings{};
constinit std::array<Domain, kMostDomains> domains{};
constinit HandleTable<String, kMostStrings> tools_strings;
constinit HandleTable<Domain, kMostDomains> tools_domains;

struct NameBook {
  std::unordered_map<std::string_view, String*> string_by_text;
  std::unordered_map<std::string, Domain*> domain_by_name;
};

std::string_view cut(const char* text) noexcept {
  if (text == nullptr) return "";
  return {text, strnlen(text, std::tuple_size_v<NvtxText> - 1)};
}

// The last record is shared by all strings that find the others taken.
String* string_with(NameBook& book, const char* whole) {
  if (whole != nullptr && note_xla_text(whole)) return &strings.back();
  const std::string_view text = cut(whole);
  const auto known = book.string_by_text.find(text);
  if (known != book.string_by_text.end()) return known->second;
  const std::size_t count = book.string_by_text.size();
  if (count == kMostStrings - 1) return &strings.back();
  auto* kept = new char[text.size() + 1];
  *std::copy(text.begin(), text.end(), kept) = '\0';
  strings[count].text = kept;
  book.string_by_text.emplace(std::string_view(kept, text.size()), &strings[count]);
  return &strings[count];
}

// True for domains in which NVIDIA's libraries annotate their own calls (docs/layers.md).
bool is_library_domain(std::string_view name) noexcept {
  // NCCL: src/include/nvtx.h, "NCCL"; CCCL: cub/detail/nvtx.cuh, "CCCL"; the others by the domains
  // that their libraries create (CUDA 13.0).
  constexpr std::array<std::string_view, 14> libraries{
      "NCCL",     "cuBLAS",     "cuBLASLt", "cuBLASXt", "cuDNN",   "CCCL",   "cuSOLVER",
      "cuSPARSE", "cuSPARSELt", "cuFFT",    "cuRAND",   "NVSHMEM", "cuFile", "TensorRT"};
  for (const std::string_view known : libraries) {
    if (name == known) return true;
  }
  return false;
}

// The first record is that of all libraries, the last one is shared by all domains that find the
// others taken.
Domain* domain_named(NameBook& book, const std::string& name) {
  if (is_library_domain(name)) return &domains.front();
  const auto known = book.domain_by_name.find(name);
  if (known != book.domain_by_name.end()) return known->second;
  const std::size_t at = std::min(book.domain_by_name.size() + 1, kMostDomains - 1);
  // Other threads read the owner without a lock.
  if (domains[at].owner == kNoLayers)
    domains[at].owner = reinterpret_cast<RangeOwner>(&domains[at]);
  if (at < kMostDomains - 1) book.domain_by_name.emplace(name, &domains[at]);
  return &domains[at];
}

// `wide` (UTF-32 on Linux) as UTF-8, in `buffer`.  U+FFFD replaces what is no code point.
const char* utf8_of(const wchar_t* wide, NvtxText& buffer) noexcept {
  if (wide == nullptr) return nullptr;
  std::size_t length = 0;
  for (; *wide != L'\0'; ++wide) {
    std::uint32_t code = static_cast<char32_t>(*wide);
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
    const std::size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (length + bytes >= buffer.size()) break;
    constexpr std::array<std::uint32_t, 5> lead{0, 0, 0xC0, 0xE0, 0xF0};
    for (std::size_t i = bytes; i > 1; --i) {
      buffer[length + i - 1] = static_cast<char>(0x80U | (code & 0x3FU));
      code >>= 6;
    }
    buffer[length] = static_cast<char>(lead[bytes] | code);
    length += bytes;
  }
  buffer[length] = '\0';
  return buffer.data();
}

// The message of an event, valid during the call and while `buffer` exists; null if there is none.
const char* text_of(const nvtxEventAttributes_t* attributes, NvtxText& buffer) noexcept {
  if (attributes == nullptr || attributes->size < sizeof(nvtxEventAttributes_t)) return nullptr;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii;
    case NVTX_MESSAGE_TYPE_UNICODE:
      return utf8_of(attributes->message.unicode, buffer);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const void* handle = attributes->message.registered;
      if (handle == nullptr) return nullptr;
      const auto* string = is_one_of(strings, handle) ? static_cast<const String*>(handle)
                                                      : tools_strings.find(handle);
      return string == nullptr ? nullptr : string->text;
    }
    default:
      return nullptr;
  }
}

// Which stack the ranges of `domain` are on.
RangeOwner owner_of(nvtxDomainHandle_t domain) noexcept {
  if (domain == nullptr) return kDefaultRangeOwner;
  if (is_one_of(domains, domain)) return reinterpret_cast<const Domain*>(domain)->owner;
  const Domain* known = tools_domains.find(domain);
  return known == nullptr ? reinterpret_cast<RangeOwner>(domain) : known->owner;
}

// --- functions

// X(module, NVTX's name, ours)
#define INLINE_PROF_NVTX_FUNCTIONS(X)                \
  X(CORE, RangeStartEx, start_ex)                    \
  X(CORE, RangeStartA, start_a)                      \
  X(CORE, RangeStartW, start_w)                      \
  X(CORE, RangeEnd, end)                             \
  X(CORE, RangePushEx, push_ex)                      \
  X(CORE, RangePushA, push_a)                        \
  X(CORE, RangePushW, push_w)                        \
  X(CORE, RangePop, pop)                             \
  X(CORE2, DomainRangeStartEx, domain_start_ex)      \
  X(CORE2, DomainRangeEnd, domain_end)               \
  X(CORE2, DomainRangePushEx, domain_push_ex)        \
  X(CORE2, DomainRangePop, domain_pop)               \
  X(CORE2, DomainRegisterStringA, register_string_a) \
  X(CORE2, DomainRegisterStringW, register_string_w) \
  X(CORE2, DomainCreateA, domain_create_a)           \
  X(CORE2, DomainCreateW, domain_create_w)

// Indices into the table below.
enum Place : std::size_t {
#define INLINE_PROF_NVTX_PLACE(module, name, ours) k##name,
  INLINE_PROF_NVTX_FUNCTIONS(INLINE_PROF_NVTX_PLACE)
#undef INLINE_PROF_NVTX_PLACE
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

// `record_of` finds or makes our record, whose address is the application's handle without a tool.
template <typename Handle, typename Table, typename RecordOf>
Handle handle_for(const char* where, Handle handle, Table& tools_handles,
                  const RecordOf& record_of) noexcept {
  hook::fenced(where, [&] {
    const bool has_tool = has_nvtx_tool.load(std::memory_order_relaxed);
    if (has_tool && handle == nullptr) return;
    const sys::Locked<NameBook> names;
    auto* const record = record_of(*names);
    if (has_tool) {
      tools_handles.put(handle, record);
    } else {
      handle = reinterpret_cast<Handle>(record);
    }
  });
  return handle;
}

nvtxStringHandle_t registered(const char* text, nvtxStringHandle_t tools_string) noexcept {
  return handle_for("nvtxDomainRegisterString", tools_string, tools_strings,
                    [&](NameBook& names) { return string_with(names, text); });
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
  return handle_for("nvtxDomainCreate", tools_domain, tools_domains,
                    [&](NameBook& names) { return domain_named(names, std::string(cut(name))); });
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
#define INLINE_PROF_NVTX_ROW(module, name, ours) \
  {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, as_pointer(ours)},
      INLINE_PROF_NVTX_FUNCTIONS(INLINE_PROF_NVTX_ROW)
#undef INLINE_PROF_NVTX_ROW
  }};
  return functions;
}

}  // namespace inline_prof::labels
