#include "labels/nvtx_names.hpp"

#include "labels/xla_fusions.hpp"
#include "sys/locked.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

namespace inline_prof::labels {
namespace {

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

}  // namespace

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

nvtxStringHandle_t string_handle(const char* text) {
  const sys::Locked<NameBook> names;
  return reinterpret_cast<nvtxStringHandle_t>(string_with(*names, text));
}

void remember_string(nvtxStringHandle_t tools, const char* text) {
  const sys::Locked<NameBook> names;
  tools_strings.put(tools, string_with(*names, text));
}

nvtxDomainHandle_t domain_handle(const char* name) {
  const sys::Locked<NameBook> names;
  return reinterpret_cast<nvtxDomainHandle_t>(domain_named(*names, std::string(cut(name))));
}

void remember_domain(nvtxDomainHandle_t tools, const char* name) {
  const sys::Locked<NameBook> names;
  tools_domains.put(tools, domain_named(*names, std::string(cut(name))));
}

RangeOwner owner_of(nvtxDomainHandle_t domain) noexcept {
  if (domain == nullptr) return kDefaultRangeOwner;
  if (is_one_of(domains, domain)) return reinterpret_cast<const Domain*>(domain)->owner;
  const Domain* known = tools_domains.find(domain);
  return known == nullptr ? reinterpret_cast<RangeOwner>(domain) : known->owner;
}

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

}  // namespace inline_prof::labels
