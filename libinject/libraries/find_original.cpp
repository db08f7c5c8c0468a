// Finds the function that a call would have reached without us. RTLD_NEXT does not suffice: it does
// not see libraries loaded by dlopen(RTLD_LOCAL), as all of them are under Python.
#include "hook/guard.hpp"
#include "libraries/library_calls.hpp"
#include "sys/large_stack.hpp"
#include "sys/original_dlsym.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <mutex>

namespace inline_prof::libraries {
namespace {

struct LoadedObject {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::array<char, PATH_MAX> path{};  // empty for the main program
};

struct ObjectSearch {
  std::uintptr_t address;
  LoadedObject* found;
};

// Copies the path, because dlopen must not be called inside dl_iterate_phdr.
int object_with(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<ObjectSearch*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, object->dlpi_addr + segment.p_vaddr);
    end = std::max(end, object->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (search.address < begin || search.address >= end) return 0;
  search.found->begin = begin;
  search.found->end = end;
  const char* path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  std::strncpy(search.found->path.data(), path, search.found->path.size() - 1);
  return 1;
}

bool find_object(const void* address, LoadedObject& found) {
  ObjectSearch search{.address = reinterpret_cast<std::uintptr_t>(address), .found = &found};
  return dl_iterate_phdr(object_with, &search) == 1;
}

struct LibrarySearch {
  const char* stem;
  std::size_t skip;  // libraries of this name that were already searched
  std::array<char, PATH_MAX> path{};
};

int library_named(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<LibrarySearch*>(data);
  const char* path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const std::size_t length = std::strlen(search.stem);
  if (std::strncmp(name, search.stem, length) != 0) return 0;
  if (name[length] != '\0' && name[length] != '.') return 0;
  if (search.skip > 0) {
    --search.skip;
    return 0;
  }
  std::strncpy(search.path.data(), path, search.path.size() - 1);
  return 1;
}

// Searches a loaded object and its dependencies.  For the main program that is the global scope, in
// which this library comes first.
void* symbol_in(const char* path, const char* symbol) {
  const bool is_main = *path == '\0';
  void* object = dlopen(is_main ? nullptr : path, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return nullptr;
  void* found = sys::glibc_dlsym()(object, symbol);
  if (is_ours(found)) found = is_main ? sys::glibc_dlsym()(RTLD_NEXT, symbol) : nullptr;
  dlclose(object);
  return found;
}

void* in_any_copy(const LibraryCall& call) {
  for (std::size_t i = 0;; ++i) {
    LibrarySearch search{.stem = name_of(call.library).stem, .skip = i};
    if (dl_iterate_phdr(library_named, &search) == 0) return nullptr;
    if (void* found = symbol_in(search.path.data(), call.symbol)) return found;
  }
}

// Never closes the library: a remembered function must not belong to an unloaded one.
void keep_loaded(void* function) {
  Dl_info library{};
  if (dladdr(function, &library) == 0 || library.dli_fname == nullptr) return;
  static_cast<void>(dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
}

constinit std::mutex callers_mutex;

void remember(LibraryCall& call, const LoadedObject& object, void* real) {
  const std::lock_guard lock(callers_mutex);
  for (CallingObject& place : call.callers) {
    if (place.begin.load(std::memory_order_relaxed) == object.begin) return;
    if (place.begin.load(std::memory_order_relaxed) != 0) continue;
    place.size.store(object.end - object.begin, std::memory_order_relaxed);
    place.real.store(real, std::memory_order_relaxed);
    place.begin.store(object.begin, std::memory_order_release);
    return;
  }
}

void* find_original_call_here(LibraryCall& call, const void* caller) {
  LoadedObject object;
  const bool is_known = find_object(caller, object);
  void* real = is_known ? symbol_in(object.path.data(), call.symbol) : nullptr;
  if (real == nullptr) real = in_any_copy(call);
  if (real != nullptr) {
    keep_loaded(real);
    if (is_known) remember(call, object, real);
  }
  dlerror();  // NOLINT(concurrency-mt-unsafe): our failed look-ups are not the application's
  return real;
}

}  // namespace

bool is_ours(const void* address) noexcept {
  Dl_info ours{};
  Dl_info theirs{};
  return address != nullptr && dladdr(address, &theirs) != 0 &&
         dladdr(reinterpret_cast<const void*>(&is_ours), &ours) != 0 &&
         ours.dli_fbase == theirs.dli_fbase;
}

// Paths and the loader's functions take 4 KiB of stack each.
void* find_original_call(LibraryCall& call, const void* caller) noexcept {
  const hook::CallerThreadState host;
  void* real = nullptr;
  sys::on_large_stack([&] { real = find_original_call_here(call, caller); });
  return real;
}

void* find_in_scope_of(const void* caller, const char* symbol) noexcept {
  void* found = nullptr;
  sys::on_large_stack([&] {
    LoadedObject object;
    if (find_object(caller, object)) found = symbol_in(object.path.data(), symbol);
  });
  return found;
}

void* address_beside(void* real, const char* symbol) noexcept {
  void* found = nullptr;
  sys::on_large_stack([&] {
    Dl_info library{};
    if (dladdr(real, &library) == 0 || library.dli_fname == nullptr) return;
    found = symbol_in(library.dli_fname, symbol);
    if (found == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe): as above
  });
  return found;
}

}  // namespace inline_prof::libraries
