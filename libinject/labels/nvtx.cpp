#include "labels/nvtx.hpp"

#include "hook/export.hpp"
#include "hook/observer.hpp"
#include "labels/layer_path.hpp"
#include "labels/xla_fusions.hpp"
#include "sys/handle_table.hpp"
#include "sys/locked.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

INLINE_PROF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
INLINE_PROF_EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table);

namespace inline_prof::labels {

constinit std::array<NvtxEntry, 2> nvtx_entries{{
    {.symbol = "InitializeInjectionNvtx2", .ours = InitializeInjectionNvtx2},
    {.symbol = "InitializeInjectionNvtx", .ours = InitializeInjectionNvtx},
}};

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
// With room for twice as many, so that probes stay short.
constinit sys::HandleTable<const void*, const String, 2 * kMostStrings> tools_strings;
constinit sys::HandleTable<const void*, const Domain, 2 * kMostDomains> tools_domains;

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
  return std::ranges::find(libraries, name) != libraries.end();
}

// The first record is that of all libraries, the last one is shared by all domains that find the
// others taken.
Domain* domain_named(NameBook& book, const char* whole) {
  const std::string name(cut(whole));
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

// Returns the text of a call whose last argument is this; null if it has none. It is valid during
// the call and while `buffer` exists.
const char* text_of(NvtxText&, const char* text) noexcept {
  return text;
}

// `wide` (UTF-32 on Linux) as UTF-8.  U+FFFD replaces what is no code point.
const char* text_of(NvtxText& buffer, const wchar_t* wide) noexcept {
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

const char* text_of(NvtxText& buffer, const nvtxEventAttributes_t* attributes) noexcept {
  if (attributes == nullptr || attributes->size < sizeof(nvtxEventAttributes_t)) return nullptr;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii;
    case NVTX_MESSAGE_TYPE_UNICODE:
      return text_of(buffer, attributes->message.unicode);
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

template <typename Last>
const char* text_of(NvtxText& buffer, nvtxDomainHandle_t, Last last) noexcept {
  return text_of(buffer, last);
}

// Which stack the ranges of a call with these arguments are on.
template <typename... Arguments>
RangeOwner owner_of(Arguments...) noexcept {
  return kDefaultRangeOwner;
}
template <typename... Arguments>
RangeOwner owner_of(nvtxDomainHandle_t domain, Arguments...) noexcept {
  if (domain == nullptr) return kDefaultRangeOwner;
  if (is_one_of(domains, domain)) return reinterpret_cast<const Domain*>(domain)->owner;
  const Domain* known = tools_domains.find(domain);
  return known == nullptr ? reinterpret_cast<RangeOwner>(domain) : known->owner;
}

// --- our functions.  Those of one kind differ in their arguments: with a domain or without, and
// with a text in each form.

// X(module, NVTX's name, ours)
#define INLINE_PROF_NVTX_FUNCTIONS(X)              \
  X(CORE, RangeStartEx, start)                     \
  X(CORE, RangeStartA, start)                      \
  X(CORE, RangeStartW, start)                      \
  X(CORE, RangeEnd, end)                           \
  X(CORE, RangePushEx, push)                       \
  X(CORE, RangePushA, push)                        \
  X(CORE, RangePushW, push)                        \
  X(CORE, RangePop, pop)                           \
  X(CORE2, DomainRangeStartEx, start)              \
  X(CORE2, DomainRangeEnd, end)                    \
  X(CORE2, DomainRangePushEx, push)                \
  X(CORE2, DomainRangePop, pop)                    \
  X(CORE2, DomainRegisterStringA, register_string) \
  X(CORE2, DomainRegisterStringW, register_string) \
  X(CORE2, DomainCreateA, create_domain)           \
  X(CORE2, DomainCreateW, create_domain)

// Indices into `tools_functions` and functions().
enum Place : std::size_t {
#define INLINE_PROF_NVTX_PLACE(module, name, ours) k##name,
  INLINE_PROF_NVTX_FUNCTIONS(INLINE_PROF_NVTX_PLACE)
#undef INLINE_PROF_NVTX_PLACE
};
constexpr std::size_t kFunctions = kDomainCreateW + 1;

// The chained tool's functions; null if there is none.
constinit std::array<std::atomic<NvtxFunctionPointer>, kFunctions> tools_functions{};
constinit std::atomic<bool> has_tool{false};

template <Place kPlace, typename Signature>
Signature* tools() noexcept {
  return reinterpret_cast<Signature*>(tools_functions[kPlace].load(std::memory_order_relaxed));
}

// Passes a call on.  `without` is its result if there is no tool.
template <Place kPlace, typename R, typename... A>
R tools_result(R without, A... arguments) {
  const auto tool = tools<kPlace, R(A...)>();
  return tool == nullptr ? without : tool(arguments...);
}

// Returns null for a range with which iterations begin: it is no layer.
const char* layer_of(const char* text) noexcept {
  hook::Observer* session = hook::observer();
  return text != nullptr && session != nullptr && session->range_opens(text) ? nullptr : text;
}

// Without a tool the result is that of NVTX alone: no level is tracked.
template <Place kPlace, typename... A>
int push(A... arguments) {
  NvtxText buffer;
  const RangeOwner owner = owner_of(arguments...);
  if (owner != kNoLayers) push_range(owner, layer_of(text_of(buffer, arguments...)));
  return tools_result<kPlace>(NVTX_NO_PUSH_POP_TRACKING, arguments...);
}

template <Place kPlace, typename... A>
int pop(A... arguments) {
  const RangeOwner owner = owner_of(arguments...);
  if (owner != kNoLayers) pop_range(owner);
  return tools_result<kPlace>(NVTX_NO_PUSH_POP_TRACKING, arguments...);
}

// Range ids if no tool provides them; 0 is never used.
constinit std::atomic<std::uint64_t> last_id{0};

template <Place kPlace, typename... A>
nvtxRangeId_t start(A... arguments) {
  NvtxText buffer;
  nvtxRangeId_t id = tools_result<kPlace>(nvtxRangeId_t{0}, arguments...);
  if (id == 0) id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  if (owner_of(arguments...) != kNoLayers) start_range(id, layer_of(text_of(buffer, arguments...)));
  return id;
}

template <Place kPlace, typename... A>
void end(A... arguments) {
  end_range(std::get<sizeof...(A) - 1>(std::tuple(arguments...)));
  const auto tool = tools<kPlace, void(A...)>();
  if (tool != nullptr) tool(arguments...);
}

// Gives a string or a domain our record, which `record_of` finds or makes, and returns its handle:
// the record's address, or with a tool the tool's handle, even if it is null: the tool must get
// back only its own.
template <typename Handle, typename Table, typename Record>
Handle handle_for(const char* where, Handle handle, const char* text, Table& tools_handles,
                  Record* (*record_of)(NameBook&, const char*)) noexcept {
  hook::fenced(where, [&] {
    const bool is_tools = has_tool.load(std::memory_order_relaxed);
    if (is_tools && handle == nullptr) return;
    const sys::Locked<NameBook> names;
    Record* const record = record_of(*names, text);
    if (is_tools) {
      if (auto* const place = tools_handles.place_of(handle, true))
        place->store(record, std::memory_order_release);
    } else {
      handle = reinterpret_cast<Handle>(record);
    }
  });
  return handle;
}

template <Place kPlace, typename... A>
nvtxStringHandle_t register_string(A... arguments) {
  NvtxText buffer;
  return handle_for("nvtxDomainRegisterString",
                    tools_result<kPlace>(nvtxStringHandle_t{nullptr}, arguments...),
                    text_of(buffer, arguments...), tools_strings, string_with);
}

template <Place kPlace, typename... A>
nvtxDomainHandle_t create_domain(A... arguments) {
  NvtxText buffer;
  return handle_for("nvtxDomainCreate",
                    tools_result<kPlace>(nvtxDomainHandle_t{nullptr}, arguments...),
                    text_of(buffer, arguments...), tools_domains, domain_named);
}

struct Function {
  NvtxCallbackModule module;
  unsigned id;  // NvtxCallbackIdCore or NvtxCallbackIdCore2
  NvtxFunctionPointer ours;
};

const std::array<Function, kFunctions>& functions() noexcept {
  static const std::array<Function, kFunctions> all{{
// NOLINTBEGIN(bugprone-macro-parentheses): names of templates
#define INLINE_PROF_NVTX_ROW(module, name, ours)         \
  {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, \
   reinterpret_cast<NvtxFunctionPointer>(static_cast<nvtx##name##_impl_fntype>(&ours<k##name>))},
      INLINE_PROF_NVTX_FUNCTIONS(INLINE_PROF_NVTX_ROW)
#undef INLINE_PROF_NVTX_ROW
      // NOLINTEND(bugprone-macro-parentheses)
  }};
  return all;
}

// --- how NVTX finds them

// Returns this copy of NVTX's pointer to `function`; null if it has no such function.
NvtxFunctionPointer* place_in(const NvtxExportTableCallbacks& callbacks, const Function& function) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(function.module, &table, &size) == 0 || table == nullptr ||
      function.id >= size) {
    return nullptr;
  }
  return table[function.id];
}

// False if the chained tool has set another function than in an earlier copy of NVTX; then that one
// stays in place.
bool chain(std::size_t i, NvtxFunctionPointer tools) noexcept {
  NvtxFunctionPointer known = nullptr;
  return tools_functions[i].compare_exchange_strong(known, tools) || known == tools;
}

// Each library that uses NVTX has its own copy, which calls this at its first use.
int initialize(NvtxGetExportTableFunc_t get_export_table, void* tools_entry) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  const auto tool = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(tools_entry);
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) {
    return tool == nullptr ? 0 : tool(get_export_table);
  }
  std::array<NvtxFunctionPointer*, kFunctions> places{};
  std::array<NvtxFunctionPointer, kFunctions> untouched{};
  for (std::size_t i = 0; i < kFunctions; ++i) {
    places[i] = place_in(*callbacks, functions()[i]);
    if (places[i] != nullptr) untouched[i] = *places[i];
  }
  const bool is_chained = tool != nullptr && tool(get_export_table) != 0;
  if (is_chained) has_tool.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kFunctions; ++i) {
    if (places[i] == nullptr) continue;
    // A pointer that the tool has not set still leads to NVTX's initialization, and one that it has
    // set before failing must not be called.
    const bool is_tools = is_chained && *places[i] != untouched[i];
    if (!is_tools || chain(i, *places[i])) *places[i] = functions()[i].ours;
  }
  return 1;
}

}  // namespace

}  // namespace inline_prof::labels

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace inline_prof::labels;
  return initialize(get_export_table, nvtx_entries[0].tools.load(std::memory_order_acquire));
}

int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table) {
  using namespace inline_prof::labels;
  return initialize(get_export_table, nvtx_entries[1].tools.load(std::memory_order_acquire));
}
